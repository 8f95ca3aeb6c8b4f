// How long the search thinks: decisions and whole simulated bisects of 1,024 merges. Ends with 1 above the limits.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "bisect/search/broker.hpp"
#include "bisect/search/engine.hpp"
#include "bisect/search/search.hpp"
#include "bisect/search/simulate.hpp"

using namespace nightgate::search;

namespace {

constexpr double most_ms_a_decision = 20;
constexpr double most_ms_a_bisect = 1000;
constexpr int bisects = 10;

// Processor time of this program, so that others on the machine do not count.
double ms_now() { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Simulation simulation(double d, double image_effect) {
  Simulation s;
  s.merges = 1024;
  s.noise = 0.05;
  s.effect = d * s.noise;
  s.image_effect = image_effect;
  s.runs = bisects;
  return s;
}

struct Slowest {
  double running = 0;  // ms; a bisect that goes on
  double anew = 0;     // ms; everything computed again, as the first decision of a resumed one
  std::size_t measurements = 0;
};

// The slowest decisions of one bisect.
Slowest slowest_decision(const Simulation& s, std::uint64_t seed) {
  Broker broker(s, seed);
  Problem problem;
  problem.merges = s.merges;
  problem.shift = broker.told_shift();
  problem.noise = s.noise;
  std::vector<Observation> seen;
  Engine engine(problem);
  Slowest out;
  for (;;) {
    double start = ms_now();
    const Decision decision = engine.decide(seen);
    out.running = std::max(out.running, (ms_now() - start));
    start = ms_now();
    static_cast<void>(decide(problem, seen));
    out.anew = std::max(out.anew, (ms_now() - start));
    if (decision.next.empty()) break;
    for (const NextBlock& block : decision.next) {
      int order = 0;
      for (const int point : block.points)
        seen.push_back({block.block, block.machine, order++, point, broker.measure(point, block.machine), block.phase,
                        block.candidate});
    }
  }
  out.measurements = seen.size();
  return out;
}

}  // namespace

int main() {
  bool ok = true;
  std::printf("1,024 merges; slowest decision of one bisect; mean of %d whole simulated bisects\n\n", bisects);
  std::printf(
      "| d | image offsets | measurements | slowest decision, ms | computed anew, ms | a whole bisect, ms "
      "|\n|---|---|---|---|---|---|\n");
  for (const double image : {0.0, 0.2})
    for (const double d : {1.0, 2.0, 4.0, 8.0}) {
      if (d < 2 && image > 0) continue;  // takes the whole budget
      const Slowest decision = slowest_decision(simulation(d, image), 7);
      const double start = ms_now();
      static_cast<void>(simulate(simulation(d, image)));
      const double whole = (ms_now() - start) / bisects;
      ok = ok && decision.running < most_ms_a_decision && whole < most_ms_a_bisect;
      std::printf("| %.0f | %.1f | %zu | %.1f | %.1f | %.0f |\n", d, image, decision.measurements, decision.running,
                  decision.anew, whole);
      std::fflush(stdout);
    }
  std::printf("\nlimits: %.0f ms a decision, %.0f ms a bisect: %s\n", most_ms_a_decision, most_ms_a_bisect,
              ok ? "kept" : "EXCEEDED");
  return ok ? 0 : 1;
}
