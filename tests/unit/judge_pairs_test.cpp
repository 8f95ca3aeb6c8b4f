#include "gate/judge/pairs.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"

using namespace nightgate::judge;

namespace {
// Deterministic "noise" of about 2 %, different for base and head.
double wobble(int i) { return 1 + 0.02 * std::sin(12.9898 * i + 78.233); }

PairedMetric metric(Better better, double ratio, int pairs) {
  PairedMetric m{"create.rate", better, {}, {}, {}, {}, 0, 0, {}};
  for (int i = 0; i < pairs; ++i) {
    m.base.push_back(1000 * wobble(2 * i));
    m.head.push_back(1000 * ratio * wobble(2 * i + 1));
  }
  return m;
}
PairResult judge(const PairedMetric& m, int others = 0) {
  std::vector<PairedMetric> all(static_cast<std::size_t>(others + 1), m);
  return judge_pairs(all, {})[0];
}
}  // namespace

TEST_CASE("a clear difference is worse or better by direction, a tiny one is the same", "[judge][pairs]") {
  CHECK(judge(metric(Better::higher, 0.8, 8)).verdict == PairVerdict::worse);
  CHECK(judge(metric(Better::lower, 0.8, 8)).verdict == PairVerdict::better);
  CHECK(judge(metric(Better::higher, 1.25, 8)).verdict == PairVerdict::better);
  CHECK(judge(metric(Better::lower, 1.25, 8)).verdict == PairVerdict::worse);
  CHECK(judge(metric(Better::higher, 1.001, 20)).verdict == PairVerdict::same);
}

TEST_CASE("a change is negative when worse, in both directions, and the interval holds it", "[judge][pairs]") {
  for (const auto better : {Better::higher, Better::lower}) {
    const auto r = judge(metric(better, better == Better::higher ? 0.75 : 1.25, 12));
    INFO(r.reason);
    CHECK(r.change < -0.2);
    CHECK(r.change > -0.3);
    CHECK(r.low < r.change);
    CHECK(r.change < r.high);
    CHECK(r.high < 0);
    CHECK(r.every_head_loses);
    CHECK_FALSE(r.every_head_beats_every_base);
  }
}

TEST_CASE("two pairs decide nothing, and say how often their order happens by chance", "[judge][pairs]") {
  const auto r = judge(metric(Better::higher, 0.5, 2));
  CHECK(r.verdict == PairVerdict::no_verdict);
  CHECK(r.every_head_loses);
  CHECK(r.chance_of_every == Approx(1.0 / 3));  // one time in six for each side
}

TEST_CASE("a real change below min_change is the same, and said to be real", "[judge][pairs]") {
  auto m = metric(Better::higher, 0.98, 1);
  m.base.clear();
  m.head.clear();
  for (int i = 0; i < 30; ++i) {
    m.base.push_back(1000 + 0.5 * (i % 3));
    m.head.push_back(980 + 0.5 * ((i + 1) % 3));
  }
  const auto r = judge(m);
  CHECK(r.verdict == PairVerdict::same);
  CHECK(r.real);
  CHECK(r.reason.find("real change") != std::string::npos);
}

TEST_CASE("more metrics in the report need more evidence each", "[judge][pairs]") {
  const auto m = metric(Better::higher, 0.9, 6);
  CHECK(judge(m, 0).high < judge(m, 19).high);
}

TEST_CASE("A/A pairs sharpen the noise and refuse a machine that differs from itself", "[judge][pairs]") {
  auto m = metric(Better::higher, 0.9, 5);
  const auto without = judge(m);
  for (int i = 0; i < 3; ++i) {
    m.aa_first.push_back(1000 * wobble(100 + i));
    m.aa_second.push_back(1000 * wobble(200 + i));
  }
  const auto with = judge(m);
  CHECK(with.high - with.low < without.high - without.low);
  CHECK(with.beyond_aa);
  CHECK(aa_refusals(std::vector<PairedMetric>{m}, {}).at(0).empty());
}

TEST_CASE("A/A: one wild pair among three counts as noise, two refuse the metric and only it", "[judge][pairs]") {
  auto m = metric(Better::higher, 0.6, 8);
  m.aa_first = {1000};
  m.aa_second = {600};
  CHECK_FALSE(aa_refusals(std::vector<PairedMetric>{m}, {}).at(0).empty());
  m.aa_first = {1000, 1000, 1000};
  m.aa_second = {600, 1010, 990};
  CHECK(aa_refusals(std::vector<PairedMetric>{m}, {}).at(0).empty());
  auto calm = m;
  calm.aa_second = {1005, 1010, 990};
  CHECK(judge(m).high - judge(m).low > judge(calm).high - judge(calm).low);  // the wild pair is not forgotten
  m.aa_second = {600, 1010, 1500};
  const auto refusals = aa_refusals(std::vector<PairedMetric>{m, calm}, {});
  CHECK(refusals.at(0).find("differs from itself by up to 66.7 % in 3 A/A pairs") != std::string::npos);
  CHECK(refusals.at(1).empty());
  m.refused = refusals.at(0);
  const auto results = judge_pairs(std::vector<PairedMetric>{m, calm}, {});
  CHECK(results[0].verdict == PairVerdict::no_verdict);
  CHECK(results[0].reason == m.refused);
  CHECK_FALSE(results[0].open);
  CHECK(results[1].verdict == PairVerdict::worse);
  CHECK(settled(results));
}

TEST_CASE("arms of one report share the error, as its metrics do", "[judge][pairs]") {
  const std::vector<PairedMetric> one = {metric(Better::higher, 0.9, 6)};
  PairRules five;
  five.comparisons = 5;
  CHECK(judge_pairs(one, five)[0].high == Approx(judge(one[0], 4).high));
}

TEST_CASE("a metric that one side does not have is named so, and is not waited for", "[judge][pairs]") {
  PairedMetric m{"x", Better::higher, {}, {}, {}, {}, 1, 0, {}};
  CHECK(judge(m).reason == "base has no such number");
  CHECK(judge(m).open);
  m.missing_base = 3;
  CHECK_FALSE(judge(m).open);
  CHECK(std::isnan(judge(m).index));
  m = {"x", Better::higher, {}, {}, {}, {}, 0, 3, {}};
  CHECK(judge(m).reason == "head has no such number");
}

TEST_CASE("values without a logarithm take no part, not even in the figures shown", "[judge][pairs]") {
  auto m = metric(Better::lower, 1.0, 6);
  m.base.push_back(0);
  m.head.push_back(1000);
  m.base.push_back(-5);
  m.head.push_back(1000);
  const auto r = judge(m);
  CHECK(r.pairs == 6);
  CHECK(r.base > 900);
  CHECK(r.index == Approx(100).margin(5));
}

TEST_CASE("nothing on one side is no verdict with a reason, and nothing divides by zero", "[judge][pairs]") {
  PairedMetric m{"x", Better::higher, {}, {}, {}, {}, 2, 2, {}};
  CHECK(judge(m).verdict == PairVerdict::no_verdict);
  CHECK_FALSE(judge(m).reason.empty());
  m.base = {5, 5, 5, 5};
  m.head = {5, 5, 5, 5};
  const auto equal = judge(m);  // no spread at all: identical numbers
  CHECK(std::isfinite(equal.change));
  CHECK(equal.verdict != PairVerdict::worse);
  m.head = {std::numeric_limits<double>::quiet_NaN(), 5, 5, 5};
  CHECK(judge(m).pairs == 3);
  CHECK(judge_pairs({}, {}).empty());
}

TEST_CASE("the half-width agrees with its definition: the e-value at its edge is 1/alpha", "[judge][pairs]") {
  const int n = 9;
  const double sd = 0.03, alpha = 0.0005, g = 2;
  const double half = always_valid_half_width(n, n - 1, sd, alpha, g);
  const double t2 = n * half * half / (sd * sd) / (n - 1);
  const double e = std::pow((1 + t2) / (1 + t2 / (1 + n * g)), 0.5 * n) / std::sqrt(1 + n * g);
  CHECK(e == Approx(1 / alpha).epsilon(1e-9));
  CHECK(std::isinf(always_valid_half_width(1, 0, sd, alpha, g)));
}

TEST_CASE("Hodges-Lehmann ignores one wild pair", "[judge][pairs]") {
  const std::vector<double> values = {1, 2, 3, 4, 1000};
  CHECK(hodges_lehmann(values) == Approx(3.0).margin(0.6));
  CHECK(std::isnan(hodges_lehmann(std::vector<double>{})));
}

TEST_CASE("a metric that the budget can't decide is given up, with its noise; one that it can is not",
          "[judge][pairs]") {
  PairedMetric m{"p99", Better::lower, {}, {}, {}, {}, 0, 0, {}};
  for (int i = 0; i < 26; ++i) {
    m.base.push_back(1000);
    m.head.push_back(1000 * std::exp(0.3 * ((i % 2 == 0) ? 1 : -1)));
  }
  PairRules rules;
  CHECK(judge_pairs(std::vector<PairedMetric>{m}, rules)[0].open);  // no budget said
  rules.max_pairs = 40;
  const auto noisy = judge_pairs(std::vector<PairedMetric>{m}, rules)[0];
  CHECK_FALSE(noisy.open);
  CHECK(noisy.verdict == PairVerdict::no_verdict);
  CHECK(noisy.reason.find("40 pairs would not decide it") != std::string::npos);
  rules.max_pairs = 5000;
  CHECK(judge_pairs(std::vector<PairedMetric>{m}, rules)[0].open);
  rules.max_pairs = 40;
  for (const double ratio : {0.9, 0.93, 0.95, 0.97}) {  // 3 % of noise a pair: within reach
    const auto r = judge_pairs(std::vector<PairedMetric>(20, metric(Better::higher, ratio, 8)), rules)[0];
    CHECK(r.open == (r.verdict == PairVerdict::no_verdict));
  }
}
