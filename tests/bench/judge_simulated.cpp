// Simulated series without any change: 40 x 300 nights of each kind, at 1 % and 3 % noise. One trip is 0.83 per 10,000
// here. With a number as argument that many seeds are run and averaged.
#include "tests/bench/judge_simulations.hpp"

#include <cstdio>
#include <cstdlib>

namespace {
using namespace nightgate::bench;

void row(Kind kind, double sigma, bool recorded, bool one_machine, unsigned seeds) {
  Quiet sum;
  for (unsigned seed = 101; seed < 101 + seeds; ++seed) {
    const Quiet q = run_quiet(kind, sigma, recorded, one_machine, 40, seed, nightgate::judge::replay_rules());
    sum.trips += q.trips;
    sum.nights += q.nights;
    sum.series += q.series;
    sum.set_aside += q.set_aside;
    sum.silent += q.silent;
  }
  const bool two = kind == Kind::two_random || kind == Kind::two_sticky;
  std::printf("%-30s %-10s %3.0f %%  %6.2f  %5.1f %%  %5.1f %%\n", name(kind),
              two ? (recorded ? "recorded" : "unrecorded") : "", 100 * sigma, 1e4 * sum.trips / sum.nights,
              100 * sum.set_aside / sum.series, 100 * sum.silent / sum.nights);
}
}  // namespace

int main(int count, char** arguments) {
  const unsigned seeds = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 20;
  for (const bool one_machine : {false, true}) {
    std::printf("%s, %u seed(s)\n", one_machine ? "40 series on one machine" : "every series on a machine of its own",
                seeds);
    std::printf("%-30s %-10s noise  trips per 10,000  set aside  no verdict\n", "kind", "class");
    for (const double sigma : {0.01, 0.03}) {
      for (const Kind kind : all_kinds) {
        row(kind, sigma, false, one_machine, seeds);
        if (kind == Kind::two_random || kind == Kind::two_sticky) row(kind, sigma, true, one_machine, seeds);
      }
    }
  }
  return 0;
}
