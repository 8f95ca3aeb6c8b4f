#include "gate/measure/repeats.hpp"

#include <fmt/format.h>

namespace nightgate::measure {
namespace {

// One repeat, again while it is out of bounds. Returns the reason when it stays so.
Result<std::string> run_one(int number, config::StoreRule rule, const RepeatSteps& steps, const Clock& clock,
                            Measurement& out) {
  std::string reason;
  for (int attempt = 0; attempt <= redo_limit; ++attempt) {
    if (rule != config::StoreRule::steady) {  // growing and consuming ones begin from the fixture, every time
      NG_CHECK(steps.empty());
      NG_CHECK(steps.fill());
    }
    Repeat repeat;
    repeat.number = number;
    repeat.attempt = attempt;
    repeat.begin = clock.now();
    NG_TRY(auto result, steps.run(number, attempt));
    repeat.end = clock.now();
    repeat.samples = std::move(result.samples);
    repeat.conditions = std::move(result.conditions);
    repeat.voided = !result.void_reason.empty();
    repeat.void_reason = reason = std::move(result.void_reason);
    out.metrics.merge(result.metrics);
    out.repeats.push_back(std::move(repeat));
    if (reason.empty()) break;
  }
  return reason;
}

}  // namespace

Status run_repeats(int repeats, config::StoreRule rule, const RepeatSteps& steps, const Clock& clock,
                   Measurement& out) {
  NG_CHECK(steps.fill());
  NG_CHECK(steps.warm_up());
  for (int number = 0; number < repeats; ++number) {
    NG_TRY(const auto reason, run_one(number, rule, steps, clock, out));
    if (reason.empty()) continue;
    out.no_verdict =
        fmt::format("repeat {} of {} was out of bounds {} times: {}", number + 1, repeats, redo_limit + 1, reason);
    return {};
  }
  return rule == config::StoreRule::steady ? steps.check() : Status{};
}

}  // namespace nightgate::measure
