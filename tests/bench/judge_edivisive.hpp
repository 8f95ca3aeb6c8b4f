// The detector of the field, re-stated from its publication: E-divisive with means (Matteson and James 2014, energy
// statistic with alpha = 1; the variant used for performance tests: Daly et al. 2020), hierarchical, significance by
// permutation.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/bench/judge_simulations.hpp"

namespace nightgate::bench {

struct Split {
  std::size_t at = 0;  // first index of the right part
  double q = -1;
};

// The best split of [begin, end): q = (n m / (n + m)) * (2 E|X-Y| - E|X-X'| - E|Y-Y'|), every split by updating the
// sums of pairwise distances as one point moves from the right to the left: O(n^2).
inline Split best_split(const std::vector<double>& x, std::size_t begin, std::size_t end) {
  const std::size_t n = end - begin;
  Split best;
  constexpr std::size_t least = 3;
  if (n < 2 * least) return best;
  double left = 0, right = 0, between = 0;  // sums of |difference| over pairs
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t j = i + 1; j < end; ++j) right += std::abs(x[i] - x[j]);
  }
  for (std::size_t k = begin; k + 1 < end; ++k) {
    double to_left = 0, to_right = 0;
    for (std::size_t i = begin; i < k; ++i) to_left += std::abs(x[i] - x[k]);
    for (std::size_t i = k + 1; i < end; ++i) to_right += std::abs(x[i] - x[k]);
    left += to_left;
    right -= to_right;
    between += to_right - to_left;
    const double a = static_cast<double>(k + 1 - begin), b = static_cast<double>(end - k - 1);
    if (a < least || b < least) continue;
    const double energy = 2 * between / (a * b) - 2 * left / (a * (a - 1)) - 2 * right / (b * (b - 1));
    const double q = a * b / (a + b) * energy;
    if (q > best.q) best = {k + 1, q};
  }
  return best;
}

// Change points (first index of the new level), significant at p <= 0.05 over `permutations`, of 3.5 % or more between
// means.
inline std::vector<std::size_t> e_divisive(const std::vector<double>& values, int permutations = 99,
                                           double least = 0.035) {
  std::vector<std::size_t> found;
  std::vector<std::pair<std::size_t, std::size_t>> todo{{0, values.size()}};
  Random random(values.size());
  while (!todo.empty()) {
    const auto [begin, end] = todo.back();
    todo.pop_back();
    const Split split = best_split(values, begin, end);
    if (split.q <= 0) continue;
    int as_good = 0;
    std::vector<double> shuffled(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                 values.begin() + static_cast<std::ptrdiff_t>(end));
    for (int k = 0; k < permutations && as_good <= permutations / 20; ++k) {
      for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.bits() % i]);
      as_good += best_split(shuffled, 0, shuffled.size()).q >= split.q ? 1 : 0;
    }
    if (as_good + 1 > (permutations + 1) / 20) continue;
    found.push_back(split.at);
    todo.emplace_back(begin, split.at);
    todo.emplace_back(split.at, end);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::size_t> large;  // by the means of the pieces beside the point
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto mean = [&](std::size_t a, std::size_t b) {
      double sum = 0;
      for (std::size_t k = a; k < b; ++k) sum += values[k];
      return sum / static_cast<double>(b - a);
    };
    const double before = mean(i == 0 ? 0 : found[i - 1], found[i]);
    const double after = mean(found[i], i + 1 < found.size() ? found[i + 1] : values.size());
    if (std::abs(after / before - 1) >= least) large.push_back(found[i]);
  }
  return large;
}

}  // namespace nightgate::bench
