// Feeds a gate night by night, for the judge's tests.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "gate/judge/replay.hpp"
#include "tests/support/catch.hpp"

namespace nightgate::test {

#if __has_include(<catch2/catch_all.hpp>)
using Catch::Approx;  // Catch2 v3
#else
using Catch::Detail::Approx;
#endif

inline constexpr std::int64_t day_us = 86400LL * 1000000;

// Small repeatable noise of about one per cent around 0 (log), without any library's random numbers.
inline double wobble(int i) {
  const double a = std::sin(12.9898 * i + 4.1) * 43758.5453;
  const double b = std::sin(78.233 * i + 1.7) * 12543.1234;
  return 0.02 * ((a - std::floor(a)) + (b - std::floor(b)) - 1);
}

struct Feed {
  judge::GateState state;
  judge::Rules rules;
  std::int64_t sequence = 0;
  std::int64_t instant = 0;
  std::string digest;
  std::string machine_class;
  judge::Better better = judge::Better::higher;

  judge::NightInput input(const std::vector<std::pair<std::string, double>>& values, double hours = 24) {
    judge::NightInput night;
    instant += static_cast<std::int64_t>(hours * 3.6e9);
    night.night = {++sequence, instant};
    night.digest = digest;
    night.machine_class = machine_class;
    for (const auto& [metric, value] : values) night.readings.push_back({metric, better, "", value, {}});
    return night;
  }
  judge::NightVerdict night(const std::vector<std::pair<std::string, double>>& values, double hours = 24) {
    return judge::step(state, input(values, hours), rules);
  }
  judge::MetricVerdict value(double v, double hours = 24) { return night({{"m", v}}, hours).metrics.at(0); }
  // n quiet nights around `level`.
  void quiet(int n, double level = 1000) {
    for (int i = 0; i < n; ++i) value(level * std::exp(wobble(static_cast<int>(sequence))));
  }
};

}  // namespace nightgate::test
