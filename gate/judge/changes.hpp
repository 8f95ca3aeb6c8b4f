// Change points of a whole series in hindsight: for people and reports, never for the gate.
//
// Logarithms, spikes pulled in, then the best partition into levels (least squares with a price per change point;
// optimal partitioning: Jackson et al. 2005, pruned as PELT: Killick et al. 2012). The price grows with log n and with
// the series' long-run noise, so that autocorrelation buys no change points. Cost: about n to n x longest level.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "gate/judge/gate.hpp"

namespace nightgate::judge {

struct ChangePoint {
  std::size_t index = 0;  // first value of the new level
  std::size_t first = 0;  // the range that may as well hold it (95 %): first <= index <= last
  std::size_t last = 0;
  double change = 0;  // s x (after / before - 1): negative is worse
  double before = 0;  // median of the level before, in the metric's unit
  double after = 0;
  double confidence = 0;  // that there is a change here, 0 to 1, all places it might have been counted in
};

struct ChangeRules {
  double min_change = 0.02;  // smaller ones are not reported (log)
  double min_confidence = 0.95;
  std::size_t min_level = 4;  // nights a level needs
  double price = 3;           // of a change point: price x log n x long-run variance
};

// Values > 0 and finite, in order of time; fewer than 2 x min_level: none. The change points ascend.
std::vector<ChangePoint> change_points(std::span<const double> values, Better better, const ChangeRules& rules = {});

}  // namespace nightgate::judge
