// The order of things within one start: warm-up, then repeats, each from the store that its rule asks for; a repeat out
// of bounds is done again a few times, then there is no verdict. Pure: what is done is handed in.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/measure/measurement.hpp"

namespace nightgate::measure {

inline constexpr int redo_limit = 3;  // a repeat out of bounds is done again this often

struct RepeatResult {
  std::vector<Sample> samples;
  std::map<std::string, config::MetricInfo> metrics;
  Conditions conditions;
  std::string void_reason;  // empty: usable
};

struct RepeatSteps {
  std::function<Status()> fill;     // the fixture into an empty store, counted
  std::function<Status()> empty;    // an empty store again
  std::function<Status()> warm_up;  // may be a no-op
  std::function<Status()> check;    // steady: the store still holds the fixture
  std::function<Result<RepeatResult>(int number, int attempt)> run;
};

// Fills `out`: repeats, metrics, no_verdict. An error from a step ends the start.
[[nodiscard]] Status run_repeats(int repeats, config::StoreRule rule, const RepeatSteps& steps, const Clock& clock,
                                 Measurement& out);

}  // namespace nightgate::measure
