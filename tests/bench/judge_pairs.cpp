// How often a compare cries wolf, and how many pairs it needs. Seeded, so the figures are repeatable.
//   bench_judge_pairs [runs [A/A pairs]]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gate/judge/pairs.hpp"

namespace {
using namespace nightgate::judge;

std::uint64_t state = 2026;
double uniform() {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  z ^= z >> 31U;
  return (static_cast<double>(z >> 11U) + 0.5) / 9007199254740992.0;
}
double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }
// t with 3 degrees of freedom, scaled to sd 1.
double heavy() {
  const double z = normal();
  const double chi = std::pow(normal(), 2) + std::pow(normal(), 2) + std::pow(normal(), 2);
  return z / std::sqrt(chi / 3) / std::sqrt(3.0);
}

struct Case {
  const char* text;
  int metrics;
  double noise;
  double change;  // of the head, in per cent of the base, first metric only
  double (*draw)();
  double hog;  // chance that a measurement runs 30 % slow on every metric
  int comparisons = 1;
};
struct Count {
  int worse = 0, better = 0, same = 0, undecided = 0, aa_all = 0, aa_some = 0;
  std::vector<int> pairs;  // when the first metric was decided
  double rounds = 0;       // pairs until the run ended
};

using Metrics = std::vector<PairedMetric>;

// One measurement of every metric goes into the member `side`.
void measure(const Case& c, Metrics& metrics, std::vector<double> PairedMetric::*side, double change) {
  const double hog = uniform() < c.hog ? std::log(0.7) : 0;
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const double shift = m == 0 ? std::log1p(change / 100) : 0;
    (metrics[m].*side).push_back(std::exp(10 + hog + c.noise * c.draw() + shift));
  }
}

void measure_aa(const Case& c, Metrics& metrics, int pairs) {
  for (int p = 0; p < pairs; ++p) {
    measure(c, metrics, &PairedMetric::aa_first, 0);
    measure(c, metrics, &PairedMetric::aa_second, 0);
  }
}

// As a run does: a metric whose A/A differs is measured against itself twice more, and refused when it still does.
// The number of refused metrics.
int refuse(const Case& c, Metrics& metrics, const PairRules& rules) {
  const auto refused = [&] {
    const auto why = aa_refusals(metrics, rules);
    int count = 0;
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      metrics[m].refused = why[m];
      count += why[m].empty() ? 0 : 1;
    }
    return count;
  };
  if (refused() == 0) return 0;
  measure_aa(c, metrics, 2);
  return refused();
}

void run_once(const Case& c, int max_pairs, int aa_pairs, Count& count) {
  PairRules rules;
  rules.resamples = 0;  // the shown interval takes no part in the decision
  rules.comparisons = c.comparisons;
  rules.max_pairs = max_pairs;
  Metrics metrics(static_cast<std::size_t>(c.metrics));
  measure_aa(c, metrics, aa_pairs);
  if (const int refused = refuse(c, metrics, rules); refused > 0) {
    ++count.aa_some;
    if (refused == c.metrics) {
      ++count.aa_all;
      return;
    }
  }
  std::vector<PairResult> results;
  int first_decided = max_pairs + 1;
  for (int p = 1; p <= max_pairs; ++p) {
    measure(c, metrics, &PairedMetric::base, 0);
    measure(c, metrics, &PairedMetric::head, c.change);
    results = judge_pairs(metrics, rules);
    if (results[0].verdict != PairVerdict::no_verdict) first_decided = std::min(first_decided, p);
    ++count.rounds;
    if (settled(results)) break;
  }
  const auto any = [&](PairVerdict v) {
    return std::any_of(results.begin(), results.end(), [&](const PairResult& x) { return x.verdict == v; });
  };
  count.worse += any(PairVerdict::worse) ? 1 : 0;
  count.better += any(PairVerdict::better) ? 1 : 0;
  count.same += any(PairVerdict::no_verdict) || any(PairVerdict::worse) || any(PairVerdict::better) ? 0 : 1;
  count.undecided += any(PairVerdict::no_verdict) ? 1 : 0;
  count.pairs.push_back(first_decided);
}
}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 10000;
  const int aa_pairs = argc > 2 ? std::atoi(argv[2]) : 1;
  const Case cases[] = {
      {"A/A, normal 2 %", 20, 0.02, 0, normal, 0},
      {"A/A, heavy tails 2 %", 20, 0.02, 0, heavy, 0},
      {"A/A, normal 5 %", 20, 0.05, 0, normal, 0},
      {"A/A, normal 15 %", 20, 0.15, 0, normal, 0},
      {"A/A, a hog in 10 % of starts", 20, 0.02, 0, normal, 0.1},
      {"A/A, heavy tails 5 %, 1 metric", 1, 0.05, 0, heavy, 0},
      {"10 % worse, 2 % noise", 20, 0.02, -10, normal, 0},
      {"5 % worse, 2 % noise", 20, 0.02, -5, normal, 0},
      {"10 % worse, 2 % noise, 4 metrics", 4, 0.02, -10, normal, 0},
      {"7 % worse, 2 % noise", 20, 0.02, -7, normal, 0},
      {"30 % worse, 5 % noise", 20, 0.05, -30, normal, 0},
      {"10 % worse, heavy tails 2 %", 20, 0.02, -10, heavy, 0},
      {"10 % worse, a hog in 10 % of starts", 20, 0.02, -10, normal, 0.1},
      {"10 % worse, 2 % noise, a ladder of 3", 20, 0.02, -10, normal, 0, 5},
  };
  std::printf(
      "20 metrics unless said; %d runs, at most 40 pairs, A/A pairs first: %d, and 2 more where they differ\n\n", runs,
      aa_pairs);
  std::printf(
      "| case | worse %% | better %% | all same %% | some undecided %% | A/A refused some %%, all %% | first "
      "metric decided after: median, p90 | pairs, mean |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  for (const auto& c : cases) {
    Count n;
    for (int r = 0; r < runs; ++r) run_once(c, 40, aa_pairs, n);
    std::sort(n.pairs.begin(), n.pairs.end());
    const auto share = [&](int k) { return 100.0 * k / runs; };
    const auto at = [&](double q) {
      return n.pairs.empty() ? 0 : n.pairs[static_cast<std::size_t>(q * static_cast<double>(n.pairs.size() - 1))];
    };
    std::printf("| %s | %.2f | %.2f | %.1f | %.1f | %.1f, %.1f | %d, %d | %.1f |\n", c.text, share(n.worse),
                share(n.better), share(n.same), share(n.undecided), share(n.aa_some), share(n.aa_all), at(0.5), at(0.9),
                n.rounds / runs);
    std::fflush(stdout);
  }
  return 0;
}
