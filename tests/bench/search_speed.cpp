// How long the search thinks: decisions and whole simulated bisects of 1,024 merges. Ends with 1 above the limits.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bisect/search/broker.hpp"
#include "bisect/search/search.hpp"
#include "bisect/search/simulate.hpp"

using namespace nightgate::search;

namespace {

constexpr double most_ms_a_decision = 20;
constexpr double most_ms_a_bisect = 1000;
constexpr int bisects = 10;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Simulation simulation(double d, double image_effect) {
  Simulation s;
  s.merges = 1024;
  s.noise = 0.05;
  s.effect = d * s.noise;
  s.image_effect = image_effect;
  s.runs = bisects;
  return s;
}

// The slowest decision of one bisect, everything computed anew, as a resumed one does.
double slowest_decision(const Simulation& s, std::uint64_t seed, std::size_t& measurements) {
  Broker broker(s, seed);
  Problem problem;
  problem.merges = s.merges;
  problem.shift = broker.told_shift();
  problem.noise = s.noise;
  std::vector<Observation> seen;
  double slowest = 0;
  for (;;) {
    const auto start = std::chrono::steady_clock::now();
    const Decision decision = decide(problem, seen);
    slowest = std::max(slowest, ms_since(start));
    if (decision.next.empty()) break;
    for (const NextBlock& block : decision.next) {
      int order = 0;
      for (const int point : block.points)
        seen.push_back({block.block, block.machine, order++, point, broker.measure(point, block.machine), block.phase,
                        block.candidate});
    }
  }
  measurements = seen.size();
  return slowest;
}

}  // namespace

int main() {
  bool ok = true;
  std::printf("1,024 merges; slowest decision of one bisect, from scratch; mean of %d whole simulated bisects\n\n",
              bisects);
  std::printf(
      "| d | image offsets | measurements | slowest decision, ms | a whole bisect, ms |\n|---|---|---|---|---|\n");
  for (const double image : {0.0, 0.2})
    for (const double d : {1.0, 2.0, 4.0, 8.0}) {
      if (d < 2 && image > 0) continue;  // takes the whole budget
      std::size_t measurements = 0;
      const double decision = slowest_decision(simulation(d, image), 7, measurements);
      const auto start = std::chrono::steady_clock::now();
      static_cast<void>(simulate(simulation(d, image)));
      const double whole = ms_since(start) / bisects;
      ok = ok && decision < most_ms_a_decision && whole < most_ms_a_bisect;
      std::printf("| %.0f | %.1f | %zu | %.1f | %.0f |\n", d, image, measurements, decision, whole);
      std::fflush(stdout);
    }
  std::printf("\nlimits: %.0f ms a decision, %.0f ms a bisect: %s\n", most_ms_a_decision, most_ms_a_bisect,
              ok ? "kept" : "EXCEEDED");
  return ok ? 0 : 1;
}
