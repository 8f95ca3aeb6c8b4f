// What one block says: the likelihood of its values for every pattern of fast and slow points, over a grid of unknown
// shift and noise. A block's own offset (drift, a jump, another machine) is integrated out, so it cancels.
#pragma once
#include <cstddef>
#include <vector>

#include "bisect/search/search.hpp"

namespace nightgate::search {

// One cell of the grid of nuisances, in units of the problem's noise.
struct Theta {
  double shift = 0;
  double fast_sd = 0;
  double slow_sd = 0;
  double log_prior = 0;
};

// The grid: shift in 0.4 .. 2 times the expected one, noise in 0.7 .. 2 times, slow side as noisy or 1.8 times.
std::vector<Theta> make_grid(const Problem& problem);

// Successful measurements of one block, with canonical points (see Layout::same_as), values in units of the problem's
// noise.
struct Block {
  int number = 0;
  int machine = 0;
  Phase phase = Phase::search;
  int candidate = 0;
  std::vector<int> points;     // ascending; a point measured twice appears twice
  std::vector<double> values;  // in the order of `points`
};

// log_likelihood(t, k): k of the distinct points (the lowest k) are fast, the others slow, under grid cell t.
class Evidence {
 public:
  Evidence(const Block& block, const std::vector<Theta>& grid);

  const std::vector<int>& points() const { return distinct_; }  // ascending
  std::size_t patterns() const { return distinct_.size() + 1; }
  double log_likelihood(std::size_t theta, std::size_t fast) const { return table_[theta * patterns() + fast]; }
  // How many of the points are fast when merge c is the culprit.
  std::size_t fast_for(int merge) const;

 private:
  void fill(const Block& block, const Theta& theta, double median, double* row) const;

  std::vector<int> distinct_;
  std::vector<std::size_t> group_;  // for each value, the index of its distinct point
  std::vector<double> table_;
};

// Density of one measurement's noise, 0.95 N(0,1) + 0.05 N(0,6^2), floored far out so that one wild value can't
// outweigh everything; z in standard deviations.
double noise_density(double z);

}  // namespace nightgate::search
