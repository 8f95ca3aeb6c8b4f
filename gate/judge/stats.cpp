#include "gate/judge/stats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace nightgate::judge {
namespace {
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> sorted_copy(std::span<const double> data) {
  std::vector<double> copy(data.begin(), data.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

template <typename T>
double middle(std::span<const T> ascending) {
  if (ascending.empty()) return nan;
  const std::size_t half = ascending.size() / 2;
  const double upper = static_cast<double>(ascending[half]);
  return ascending.size() % 2 == 1 ? upper : (static_cast<double>(ascending[half - 1]) + upper) / 2;
}

// The k values nearest to `center` lie side by side in sorted data: where they begin, by bisection.
template <typename T>
std::size_t nearest(std::span<const T> ascending, std::size_t k, double center) {
  std::size_t low = 0;
  std::size_t high = ascending.size() - k;
  while (low < high) {
    const std::size_t at = (low + high) / 2;
    if (center - static_cast<double>(ascending[at]) > static_cast<double>(ascending[at + k]) - center) {
      low = at + 1;
    } else {
      high = at;
    }
  }
  return low;
}

template <typename T>
double farthest_of_nearest(std::span<const T> ascending, std::size_t k, double center) {
  const std::size_t begin = nearest(ascending, k, center);
  return std::max(center - static_cast<double>(ascending[begin]),
                  static_cast<double>(ascending[begin + k - 1]) - center);
}

template <typename T>
double middle_distance(std::span<const T> ascending, double center) {
  const std::size_t n = ascending.size();
  const double last = farthest_of_nearest(ascending, n / 2 + 1, center);
  return n % 2 == 1 ? last : (farthest_of_nearest(ascending, n / 2, center) + last) / 2;
}

template <typename T>
double quantile_of(std::span<const T> ascending, double p) {
  if (ascending.empty()) return nan;
  const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double fraction = place - static_cast<double>(below);
  const double low = static_cast<double>(ascending[below]);
  if (fraction <= 0 || below + 1 >= ascending.size()) return low;
  return low + fraction * (static_cast<double>(ascending[below + 1]) - low);
}
}  // namespace

double mean(std::span<const double> data) {
  if (data.empty()) return nan;
  return std::accumulate(data.begin(), data.end(), 0.0) / static_cast<double>(data.size());
}

double median(std::span<const double> data) { return middle(std::span<const double>(sorted_copy(data))); }

double lower_median(std::span<const double> data) {
  if (data.empty()) return nan;
  return sorted_copy(data)[(data.size() - 1) / 2];
}

double mad(std::span<const double> data) {
  if (data.empty()) return nan;
  const std::vector<double> ascending = sorted_copy(data);
  const std::span<const double> all(ascending);
  return middle_distance(all, middle(all));
}

double quantile_sorted(std::span<const double> ascending, double p) { return quantile_of(ascending, p); }

double quantile(std::span<const double> data, double p) { return quantile_sorted(sorted_copy(data), p); }

double standard_deviation(std::span<const double> data) {
  if (data.empty()) return nan;
  if (data.size() == 1) return 0;
  const double center = mean(data);
  double sum = 0;
  for (const double x : data) sum += (x - center) * (x - center);
  return std::sqrt(sum / static_cast<double>(data.size() - 1));
}

double lag1_autocorrelation(std::span<const double> data) {
  if (data.size() < 3) return 0;
  const double center = mean(data);
  double all = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    all += (data[i] - center) * (data[i] - center);
    if (i > 0) neighbours += (data[i] - center) * (data[i - 1] - center);
  }
  return all > 0 ? neighbours / all : 0;
}

double hodges_lehmann_shift(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double x : a) {
    for (const double y : b) differences.push_back(y - x);
  }
  return median(differences);
}

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

void SortedRing::push(double exact) {
  const float value = static_cast<float>(exact);
  if (sorted_.size() < capacity_) {
    ring_.push_back(value);
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
    return;
  }
  if (capacity_ == 0) return;
  const float leaving = ring_[start_];
  ring_[start_] = value;
  start_ = (start_ + 1) % capacity_;
  // Close the gap of the leaving value and open one for the new value in a single move.
  auto gap = std::lower_bound(sorted_.begin(), sorted_.end(), leaving);
  auto place = std::upper_bound(sorted_.begin(), sorted_.end(), value);
  if (place > gap) {
    std::move(gap + 1, place, gap);
    *(place - 1) = value;
  } else {
    std::move_backward(place, gap, gap + 1);
    *place = value;
  }
}

void SortedRing::clear() {
  ring_.clear();
  sorted_.clear();
  start_ = 0;
}

double SortedRing::median() const { return middle(sorted()); }

double SortedRing::quantile(double p) const { return quantile_of(sorted(), p); }

double SortedRing::mad() const { return sorted_.empty() ? nan : middle_distance(sorted(), middle(sorted())); }

double SortedRing::central_spread() const {
  const std::size_t n = sorted_.size();
  if (n == 0) return nan;
  const double center = middle(sorted());
  const std::size_t keep = std::max<std::size_t>(1, n * 85 / 100);
  const std::size_t begin = nearest(sorted(), keep, center);
  double sum = 0;
  for (std::size_t i = begin; i < begin + keep; ++i) sum += std::abs(static_cast<double>(sorted_[i]) - center);
  return sum / static_cast<double>(keep);
}

std::vector<float> SortedRing::values() const {
  std::vector<float> out;
  out.reserve(ring_.size());
  for (std::size_t i = 0; i < ring_.size(); ++i) out.push_back(ring_[(start_ + i) % ring_.size()]);
  return out;
}

}  // namespace nightgate::judge
