// The levels of groups of points by all blocks together: robust least squares with every block's offset free.
#pragma once
#include <functional>
#include <vector>

#include "bisect/search/state.hpp"

namespace nightgate::search {

struct Contrast {
  double value = 0;
  double sd = 0;
  bool known = false;
};

class Levels {
 public:
  // `group_of(point)`: 0 .. groups-1, or -1 to leave the point out. Group 0 is the reference (level 0).
  Levels(const State& state, int groups, const std::function<int(int)>& group_of);

  Contrast difference(int high, int low) const;  // level(high) - level(low), units of the problem's noise
  int runs(int group) const { return runs_[static_cast<std::size_t>(group)]; }

 private:
  void fit(const std::vector<double>& weight);
  std::vector<double> reweigh(double noise) const;

  struct Run {
    std::size_t block = 0;
    std::size_t group = 0;
    double value = 0;
  };
  std::size_t groups_;
  std::size_t blocks_ = 0;
  std::vector<Run> data_;
  std::vector<int> runs_;
  std::vector<double> level_;
  std::vector<double> offset_;
  std::vector<double> covariance_;  // groups x groups
};

}  // namespace nightgate::search
