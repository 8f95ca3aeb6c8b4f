#include "gate/judge/changes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gate/judge/stats.hpp"

namespace nightgate::judge {
namespace {
// Sums that give the squared deviation of any stretch at once.
struct Sums {
  std::vector<double> x{0};
  std::vector<double> xx{0};
  explicit Sums(std::span<const double> values) {
    for (const double v : values) {
      x.push_back(x.back() + v);
      xx.push_back(xx.back() + v * v);
    }
  }
  double cost(std::size_t begin, std::size_t end) const {
    const double sum = x[end] - x[begin];
    return std::max(0.0, xx[end] - xx[begin] - sum * sum / static_cast<double>(end - begin));
  }
};

// A value further than three sigma from the median of its eleven neighbours is pulled in: a spike is no level.
std::vector<double> without_spikes(std::span<const double> x, double sigma) {
  std::vector<double> out(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t begin = i < 5 ? 0 : i - 5;
    const double middle = median(x.subspan(begin, std::min(x.size(), i + 6) - begin));
    out[i] = std::clamp(x[i], middle - 3 * sigma, middle + 3 * sigma);
  }
  return out;
}

// Starts of the levels after the first.
std::vector<std::size_t> partition(const Sums& sums, std::size_t n, double price, std::size_t least) {
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(n + 1, 0);
  best[0] = -price;
  std::vector<std::size_t> candidates{0};
  for (std::size_t end = least; end <= n; ++end) {
    for (const std::size_t begin : candidates) {
      const double cost = best[begin] + sums.cost(begin, end) + price;
      if (cost >= best[end]) continue;
      best[end] = cost;
      from[end] = begin;
    }
    const auto hopeless = [&](std::size_t begin) { return best[begin] + sums.cost(begin, end) > best[end] + price; };
    std::erase_if(candidates, hopeless);
    const std::size_t next = end + 1 - least;  // the next end may begin its last level here
    if (next >= least) candidates.push_back(next);
  }
  std::vector<std::size_t> starts;
  for (std::size_t end = n; from[end] > 0; end = from[end]) starts.push_back(from[end]);
  std::reverse(starts.begin(), starts.end());
  return starts;
}

std::vector<std::size_t> with_ends(const std::vector<std::size_t>& starts, std::size_t n) {
  std::vector<std::size_t> ends{0};
  ends.insert(ends.end(), starts.begin(), starts.end());
  ends.push_back(n);
  return ends;
}

double first_noise(std::span<const double> x) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < x.size(); ++i) steps.push_back(std::abs(x[i] - x[i - 1]));
  return std::max(mad_to_sigma * median(steps) / std::sqrt(2.0), 0.002);
}

// Variance that the mean of a stretch of n values has, times n: spread^2 (1 + r) / (1 - r), from what the levels leave
// over.
double long_run_variance(std::span<const double> x, const std::vector<std::size_t>& ends) {
  std::vector<double> rest;
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    const auto level = x.subspan(ends[k], ends[k + 1] - ends[k]);
    const double middle = median(level);
    for (const double v : level) rest.push_back(v - middle);
  }
  const double r = std::clamp(lag1_autocorrelation(rest), 0.0, 0.75);
  const double spread = std::max(standard_deviation(rest), 0.002);
  return spread * spread * (1 + r) / (1 - r);
}

ChangePoint describe(std::span<const double> x, std::span<const double> values, const Sums& sums, std::size_t begin,
                     std::size_t index, std::size_t end, double variance, Better better) {
  ChangePoint point;
  point.index = point.first = point.last = index;
  const auto left = x.subspan(begin, index - begin);
  const auto right = x.subspan(index, end - index);
  const double shift = median(right) - median(left);
  point.before = median(values.subspan(begin, index - begin));
  point.after = median(values.subspan(index, end - index));
  point.change = better == Better::higher ? std::expm1(shift) : -std::expm1(shift);
  const double error =
      std::sqrt(1.57 * variance * (1 / static_cast<double>(left.size()) + 1 / static_cast<double>(right.size())));
  const double chance = 2 * normal_cdf(-std::abs(shift) / error);
  point.confidence = 1 - std::min(1.0, chance * static_cast<double>(end - begin));
  const double here = sums.cost(begin, index) + sums.cost(index, end);
  const auto as_good = [&](std::size_t at) {  // 3.84: 95 % of chi squared with one degree
    return sums.cost(begin, at) + sums.cost(at, end) - here <= 3.84 * variance;
  };
  while (point.first > begin + 1 && as_good(point.first - 1)) --point.first;
  while (point.last + 1 < end && as_good(point.last + 1)) ++point.last;
  return point;
}
}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> values, Better better, const ChangeRules& rules) {
  const std::size_t least = std::max<std::size_t>(rules.min_level, 2);
  const std::size_t n = values.size();
  if (n < 2 * least) return {};
  std::vector<double> x;
  for (const double v : values) {
    if (!(v > 0) || !std::isfinite(v)) return {};
    x.push_back(std::log(v));
  }
  const double sigma = first_noise(x);
  x = without_spikes(x, sigma);
  const Sums sums(x);
  const double size = std::log(static_cast<double>(n));
  auto ends = with_ends(partition(sums, n, rules.price * size * sigma * sigma, least), n);
  const double variance = long_run_variance(x, ends);
  ends = with_ends(partition(sums, n, rules.price * size * variance, least), n);
  for (bool again = true; again;) {  // levels beside a point that is too small become one
    again = false;
    std::vector<ChangePoint> points;
    std::size_t weakest = 0;
    for (std::size_t k = 1; k + 1 < ends.size(); ++k) {
      points.push_back(describe(x, values, sums, ends[k - 1], ends[k], ends[k + 1], variance, better));
      if (points.back().confidence < points[weakest].confidence) weakest = k - 1;
    }
    for (std::size_t k = 0; k < points.size(); ++k) {
      if (std::abs(points[k].change) < std::abs(points[weakest].change) &&
          std::abs(points[k].change) < rules.min_change)
        weakest = k;
    }
    if (points.empty()) return points;
    const ChangePoint& least_sure = points[weakest];
    if (least_sure.confidence >= rules.min_confidence && std::abs(least_sure.change) >= rules.min_change) return points;
    ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(weakest + 1));
    again = true;
  }
  return {};
}
}  // namespace nightgate::judge
