#include "bisect/search/belief.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nightgate::search {
namespace {

constexpr double impossible = -1e300;

double log_of(double p) { return p > 0 ? std::log(p) : impossible; }

std::vector<int> measured_points(const std::vector<const Evidence*>& blocks) {
  std::vector<int> points;
  for (const Evidence* block : blocks) points.insert(points.end(), block->points().begin(), block->points().end());
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

}  // namespace

Belief::Belief(std::shared_ptr<const Layout> layout, const std::vector<Theta>& grid,
               const std::vector<const Evidence*>& blocks, double no_shift_prior)
    : layout_(std::move(layout)) {
  int low = 0;
  for (const int cut : measured_points(blocks)) {
    if (cut == 0) continue;
    classes_.push_back({low, cut, 0});
    low = cut;
  }
  const int last = static_cast<int>(layout_->before.size()) - 1;
  if (low < last) classes_.push_back({low, last, 0});
  combine(grid, blocks, no_shift_prior);
}

void Belief::combine(const std::vector<Theta>& grid, const std::vector<const Evidence*>& blocks,
                     double no_shift_prior) {
  const std::size_t classes = classes_.size();
  const double all = layout_->before.back();
  std::vector<double> log_prior(classes);
  for (std::size_t j = 0; j < classes; ++j) {
    const double weight = layout_->weight(classes_[j].low, classes_[j].high);
    log_prior[j] = log_of((1.0 - no_shift_prior) * std::max(0.0, weight) / all);
  }
  // Rows: grid cells; columns: classes, then "no shift".
  std::vector<double> table(grid.size() * (classes + 1));
  for (std::size_t t = 0; t < grid.size(); ++t) {
    double* row = &table[t * (classes + 1)];
    for (std::size_t j = 0; j < classes; ++j) row[j] = grid[t].log_prior + log_prior[j];
    row[classes] = grid[t].log_prior + log_of(no_shift_prior);
  }
  std::vector<std::size_t> fast(classes + 1);
  for (const Evidence* block : blocks) {
    for (std::size_t j = 0; j < classes; ++j) fast[j] = block->fast_for(classes_[j].low + 1);
    fast[classes] = block->points().size();
    for (std::size_t t = 0; t < grid.size(); ++t) {
      double* row = &table[t * (classes + 1)];
      for (std::size_t j = 0; j <= classes; ++j) row[j] += block->log_likelihood(t, fast[j]);
    }
  }
  const double top = *std::max_element(table.begin(), table.end());
  double total = 0;
  for (double& entry : table) total += entry = std::exp(entry - top);
  theta_.assign(grid.size(), 0.0);
  for (std::size_t t = 0; t < grid.size(); ++t) {
    const double* row = &table[t * (classes + 1)];
    for (std::size_t j = 0; j < classes; ++j) {
      classes_[j].mass += row[j] / total;
      theta_[t] += row[j] / total;
    }
    none_ += row[classes] / total;
  }
  spread();
  double shifted = 0;
  for (const double weight : theta_) shifted += weight;
  for (std::size_t t = 0; t < grid.size(); ++t) {
    theta_[t] = shifted > 0 ? theta_[t] / shifted : std::exp(grid[t].log_prior);
    shift_ += theta_[t] * grid[t].shift;
    noise_ += theta_[t] * grid[t].fast_sd;
  }
}

// Within a class nothing was learned, so its merges share its mass by their prior weights.
void Belief::spread() {
  below_.assign(layout_->before.size(), 0.0);
  double sum = 0;
  for (const Class& one : classes_) {
    const double whole = layout_->weight(one.low, one.high);
    for (int point = one.low + 1; point <= one.high; ++point)
      below_[static_cast<std::size_t>(point)] =
          sum + (whole > 0 ? one.mass * layout_->weight(one.low, point) / whole : 0.0);
    sum += one.mass;
  }
}

Belief Belief::with(const std::vector<double>& mass) const {
  Belief other = *this;
  for (std::size_t j = 0; j < mass.size(); ++j) other.classes_[j].mass = mass[j];
  other.spread();
  return other;
}

double Belief::of(int low, int high) const {
  return std::max(0.0, below_[static_cast<std::size_t>(high)] - below_[static_cast<std::size_t>(low)]);
}

double Belief::share_up_to(int point) const {
  const double shifted = 1.0 - none_;
  return shifted > 0 ? below_[static_cast<std::size_t>(point)] / shifted : 0.0;
}

Gap Belief::leading() const {
  Gap best;
  double most = -1;
  for (const Gap& gap : layout_->gaps) {
    const double here = of(gap);
    if (here <= most + 1e-12) continue;  // the first of equals, whatever the rounding
    most = here;
    best = gap;
  }
  return best;
}

std::vector<double> Belief::posterior() const {
  std::vector<double> all{none_};
  for (int merge = 1; merge < static_cast<int>(below_.size()); ++merge)
    all.push_back(layout_->weight(merge - 1, merge) > 0 ? of(merge - 1, merge) : 0.0);
  return all;
}

}  // namespace nightgate::search
