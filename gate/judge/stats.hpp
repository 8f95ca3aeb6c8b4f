// Small robust statistics, the same for everybody. Data are never reordered for the caller. Empty input gives NaN.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace nightgate::judge {

// MAD x this = standard deviation for normal noise (1 / quantile of the normal at 3/4).
inline constexpr double mad_to_sigma = 1.4826022185056018;

// Mean of the smallest 85 % of |x - median| x this = standard deviation for normal noise: 0.85 / (2 (f(0) - f(z))), z
// = 1.4395.
inline constexpr double central_to_sigma = 1.651;

double mean(std::span<const double> data);
double median(std::span<const double> data);
// The lower of the two middle values where there are two: always one that was measured.
double lower_median(std::span<const double> data);
// Median of |x - median|, not scaled.
double mad(std::span<const double> data);
// Quantile of type R-7 (linear between order statistics, as R, numpy and spreadsheets do), p in [0, 1].
double quantile(std::span<const double> data, double p);
double quantile_sorted(std::span<const double> ascending, double p);
// Sample standard deviation (n - 1); 0 for one value.
double standard_deviation(std::span<const double> data);
// Correlation of neighbours, in the order given; 0 for fewer than three values or no spread.
double lag1_autocorrelation(std::span<const double> data);
// Hodges-Lehmann shift: median of all differences b_j - a_i.
double hodges_lehmann_shift(std::span<const double> a, std::span<const double> b);
// Probability that a standard normal is below z.
double normal_cdf(double z);

// The last `capacity` values in order, with the same values sorted beside them: median, quantile and MAD without
// sorting.
class SortedRing {
 public:
  SortedRing() = default;
  explicit SortedRing(std::size_t capacity) : capacity_(capacity) {}

  // The oldest value leaves when the ring is full. Values must not be NaN.
  void push(double exact);
  void clear();
  std::size_t size() const { return sorted_.size(); }
  bool empty() const { return sorted_.empty(); }
  std::size_t capacity() const { return capacity_; }
  double median() const;          // NaN when empty
  double mad() const;             // about its own median, not scaled; NaN when empty
  double central_spread() const;  // mean of the smallest 85 % of |x - median|; NaN when empty
  double quantile(double p) const;
  double min() const { return static_cast<double>(sorted_.front()); }
  double max() const { return static_cast<double>(sorted_.back()); }
  double oldest(std::size_t i) const { return static_cast<double>(ring_[(start_ + i) % ring_.size()]); }  // 0 = oldest
  std::vector<float> values() const;  // oldest first
  std::span<const float> sorted() const { return sorted_; }

 private:
  std::size_t capacity_ = 0;
  std::size_t start_ = 0;  // index of the oldest value once the ring is full
  std::vector<float> ring_;
  std::vector<float> sorted_;
};

}  // namespace nightgate::judge
