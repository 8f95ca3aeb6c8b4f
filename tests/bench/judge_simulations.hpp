// Simulated series without any change: what the judge must be quiet on. Deterministic: own generator, seeded.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "gate/judge/replay.hpp"

namespace nightgate::bench {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {
    state_ = bits() ^ (bits() << 1U);  // neighbouring seeds must not give shifted copies of one stream
  }
  std::uint64_t bits() {  // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  double uniform() { return (static_cast<double>(bits() >> 11U) + 0.5) * 0x1.0p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

enum class Kind { normal, heavy, ar5, ar8, quantised, spike, two_random, two_sticky };
inline constexpr Kind all_kinds[] = {Kind::normal,    Kind::heavy, Kind::ar5,        Kind::ar8,
                                     Kind::quantised, Kind::spike, Kind::two_random, Kind::two_sticky};

inline const char* name(Kind kind) {
  switch (kind) {
    case Kind::normal:
      return "independent normal";
    case Kind::heavy:
      return "heavy tails (t, 3 degrees)";
    case Kind::ar5:
      return "autocorrelated 0.5";
    case Kind::ar8:
      return "autocorrelated 0.8";
    case Kind::quantised:
      return "quantised";
    case Kind::spike:
      return "a spike a month";
    case Kind::two_random:
      return "two machine classes, random";
    case Kind::two_sticky:
      return "two machine classes, sticky";
  }
  return "";
}

struct Simulated {
  std::vector<double> values;
  std::vector<bool> other_class;  // that night ran on the second machine class
};

// Log noise with standard deviation sigma around 100 (lower is better). Heavy: t with 3 degrees scaled to that standard
// deviation. Quantised: rounded to steps of two sigma. Spike: one of every 30 nights is 20 to 60 % slower. Two classes:
// the second is slower by `apart`; sticky stays with probability 0.9.
inline Simulated simulate(Kind kind, double sigma, std::size_t nights, Random& random, double apart = 0.25) {
  Simulated out;
  double state = random.normal();
  bool other = random.uniform() < 0.5;
  std::size_t spike_at = 0;
  for (std::size_t i = 0; i < nights; ++i) {
    double noise = random.normal();
    double extra = 0;
    if (kind == Kind::heavy) {
      const double a = random.normal(), b = random.normal(), c = random.normal();
      noise /= std::sqrt(a * a + b * b + c * c);  // t3 / sqrt 3: standard deviation 1
    }
    if (kind == Kind::ar5 || kind == Kind::ar8) {
      const double rho = kind == Kind::ar5 ? 0.5 : 0.8;
      state = rho * state + std::sqrt(1 - rho * rho) * noise;
      noise = state;
    }
    if (i % 30 == 0) spike_at = i + random.bits() % 30;
    if (kind == Kind::spike && i == spike_at) extra = std::log(1.2 + 0.4 * random.uniform());
    if (kind == Kind::two_random) other = random.uniform() < 0.5;
    if (kind == Kind::two_sticky && random.uniform() < 0.1) other = !other;
    const bool two = kind == Kind::two_random || kind == Kind::two_sticky;
    if (two && other) extra = std::log1p(apart);
    double value = 100 * std::exp(sigma * noise + extra);
    if (kind == Kind::quantised) value = std::max(1.0, std::round(value / (200 * sigma))) * 200 * sigma;
    out.values.push_back(value);
    out.other_class.push_back(two && other);
  }
  return out;
}

struct Quiet {
  double trips = 0;
  double nights = 0;
  double series = 0;
  double set_aside = 0;  // at the end
  double silent = 0;     // series-nights without a verdict: set aside, environment, warming up
  double tripped_series = 0;
  double by_line[8] = {0, 0, 0, 0, 0, 0, 0, 0};  // creep, then the evidence lines
  std::vector<int> when;
};

// `series` series; one machine each, or all on one. With all on one machine the class of a night is the same for all.
inline Quiet run_quiet(Kind kind, double sigma, bool recorded, bool one_machine, std::size_t series, std::uint64_t seed,
                       const judge::Rules& rules, double apart = 0.25) {
  constexpr std::size_t nights = 300;
  Random random(seed * 1000 + static_cast<std::uint64_t>(kind) * 10 + static_cast<std::uint64_t>(sigma * 1000));
  judge::History history;
  std::vector<Simulated> all;
  for (std::size_t s = 0; s < series; ++s) {
    history.metrics.push_back({"sim.s" + std::to_string(s), "ms", judge::Better::lower});
    all.push_back(simulate(kind, sigma, nights, random, apart));
    if (!one_machine || s == 0) continue;
    for (std::size_t i = 0; i < nights; ++i) {  // the machine is the same for all series of a night
      if (all[s].other_class[i] != all[0].other_class[i]) {
        all[s].values[i] *= all[0].other_class[i] ? 1 + apart : 1 / (1 + apart);
        all[s].other_class[i] = all[0].other_class[i];
      }
    }
  }
  for (std::size_t i = 0; i < nights; ++i) {
    for (std::size_t s = 0; s < series; ++s) {
      if (s == 0 || !one_machine) {
        history.nights.push_back(
            {static_cast<std::int64_t>(i) * 86400000000, one_machine ? "" : "m" + std::to_string(s), {}, {}, {}, {}});
        if (recorded) history.nights.back().machine_class = all[s].other_class[i] ? "B" : "A";
      }
      history.nights.back().cells.push_back({static_cast<std::uint32_t>(s), all[s].values[i]});
    }
  }
  Quiet quiet;
  const auto result = judge::replay(history, rules, [&](const auto&, const judge::NightVerdict& verdict) {
    for (const auto& v : verdict.metrics) {
      const bool silent = v.verdict == judge::Verdict::unfit || v.verdict == judge::Verdict::environment_suspect ||
                          v.verdict == judge::Verdict::warming_up || v.verdict == judge::Verdict::no_verdict;
      if (v.verdict == judge::Verdict::trip) {
        quiet.by_line[v.numbers.met + 1] += 1;
        quiet.when.push_back(static_cast<int>(verdict.night.sequence));
      }
      quiet.silent += silent ? 1 : 0;
    }
  });
  std::vector<std::string> tripped;
  for (const auto& t : result.trips) tripped.push_back(t.trip.metric);
  std::sort(tripped.begin(), tripped.end());
  quiet.tripped_series = static_cast<double>(std::unique(tripped.begin(), tripped.end()) - tripped.begin());
  quiet.trips = static_cast<double>(result.trips.size());
  quiet.nights = static_cast<double>(series * nights);
  quiet.series = static_cast<double>(series);
  quiet.set_aside = static_cast<double>(result.unfit.size());
  return quiet;
}

}  // namespace nightgate::bench
