#include <string>

#include "gate/judge/gate.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate::judge;

TEST_CASE("three series that disagree say nothing about the machine", "[judge]") {
  Rules rules;
  rules.min_gap_hours = 0;
  const auto night = [](std::int64_t number, double ops, double lag, double cpu) {
    NightInput input;
    input.night = {number, number * 86400000000};
    input.digest = "sha256:" + std::to_string(number);
    const double wobble = 1 + 0.002 * static_cast<double>(number % 3);
    input.readings = {{"a.ops", Better::higher, "d", ops * wobble, {}},
                      {"a.lag", Better::lower, "d", lag * wobble, {}},
                      {"a.cpu", Better::lower, "d", cpu * wobble, {}}};
    return input;
  };
  GateState state;
  for (int i = 1; i <= 14; ++i) step(state, night(i, 1000, 5, 0.005), rules);
  // A version that is slower, leaves lag as it is and costs a seventh of the CPU: three truths, no machine in them.
  for (int i = 15; i <= 17; ++i) {
    const auto verdict = step(state, night(i, 600, 5, 0.0007), rules);
    INFO(i);
    CHECK(verdict.metrics.at(1).verdict == Verdict::good);
    CHECK_FALSE(verdict.metrics.at(1).red);
    CHECK(verdict.metrics.at(0).verdict != Verdict::good);
  }
  // All three together are a slow machine, not a slow broker.
  GateState other;
  for (int i = 1; i <= 14; ++i) step(other, night(i, 1000, 5, 0.005), rules);
  const auto slow = step(other, night(15, 700, 5 / 0.7, 0.005 / 0.7), rules);
  for (const auto& m : slow.metrics) CHECK(m.verdict == Verdict::good);
}
