// Inside the judge: tonight's machine, from what the series of the night did together.
#pragma once
#include <vector>

#include "gate/judge/gate.hpp"

namespace nightgate::judge {

// What one series says about tonight: its distance to its baseline (slow) and to its last clear night (fast), log, > 0
// slower.
struct MachineVote {
  double slow = 0;
  double fast = 0;
  bool has_fast = false;
  double sigma = 0;
};

// The densest place of all votes: a majority that really changed scatters, a machine moves all alike. Where a second
// place is nearly as dense, or the peak holds little, machine and code can't be told apart (ambiguous). Cost: votes x
// log(votes). Fewer votes than rules.expert.machine_min_series: not estimated.
MachineEstimate estimate_machine(const std::vector<MachineVote>& votes, const Rules& rules);

}  // namespace nightgate::judge
