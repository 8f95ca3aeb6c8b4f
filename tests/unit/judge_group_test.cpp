#include <string>

#include "gate/judge/gate.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate::judge;

TEST_CASE("the figures of one load are one witness: a slower version of a one-scenario project is no slow machine",
          "[judge]") {
  Rules rules;
  rules.min_gap_hours = 0;
  const auto night = [](std::int64_t number, double slower) {
    NightInput input;
    input.night = {number, number * 86400000000};
    input.digest = "sha256:" + std::to_string(number);
    const double w = 1 + 0.002 * static_cast<double>(number % 3);
    input.readings = {{"d.get.rate", Better::higher, "d", 10000 * w / slower, {}, "d.get"},
                      {"d.get.p50", Better::lower, "d", 900 * w * slower, {}, "d.get"},
                      {"d.get.p95", Better::lower, "d", 1900 * w * slower, {}, "d.get"},
                      {"d.get.p99", Better::lower, "d", 2500 * w * slower, {}, "d.get"},
                      {"d.get.cpu_us", Better::lower, "d", 100 * w * slower, {}, "d.get"}};
    return input;
  };
  GateState state;
  for (int i = 1; i <= 14; ++i) step(state, night(i, 1), rules);
  CHECK(step(state, night(15, 1.4), rules).metrics.at(0).verdict == Verdict::suspect);
  const auto second = step(state, night(16, 1.4), rules);
  CHECK(second.metrics.at(0).verdict == Verdict::trip);
  REQUIRE(second.groups.size() == 1);
  CHECK(second.groups.at(0).metrics.size() == 5);
}

TEST_CASE("a night in which every series has its control is judged, however the machine moved", "[judge]") {
  Rules rules;
  rules.min_gap_hours = 0;
  constexpr int metrics = 8;
  const auto night = [](std::int64_t number, double apart) {
    NightInput input;
    input.night = {number, number * 86400000000};
    for (int i = 0; i < metrics; ++i) {
      const double machine = (1 + 0.002 * static_cast<double>((number + i) % 3)) * (i % 2 == 0 ? apart : 1 / apart);
      input.readings.push_back(
          {"m" + std::to_string(i), Better::higher, "d", 1000 * machine, {{"c", 900 * machine}}, ""});
    }
    return input;
  };
  GateState state;
  for (int i = 1; i <= 14; ++i) step(state, night(i, 1), rules);
  const auto torn = step(state, night(15, 1.5), rules);
  CHECK_FALSE(torn.environment_suspect);
  for (const auto& m : torn.metrics) CHECK(m.verdict == Verdict::good);
}
