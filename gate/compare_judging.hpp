// From the steps of a compare to what is said of its arms. Pure; no I/O.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gate/compare.hpp"

namespace nightgate::compare {

// Full name of a metric -> why base differs from itself in it.
using Refused = std::map<std::string, std::string>;

// The gated metrics of the steps, by name: pairs of `arm` against `reference`, and the A/A pairs.
[[nodiscard]] std::vector<judge::PairedMetric> paired(const std::vector<Step>& steps, int reference, int arm);
// Judges out.arm's measurements against out.reference's and fills everything but arm and reference. `measured_as`: the
// arms whose measurements stand for the two (another arm of the same digest is measured once).
void judge_arm(ArmOutcome& out, const std::vector<Step>& steps, std::pair<int, int> measured_as,
               const judge::PairRules& rules, const Refused& refused);

}  // namespace nightgate::compare
