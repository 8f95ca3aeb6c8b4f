#include "gate/judge/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace nightgate::judge {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double median_of(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

// log(second / first), sign turned so that positive is better.
std::vector<double> log_ratios(const std::vector<double>& first, const std::vector<double>& second, Better better) {
  const auto n = std::min(first.size(), second.size());
  const double sign = better == Better::higher ? 1 : -1;
  std::vector<double> out;
  out.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double ratio = std::log(second[i] / first[i]);
    if (std::isfinite(ratio)) out.push_back(sign * ratio);
  }
  return out;
}

// The design's change: s x (value / reference - 1). From a log ratio l (positive better) it is e^l - 1 where higher is
// better and 1 - e^-l where lower is.
double change_of(double log_better, Better better) {
  return better == Better::higher ? std::expm1(log_better) : -std::expm1(-log_better);
}

// splitmix64 (Steele, Lea, Flood 2014): the same draws on every platform.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

// Percentile bootstrap of the median, 95 %.
void bootstrap(const std::vector<double>& values, const PairRules& rules, double& low, double& high) {
  low = high = values.empty() ? 0 : values.front();
  if (values.size() < 2 || rules.resamples < 20) return;
  std::uint64_t state = rules.seed;
  std::vector<double> estimates(static_cast<std::size_t>(rules.resamples));
  std::vector<double> drawn(values.size());
  for (auto& estimate : estimates) {
    for (auto& value : drawn) value = values[next_random(state) % values.size()];
    estimate = median_of(drawn);
  }
  std::sort(estimates.begin(), estimates.end());
  low = estimates[static_cast<std::size_t>(0.025 * static_cast<double>(estimates.size()))];
  high = estimates[static_cast<std::size_t>(0.975 * static_cast<double>(estimates.size() - 1))];
}

struct Evidence {
  int n = 0;
  int dof = 0;
  double mean = 0;
  double sd = 0;
};

// Mean of the pairs and the sd pooled with the A/A pairs (mean known to be zero there: one degree each).
Evidence evidence_of(const std::vector<double>& pairs, const std::vector<double>& aa) {
  Evidence out;
  out.n = static_cast<int>(pairs.size());
  if (pairs.empty()) return out;
  for (const double x : pairs) out.mean += x / static_cast<double>(pairs.size());
  double squares = 0;
  for (const double x : pairs) squares += (x - out.mean) * (x - out.mean);
  for (const double x : aa) squares += x * x;
  out.dof = out.n - 1 + static_cast<int>(aa.size());
  // Quantised metrics can repeat to the last digit; that is no proof of a machine without noise.
  constexpr double least_noise = 0.002;
  if (out.dof > 0) out.sd = std::max(least_noise, std::sqrt(squares / out.dof));
  return out;
}

double e_value_of(const Evidence& evidence, double prior) {
  if (evidence.n < 1 || evidence.dof < 1 || !(evidence.sd > 0)) return 1;
  const double shrink = 1 + evidence.n * prior;
  const double t2 = evidence.n * evidence.mean * evidence.mean / (evidence.sd * evidence.sd) / evidence.dof;
  return std::exp(0.5 * (evidence.dof + 1) * std::log((1 + t2) / (1 + t2 / shrink)) - 0.5 * std::log(shrink));
}

std::string text(const char* format, double a, double b = 0) {
  char buffer[160];
  // The formats are the literals below; -Wformat-nonliteral cannot see that through the call.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(buffer, sizeof buffer, format, a, b);
#pragma GCC diagnostic pop
  return buffer;
}

// 2 (n!)^2 / (2n)!: all n heads on one side of all n bases, either side.
double chance_of_separation(int pairs) {
  double chance = 2;
  for (int i = 1; i <= pairs; ++i) chance *= static_cast<double>(i) / static_cast<double>(pairs + i);
  return std::min(1.0, chance);
}

void decide(PairResult& result, const PairRules& rules) {
  const bool known = std::isfinite(result.low) && std::isfinite(result.high);
  result.real = known && (result.low > 0 || result.high < 0);
  if (result.pairs < rules.min_pairs) {
    result.reason = text("too few pairs to decide: with %.0f, every head beats every base by chance one time in %.0f",
                         result.pairs, result.pairs == 1 ? 2.0 : 2 / result.chance_of_every);
  } else if (!known) {
    result.reason = "too few pairs to say anything yet, for so many metrics together";
  } else if (result.low > -rules.min_change && result.high < rules.min_change) {
    result.verdict = PairVerdict::same;
    result.reason = result.real ? text("a real change of %+.1f %%, smaller than the %.0f %% that matter here",
                                       100 * result.change, 100 * rules.min_change)
                                : text("any difference is smaller than %.0f %%", 100 * rules.min_change);
  } else if (result.real && std::abs(result.change) >= rules.min_change) {
    result.verdict = result.change < 0 ? PairVerdict::worse : PairVerdict::better;
    result.reason = "the whole interval is on one side of zero";
  } else if (result.real) {
    result.reason = text("a real change of about %+.1f %%; whether it reaches %.0f %% is not yet clear",
                         100 * result.change, 100 * rules.min_change);
  } else {
    result.reason = text("the interval %+.1f %% to %+.1f %% still holds zero and more than matters", 100 * result.low,
                         100 * result.high);
  }
}

double alpha_of(std::size_t metrics, const PairRules& rules) {
  return rules.error / static_cast<double>(std::max<std::size_t>(1, metrics)) / std::max(1, rules.comparisons);
}

// Values without a logarithm are left out, both of their pair.
struct Matched {
  std::vector<double> base, head;
};
Matched matched_of(const PairedMetric& metric) {
  Matched out;
  for (std::size_t i = 0; i < std::min(metric.base.size(), metric.head.size()); ++i) {
    const double base = metric.base[i], head = metric.head[i];
    if (!(base > 0 && head > 0 && std::isfinite(base) && std::isfinite(head))) continue;
    out.base.push_back(base);
    out.head.push_back(head);
  }
  return out;
}

double aa_spread_of(const std::vector<double>& aa) {
  double spread = std::numeric_limits<double>::quiet_NaN();
  for (const double x : aa) spread = std::isnan(spread) ? std::abs(x) : std::max(spread, std::abs(x));
  return spread;
}

// Figures for the eye: medians, index, who beats whom.
void describe(PairResult& result, const PairedMetric& metric, const Matched& matched, const std::vector<double>& pairs,
              const PairRules& rules) {
  result.change = change_of(hodges_lehmann(pairs), metric.better);
  bootstrap(pairs, rules, result.shown_low, result.shown_high);
  result.shown_low = change_of(result.shown_low, metric.better);
  result.shown_high = change_of(result.shown_high, metric.better);
  result.base = median_of(matched.base);
  result.head = median_of(matched.head);
  result.index = 100 * result.head / result.base;
  result.beyond_aa = !std::isnan(result.aa_spread) && std::abs(hodges_lehmann(pairs)) > result.aa_spread;
  const auto [base_min, base_max] = std::minmax_element(matched.base.begin(), matched.base.end());
  const auto [head_min, head_max] = std::minmax_element(matched.head.begin(), matched.head.end());
  const bool higher = metric.better == Better::higher;
  result.every_head_beats_every_base = higher ? *head_min > *base_max : *head_max < *base_min;
  result.every_head_loses = higher ? *head_max < *base_min : *head_min > *base_max;
  result.chance_of_every = chance_of_separation(result.pairs);
}

// No pair at all: which side has no number, and whether it is worth waiting for.
void decide_without_pairs(PairResult& result, const PairedMetric& metric, const PairRules& rules) {
  const int missing = std::max(metric.missing_base, metric.missing_head);
  result.change = result.base = result.head = result.index = std::numeric_limits<double>::quiet_NaN();
  result.shown_low = result.shown_high = result.change;
  result.open = missing < rules.min_pairs;
  if (missing == 0) {
    result.reason = "nothing measured yet";
  } else if (metric.missing_base > 0 && metric.missing_head > 0) {
    result.reason = "no pair has a number on both sides";
  } else {
    result.reason = metric.missing_base > 0 ? "base has no such number" : "head has no such number";
  }
}

// Neither "same" nor a difference is in reach of the budget, even if the noise proves to be a third smaller than it
// looks and the mean a standard error larger. Giving up early can't make a wrong verdict, only a missing one.
bool out_of_reach(const Evidence& evidence, const PairRules& rules, double alpha) {
  constexpr int least_pairs = 8;
  if (rules.max_pairs <= evidence.n || evidence.n < least_pairs) return false;
  const int dof = evidence.dof + rules.max_pairs - evidence.n;
  const double half = always_valid_half_width(rules.max_pairs, dof, 0.67 * evidence.sd, alpha, rules.prior);
  const double farthest = std::abs(evidence.mean) + evidence.sd / std::sqrt(evidence.n);
  return half > std::log1p(rules.min_change) && farthest < half;
}

PairResult judge_one(const PairedMetric& metric, const PairRules& rules, double alpha) {
  PairResult result;
  result.metric = metric.metric;
  const auto matched = matched_of(metric);
  const auto pairs = log_ratios(matched.base, matched.head, metric.better);
  const auto aa = log_ratios(metric.aa_first, metric.aa_second, metric.better);
  result.pairs = static_cast<int>(pairs.size());
  result.low = -infinity;
  result.high = infinity;
  result.aa_spread = aa_spread_of(aa);
  if (pairs.empty()) {
    decide_without_pairs(result, metric, rules);
  } else {
    const auto evidence = evidence_of(pairs, aa);
    const double half = always_valid_half_width(evidence.n, evidence.dof, evidence.sd, alpha, rules.prior);
    result.e_value = e_value_of(evidence, rules.prior);
    if (std::isfinite(half)) {
      result.low = change_of(evidence.mean - half, metric.better);
      result.high = change_of(evidence.mean + half, metric.better);
    }
    describe(result, metric, matched, pairs, rules);
    decide(result, rules);
    result.open = result.verdict == PairVerdict::no_verdict;
    if (result.open && out_of_reach(evidence, rules, alpha)) {
      result.open = false;
      result.reason += text("; %.0f pairs would not decide it at its noise of %.1f %% a pair: longer runs would help",
                            rules.max_pairs, 100 * evidence.sd);
    }
  }
  if (!metric.refused.empty()) {
    result.verdict = PairVerdict::no_verdict;
    result.open = false;
    result.reason = metric.refused;
  }
  return result;
}

}  // namespace

std::string_view name(PairVerdict verdict) {
  switch (verdict) {
    case PairVerdict::better:
      return "better";
    case PairVerdict::worse:
      return "worse";
    case PairVerdict::same:
      return "same";
    case PairVerdict::no_verdict:
      return "no_verdict";
  }
  return "no_verdict";
}

double always_valid_half_width(int n, int dof, double sd, double alpha, double prior) {
  if (n < 1 || dof < 1) return infinity;
  const double shrink = 1 + n * prior;
  const double k = std::exp(2.0 / (dof + 1) * (0.5 * std::log(shrink) - std::log(alpha)));
  if (k >= shrink) return infinity;  // no mean can be excluded with this little evidence
  const double t2 = dof * (k - 1) / (1 - k / shrink);
  return std::sqrt(t2 / n) * sd;
}

double hodges_lehmann(std::span<const double> values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back(0.5 * (values[i] + values[j]));
  }
  return median_of(std::move(means));
}

std::vector<PairResult> judge_pairs(std::span<const PairedMetric> metrics, const PairRules& rules) {
  std::vector<PairResult> results;
  results.reserve(metrics.size());
  const double alpha = alpha_of(metrics.size(), rules);
  for (const auto& metric : metrics) results.push_back(judge_one(metric, rules, alpha));
  return results;
}

bool settled(std::span<const PairResult> results) {
  return std::none_of(results.begin(), results.end(), [](const PairResult& r) { return r.open; });
}

std::vector<std::string> aa_refusals(std::span<const PairedMetric> metrics, const PairRules& rules, double max_ratio) {
  const double alpha = alpha_of(metrics.size(), rules);
  std::vector<std::string> out;
  for (const auto& metric : metrics) {
    auto& why = out.emplace_back();
    const auto aa = log_ratios(metric.aa_first, metric.aa_second, metric.better);
    if (aa.empty()) continue;
    const auto evidence = evidence_of(aa, {});
    const double half = always_valid_half_width(evidence.n, evidence.dof, evidence.sd, alpha, rules.prior);
    const auto wild = std::count_if(aa.begin(), aa.end(), [&](double x) { return std::abs(x) > max_ratio; });
    if (std::abs(evidence.mean) <= half && 2 * wild < static_cast<std::ptrdiff_t>(aa.size())) continue;
    why = text("base differs from itself by up to %.1f %%", 100 * std::expm1(aa_spread_of(aa))) +
          (aa.size() > 1 ? " in " + std::to_string(aa.size()) + " A/A pairs" : std::string());
  }
  return out;
}

}  // namespace nightgate::judge
