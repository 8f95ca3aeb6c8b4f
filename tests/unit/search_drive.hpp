// Drives the search against a made-up broker, one block or one measurement at a time.
#pragma once
#include <functional>
#include <vector>

#include "bisect/search/random.hpp"
#include "bisect/search/search.hpp"

namespace nightgate::search::test {

using Measure = std::function<std::optional<double>(const NextBlock&, int point)>;

inline Problem problem_of(int merges, double shift = 0.4, double noise = 0.1) {
  Problem problem;
  problem.merges = merges;
  problem.shift = shift;
  problem.noise = noise;
  return problem;
}

// A broker with one culprit: normal noise from a seeded generator, and an offset of its own for every block.
inline Measure broker(int culprit, double shift = 0.4, double noise = 0.1, std::uint64_t seed = 1) {
  return [=, random = Random(seed)](const NextBlock& block, int point) mutable -> std::optional<double> {
    const double drift = 0.3 * static_cast<double>((block.block * 7 + block.machine * 3) % 5);
    return drift + (point >= culprit ? shift : 0.0) + noise * random.normal();
  };
}

inline int last_order(const std::vector<Observation>& log, const NextBlock& block) {
  int order = 0;
  for (const Observation& one : log) order += one.block == block.block && one.machine == block.machine ? 1 : 0;
  return order;
}

// Measures the first point of the first block.
inline void measure_one(std::vector<Observation>& log, const NextBlock& block, const Measure& measure) {
  const int point = block.points.front();
  log.push_back(
      {block.block, block.machine, last_order(log, block), point, measure(block, point), block.phase, block.candidate});
}

// One measurement a decision until the answer; `log` may hold what was measured before.
inline Decision drive(const Problem& problem, const Measure& measure, std::vector<Observation>& log) {
  Decision decision = decide(problem, log);
  while (!decision.next.empty()) {
    measure_one(log, decision.next.front(), measure);
    decision = decide(problem, log);
  }
  return decision;
}

inline Decision drive(const Problem& problem, const Measure& measure) {
  std::vector<Observation> log;
  return drive(problem, measure, log);
}

}  // namespace nightgate::search::test
