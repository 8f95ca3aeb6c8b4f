// Judging with the store: from the last kept state through the nights that are not judged yet (or must be again).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/result.hpp"
#include "gate/judge/gate.hpp"
#include "store/store.hpp"

namespace nightgate::judging {

[[nodiscard]] judge::Rules rules_of(const config::Config& config);

// A kept night as the judge gets it today: names by the config's aliases, the figures of a load grouped.
void prepare(judge::NightInput& input, const config::Config& config);

// Called after every night that was judged: how many are done, of how many.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

struct JudgedNight {
  judge::NightVerdict verdict;
  std::vector<store::TripGroup> opened;  // with their ids
  std::vector<store::TripClosing> closed;
};

// Judges every night of the machine from `from` on (0: those after the last kept state) and stores verdicts, states
// and trips. People's decisions apply after the night they name. The result's last element is the newest night; empty
// when there was none. Code::no_verdict when the history can't be read: a failed read is never an empty history. One at
// a time per machine: a second caller waits, and judges what is left.
[[nodiscard]] Result<std::vector<JudgedNight>> judge_nights(store::Store& store, const config::Config& config,
                                                            const std::string& machine, store::Sequence from,
                                                            const Progress& progress = {});

// The numbers that caused a verdict as JSON, and back into lines for people.
[[nodiscard]] std::string explanation_json(const judge::MetricVerdict& verdict, const judge::Rules& rules);

}  // namespace nightgate::judging
