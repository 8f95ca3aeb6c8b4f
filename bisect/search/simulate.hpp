// Simulated bisects: the shipped search (decide(), not a copy of it) against brokers whose culprit is known, and
// classic halving beside it. Deterministic: the same Simulation gives the same result on every platform with IEEE
// doubles.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nightgate::search {

enum class Drift { none, walk, jump, trend };
enum class Strategy {
  full,
  halving1,
  halving3,
  halving5
};  // full = the shipped search; halvingK = K runs a point, exact midpoint known
std::optional<Drift> drift_from(std::string_view text);
std::optional<Strategy> strategy_from(std::string_view text);

struct Simulation {
  int merges = 64;
  double effect = 0.2;        // shift of the log between the ends, > 0
  double noise = 0.1;         // sd of the log of one measurement, > 0
  Drift drift = Drift::none;  // the machine's own speed: walk 0.3 sd, trend 0.1 sd a measurement; jump 3 sd, one in 30
  double drift_size = 1;      // times these figures
  double outliers = 0;        // fraction of measurements whose noise is six times as wide
  double image_effect = 0;    // sd of every image's own offset, as a fraction of the effect
  double missing = 0;         // fraction of the interior points without a target
  int culprits = 1;           // 0, 1 or 2 (60 % and 40 % of the effect, in random order)
  double slow_noise = 1;      // noise of slow points over noise of fast ones
  int machines = 1;
  Strategy strategy = Strategy::full;
  double error = 0.01;        // handed to the search
  double shift_known = 0.25;  // the search is told the shift times 1 +- this (uniform); 0 = exactly
  int interior = 3;
  int max_measurements = 600;
  int runs = 1000;  // simulated bisects
  std::uint64_t seed = 1;
};

// Fractions of the simulated bisects; right + wrong + undecided = 1. A name is right when it is a culprit (with two,
// either; `larger` says how often it was the larger one). A range is right when it is as narrow as the missing targets
// allow and holds a culprit. With no culprit, right = not_reproduced.
struct SimulationResult {
  Simulation simulation;
  double right = 0;
  double wrong = 0;
  double undecided = 0;
  double larger = 0;
  double measurements_mean = 0;
  double measurements_p95 = 0;
};

// Why this can't be simulated (a sentence), or nothing when it can.
std::optional<std::string> invalid(const Simulation& simulation);

// An invalid simulation gives zeros.
SimulationResult simulate(const Simulation& simulation);

}  // namespace nightgate::search
