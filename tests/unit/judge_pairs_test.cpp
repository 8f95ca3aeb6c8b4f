#include "gate/judge/pairs.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"

using namespace nightgate::judge;

namespace {
// Deterministic "noise" of about 2 %, different for base and head.
double wobble(int i) { return 1 + 0.02 * std::sin(12.9898 * i + 78.233); }

PairedMetric metric(Better better, double ratio, int pairs) {
  PairedMetric m{"create.rate", better, {}, {}, {}, {}, 0};
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
  CHECK(aa_complaint(std::vector<PairedMetric>{m}, {}).empty());
  m.aa_second.back() = 600;
  CHECK(aa_complaint(std::vector<PairedMetric>{m}, {}).find("create.rate") != std::string::npos);
}

TEST_CASE("nothing on one side is no verdict with a reason, and nothing divides by zero", "[judge][pairs]") {
  PairedMetric m{"x", Better::higher, {}, {}, {}, {}, 4};
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
