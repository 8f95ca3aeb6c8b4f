#include "bisect/search/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bisect/search/broker.hpp"
#include "bisect/search/engine.hpp"

namespace nightgate::search {
namespace {

struct Trial {
  bool right = false;
  bool wrong = false;
  bool larger = false;
  int measurements = 0;
};

Problem problem_of(const Simulation& simulation, const Broker& broker, std::uint64_t seed) {
  Problem problem;
  problem.merges = simulation.merges;
  problem.available = broker.available();
  problem.shift = broker.told_shift();
  problem.noise = simulation.noise;
  problem.error = simulation.error;
  problem.interior = simulation.interior;
  problem.max_measurements = simulation.max_measurements;
  problem.machines = simulation.machines;
  problem.seed = seed;
  return problem;
}

// The merges that can't be told from `merge` because the targets around it are missing.
Range finest(const Broker& broker, int merge) {
  const auto& available = broker.available();
  Range range{merge, merge};
  while (!available[static_cast<std::size_t>(range.first - 1)]) --range.first;
  while (!available[static_cast<std::size_t>(range.last)]) ++range.last;
  return range;
}

Trial judge(const Broker& broker, const Answer& answer) {
  Trial trial;
  trial.measurements = answer.measurements;
  if (answer.outcome == Outcome::no_verdict) return trial;
  bool holds = false;  // a range wider than it had to be says something true, but too little: undecided
  if (answer.outcome == Outcome::not_reproduced) {
    trial.right = broker.largest() == 0;
  } else {
    for (int merge = answer.range.first; merge <= answer.range.last; ++merge)
      holds = holds || (answer.outcome == Outcome::range && broker.is_culprit(merge));
    for (int merge = answer.range.first; merge <= answer.range.last && !trial.right; ++merge) {
      const Range narrow = finest(broker, merge);
      const bool named = answer.outcome == Outcome::culprit;
      const bool exact = narrow.first == answer.range.first && narrow.last == answer.range.last &&
                         named == (narrow.first == narrow.last);
      trial.right = broker.is_culprit(merge) && exact;
      trial.larger = trial.right && broker.is_largest(merge);
    }
  }
  trial.wrong = !trial.right && !holds;
  return trial;
}

Trial full_search(const Simulation& simulation, std::uint64_t seed) {
  Broker broker(simulation, seed);
  Engine engine(problem_of(simulation, broker, seed));
  std::vector<Observation> observations;
  for (;;) {
    const Decision decision = engine.decide(observations);
    if (decision.next.empty()) return judge(broker, decision.answer);
    for (const NextBlock& block : decision.next) {
      int order = 0;
      for (const int point : block.points)
        observations.push_back({block.block, block.machine, order++, point, broker.measure(point, block.machine),
                                block.phase, block.candidate});
    }
  }
}

// Classic halving: the mean of `repeats` runs against the exact middle of both levels, which nobody knows in practice.
Trial halving(const Simulation& simulation, std::uint64_t seed, int repeats) {
  Broker broker(simulation, seed);
  std::vector<int> points;
  for (int i = 0; i <= simulation.merges; ++i)
    if (broker.available()[static_cast<std::size_t>(i)]) points.push_back(i);
  std::size_t low = 0;
  std::size_t high = points.size() - 1;
  Answer answer;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    double sum = 0;
    for (int i = 0; i < repeats; ++i) sum += broker.measure(points[middle], 0);
    answer.measurements += repeats;
    (sum / repeats > simulation.effect / 2 ? high : low) = middle;
  }
  answer.range = {points[low] + 1, points[high]};
  answer.outcome = answer.range.first == answer.range.last ? Outcome::culprit : Outcome::range;
  return judge(broker, answer);
}

Trial bisect(const Simulation& simulation, std::uint64_t seed) {
  switch (simulation.strategy) {
    case Strategy::halving1:
      return halving(simulation, seed, 1);
    case Strategy::halving3:
      return halving(simulation, seed, 3);
    case Strategy::halving5:
      return halving(simulation, seed, 5);
    case Strategy::full:
      break;
  }
  return full_search(simulation, seed);
}

}  // namespace

std::optional<Drift> drift_from(std::string_view text) {
  if (text == "none") return Drift::none;
  if (text == "walk") return Drift::walk;
  if (text == "jump") return Drift::jump;
  if (text == "trend") return Drift::trend;
  return std::nullopt;
}

std::optional<Strategy> strategy_from(std::string_view text) {
  if (text == "full") return Strategy::full;
  if (text == "halving1") return Strategy::halving1;
  if (text == "halving3") return Strategy::halving3;
  if (text == "halving5") return Strategy::halving5;
  return std::nullopt;
}

std::optional<std::string> invalid(const Simulation& s) {
  if (!(s.effect > 0) || !(s.noise > 0)) return "effect and noise must be above 0";
  for (const double share : {s.outliers, s.missing, s.shift_known})
    if (!(share >= 0 && share < 1)) return "outliers, missing and shift_known are fractions, 0 to below 1";
  for (const double size : {s.image_effect, s.drift_size, s.slow_noise})
    if (!(size >= 0 && size <= 100)) return "image_effect, drift_size and slow_noise must lie between 0 and 100";
  if (s.culprits < 0 || s.culprits > 2) return "culprits must be 0, 1 or 2";
  if (s.culprits == 2 && s.merges < 2) return "two culprits need two merges";
  if (s.runs < 1 || s.runs > 10000000) return "runs must lie between 1 and 10,000,000";
  Problem problem;
  problem.merges = s.merges;
  problem.shift = s.effect;
  problem.noise = s.noise;
  problem.error = s.error;
  problem.interior = s.interior;
  problem.machines = s.machines;
  return invalid(problem);
}

SimulationResult simulate(const Simulation& simulation) {
  SimulationResult result;
  result.simulation = simulation;
  if (invalid(simulation)) return result;
  std::vector<int> measurements;
  const double share = 1.0 / std::max(1, simulation.runs);
  for (int run = 0; run < simulation.runs; ++run) {
    const std::uint64_t seed = mix(simulation.seed, static_cast<std::uint64_t>(run));
    const Trial trial = bisect(simulation, seed);
    result.right += trial.right ? share : 0;
    result.wrong += trial.wrong ? share : 0;
    result.undecided += trial.right || trial.wrong ? 0 : share;
    result.larger += trial.larger ? share : 0;
    result.measurements_mean += share * trial.measurements;
    measurements.push_back(trial.measurements);
  }
  std::sort(measurements.begin(), measurements.end());
  if (!measurements.empty()) result.measurements_p95 = measurements[(measurements.size() - 1) * 95 / 100];
  return result;
}

}  // namespace nightgate::search
