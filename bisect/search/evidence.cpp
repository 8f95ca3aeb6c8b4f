#include "bisect/search/evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace nightgate::search {
namespace {

constexpr double wide = 6.0;      // an outlier's sd
constexpr double outlier = 0.05;  // share of outliers the model expects
constexpr double density_floor = 1e-12;
constexpr double reach = 48.0;     // beyond it the floor holds
constexpr double per_unit = 64.0;  // table entries per sd

double exact_density(double z) {
  constexpr double root = 0.3989422804014327;  // 1 / sqrt(2 pi)
  const double core = std::exp(-0.5 * z * z);
  const double tail = std::exp(-0.5 * z * z / (wide * wide)) / wide;
  return std::max(density_floor, root * ((1.0 - outlier) * core + outlier * tail));
}

using Table = std::array<double, static_cast<std::size_t>(reach* per_unit) + 2>;

const Table& density_table() {
  static const Table table = [] {
    Table entries{};
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = exact_density(static_cast<double>(i) / per_unit);
    return entries;
  }();
  return table;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace

double noise_density(double z) {
  static const Table& table = density_table();
  const double place = std::abs(z) * per_unit;
  if (!(place < reach * per_unit)) return density_floor;
  const auto index = static_cast<std::size_t>(place);
  const double part = place - static_cast<double>(index);
  return table[index] + part * (table[index + 1] - table[index]);
}

std::vector<Theta> make_grid(const Problem& problem) {
  constexpr std::array<double, 7> shifts{0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0};
  constexpr std::array<double, 4> noises{0.7, 1.0, 1.4, 2.0};
  const auto log_normal = [](double factor, double sd) {
    const double z = std::log(factor) / sd;
    return -0.5 * z * z;
  };
  std::vector<Theta> grid;
  const double expected = problem.shift / problem.noise;
  for (const double shift : shifts)
    for (const double noise : noises)
      for (const bool uneven : {false, true})
        grid.push_back({expected * shift, noise, uneven ? 1.8 * noise : noise,
                        log_normal(shift, 0.4) + log_normal(noise, 0.35) + std::log(uneven ? 0.35 : 0.65)});
  double total = 0;
  for (const Theta& theta : grid) total += std::exp(theta.log_prior);
  for (Theta& theta : grid) theta.log_prior -= std::log(total);
  return grid;
}

Evidence::Evidence(const Block& block, const std::vector<Theta>& grid) {
  for (const int point : block.points) {
    if (distinct_.empty() || distinct_.back() != point) distinct_.push_back(point);
    group_.push_back(distinct_.size() - 1);
  }
  table_.assign(grid.size() * patterns(), 0.0);
  if (block.values.size() < 2) return;  // one value and a free offset say nothing
  const double median = median_of(block.values);
  for (std::size_t t = 0; t < grid.size(); ++t) fill(block, grid[t], median, &table_[t * patterns()]);
}

void Evidence::fill(const Block& block, const Theta& theta, double median, double* row) const {
  const std::size_t groups = distinct_.size();
  std::vector<double> fast(groups);
  std::vector<double> slow(groups);
  const double spread = std::max(theta.fast_sd, theta.slow_sd);
  const double step = 0.4 * theta.fast_sd;
  const auto steps = static_cast<int>(std::ceil((theta.shift + 6.0 * spread) / step));
  for (int s = 0; s <= steps; ++s) {
    const double offset = median - theta.shift - 3.0 * spread + step * s;
    std::fill(fast.begin(), fast.end(), 1.0);
    std::fill(slow.begin(), slow.end(), 1.0);
    for (std::size_t i = 0; i < block.values.size(); ++i) {
      const double above = block.values[i] - offset;
      fast[group_[i]] *= noise_density(above / theta.fast_sd) / theta.fast_sd;
      slow[group_[i]] *= noise_density((above - theta.shift) / theta.slow_sd) / theta.slow_sd;
    }
    double product = 1.0;  // slow ones from the top, then all fast ones below
    std::vector<double>& from_top = slow;
    for (std::size_t k = groups; k-- > 0;) product = from_top[k] *= product;
    product = 1.0;
    for (std::size_t k = 0; k < groups; ++k) {
      row[k] += product * from_top[k];
      product *= fast[k];
    }
    row[groups] += product;
  }
  for (std::size_t k = 0; k <= groups; ++k) row[k] = std::log(std::max(row[k] * step, 1e-300));
}

std::size_t Evidence::fast_for(int merge) const {
  return static_cast<std::size_t>(std::lower_bound(distinct_.begin(), distinct_.end(), merge) - distinct_.begin());
}

}  // namespace nightgate::search
