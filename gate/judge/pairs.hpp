// Pairs -> verdict: is head really different from base, decided while pairs are still coming in.
//
// The evidence of a metric is an e-process for paired log ratios with unknown mean and unknown variance: the Bayes
// factor of "mean = 0" against "mean / sd ~ N(0, g)" under the right-Haar prior for the sd (the t-test form of Lai
// 1976; anytime validity by Ville's inequality: Wang and Ramdas, "Anytime-valid t-tests and confidence sequences for
// Gaussian means with unknown variance", Sequential Analysis 2025). Base-against-base (A/A) pairs, whose mean is known
// to be zero, add degrees of freedom to the sd. Looking after every pair is allowed: the chance of ever seeing the
// e-value above 1/alpha without a difference is at most alpha. Several metrics share alpha equally (Bonferroni).
//
// "change" is negative = worse, on the scale of the design (see gate.hpp); intervals are in the same scale, low first.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gate/judge/gate.hpp"

namespace nightgate::judge {

enum class PairVerdict { better, worse, same, no_verdict };
std::string_view name(PairVerdict verdict);

// One metric of a compare so far. Values are in the metric's unit; base[i] and head[i] are of one pair. Pairs in which
// one side has no number are left out by the caller and counted; values that are not > 0 have no logarithm and are
// left out here.
struct PairedMetric {
  std::string metric;
  Better better = Better::higher;
  std::vector<double> base;
  std::vector<double> head;
  std::vector<double> aa_first;  // of each A/A pair, base measured twice
  std::vector<double> aa_second;
  int missing_base = 0;  // pairs in which only head has a number
  int missing_head = 0;
  std::string refused;  // why it is not judged (aa_refusals); empty: it is
};

struct PairRules {
  double min_change = 0.05;
  double error = 0.01;   // chance that any metric of the report is called worse (and, apart from that, better)
                         // without a difference
  int comparisons = 1;   // arms compared in this report: they share the error, as its metrics do
  double prior = 2.0;    // g, the variance of mean / sd expected where there is a difference
  int min_pairs = 3;     // fewer never decide
  int max_pairs = 0;     // the budget: a metric that it can't decide is given up early; 0: none is given up
  int resamples = 2000;  // of the bootstrap interval that is shown beside the decision
  std::uint64_t seed = 1;
};

struct PairResult {
  std::string metric;
  PairVerdict verdict = PairVerdict::no_verdict;
  std::string reason;        // why, in words; never empty
  double change = 0;         // from the Hodges-Lehmann estimate of the log ratios (robust)
  double low = 0, high = 0;  // always-valid interval of the change (the deciding one); infinite before it exists
  double shown_low = 0, shown_high = 0;  // 95 % bootstrap interval of the estimate, for the eye only
  int pairs = 0;
  double base = 0, head = 0;                 // medians in the metric's unit
  double index = 100;                        // head with base = 100
  double aa_spread = 0;                      // largest |log ratio| of the A/A pairs; NaN without any
  bool beyond_aa = false;                    // |change| is larger than the A/A spread
  bool every_head_beats_every_base = false;  // and the other way round: every_head_loses
  bool every_head_loses = false;
  double chance_of_every = 1;  // that all heads beat all bases (or all lose) by chance, from the number of pairs
  double e_value = 1;
  bool real = false;  // the interval clears zero
  bool open = true;   // no verdict yet, and more pairs could bring one
};

// Judges each metric; the error is shared by all of them. Never throws; metrics without enough pairs are no_verdict.
std::vector<PairResult> judge_pairs(std::span<const PairedMetric> metrics, const PairRules& rules);
// No metric is open any more: more pairs would change nothing that matters.
bool settled(std::span<const PairResult> results);

// The run's own check before anything is judged: base against base must not differ. For each metric why it may not be
// judged, or an empty text: at least half of its A/A pairs differ by more than `max_ratio` (of the logarithm), or
// their always-valid interval clears zero. All its A/A pairs count as noise in judge_pairs, the wild ones too.
std::vector<std::string> aa_refusals(std::span<const PairedMetric> metrics, const PairRules& rules,
                                     double max_ratio = 0.25);

// Half-width of the always-valid interval of the mean of n values with sample sd `sd` pooled over `dof` degrees of
// freedom; +infinity while there is too little to say. alpha is the error of this one interval, both sides together.
double always_valid_half_width(int n, int dof, double sd, double alpha, double prior);

// Hodges-Lehmann: the median of all pairwise means (Hodges and Lehmann 1963).
double hodges_lehmann(std::span<const double> values);

}  // namespace nightgate::judge
