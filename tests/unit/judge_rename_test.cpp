#include "gate/judge/gate.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate::judge;

TEST_CASE("a renamed series goes on: no new warm-up, and its evidence stays", "[judge]") {
  Rules rules;
  rules.min_gap_hours = 0;
  const auto night = [](std::int64_t number, const char* metric, double value) {
    NightInput input;
    input.night = {number, number * 86400000000};
    input.digest = "sha256:" + std::to_string(number);
    input.readings.push_back({metric, Better::higher, "d", value, {}});
    return input;
  };
  GateState state;
  for (int i = 1; i <= 12; ++i) step(state, night(i, "a.old.rate", 1000 + i % 3), rules);
  CHECK(step(state, night(13, "a.old.rate", 600), rules).metrics.at(0).verdict == Verdict::suspect);

  CHECK_FALSE(state.rename("a.unknown.rate", "a.new.rate"));
  REQUIRE(state.rename("a.old.rate", "a.new.rate"));
  CHECK_FALSE(state.rename("a.old.rate", "a.new.rate"));
  auto again = GateState::load(state.save());
  REQUIRE(again);
  const auto verdict = step(*again, night(14, "a.new.rate", 600), rules);
  CHECK(verdict.metrics.at(0).verdict == Verdict::trip);
  CHECK(verdict.metrics.at(0).trip->metric == "a.new.rate");
  CHECK(verdict.metrics.at(0).trip->first.sequence == 13);
}
