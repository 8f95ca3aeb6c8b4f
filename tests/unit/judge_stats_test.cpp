// Golden numbers: numpy 1.24 and scipy 1.10 (median_abs_deviation, quantile, norm.cdf).
#include "gate/judge/stats.hpp"

#include <algorithm>

#include "tests/unit/judge_feed.hpp"

using namespace nightgate::judge;
namespace {
const std::vector<double> a{3.1, 2.7, 9.4, 2.7, 5.5, 4.1, 3.3, 8.8, 2.9, 3.0};
const std::vector<double> b{5.1, 4.9, 6.2, 7.7, 5.0};
nightgate::test::Approx near(double x) { return nightgate::test::Approx(x).epsilon(1e-12).margin(1e-12); }
}  // namespace

TEST_CASE("robust statistics match scipy", "[judge]") {
  CHECK(median(a) == near(3.2));
  CHECK(mad(a) == near(0.5));
  CHECK(mad(std::vector<double>{1, 2, 3, 4, 100}) == near(1));
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == near(2.5));
  CHECK(quantile(a, 0.1) == near(2.7));
  CHECK(quantile(a, 0.25) == near(2.925));
  CHECK(quantile(a, 0.75) == near(5.15));
  CHECK(quantile(a, 0.9) == near(8.860000000000001));
  CHECK(quantile(a, 0) == near(2.7));
  CHECK(quantile(a, 1) == near(9.4));
  CHECK(standard_deviation(a) == near(2.545693531349671));
  CHECK(mean(a) == near(4.55));
  CHECK(hodges_lehmann_shift(a, b) == near(2.0));
  CHECK(lag1_autocorrelation(a) == near(-0.4569652807543934));
  CHECK(normal_cdf(-3) == near(0.0013498980316300933));
  CHECK(normal_cdf(0.7) == near(0.758036347776927));
  CHECK(normal_cdf(2.33) == near(0.9900969244408357));
  CHECK(mad_to_sigma == near(1.482602218505602));
}
TEST_CASE("statistics never reorder the caller's data and know the empty case", "[judge]") {
  const std::vector<double> copy = a;
  (void)median(a);
  (void)quantile(a, 0.3);
  CHECK(copy == a);
  CHECK(std::isnan(median({})));
  CHECK(std::isnan(mad({})));
  CHECK(std::isnan(quantile({}, 0.5)));
  CHECK(std::isnan(mean({})));
  CHECK(standard_deviation(std::vector<double>{4}) == 0);
  CHECK(lower_median(std::vector<double>{4, 1, 3, 2}) == 2);
}

TEST_CASE("a sorted ring says what the plain functions say of its last values", "[judge]") {
  const std::size_t capacity = GENERATE(1U, 2U, 7U, 30U);
  SortedRing ring(capacity);
  std::vector<double> last;
  for (int i = 0; i < 200; ++i) {
    const double x = std::round(1000 * nightgate::test::wobble(i)) / 1024;  // exact as float, with repeats
    ring.push(x);
    last.push_back(x);
    if (last.size() > capacity) last.erase(last.begin());
    REQUIRE(ring.size() == last.size());
    REQUIRE(ring.median() == near(median(last)));
    REQUIRE(ring.mad() == near(mad(last)));
    REQUIRE(ring.quantile(0.83) == near(quantile(last, 0.83)));
    REQUIRE(ring.max() == *std::max_element(last.begin(), last.end()));
    REQUIRE(ring.oldest(0) == last.front());
    REQUIRE(std::is_sorted(ring.sorted().begin(), ring.sorted().end()));
  }
}

TEST_CASE("the central spread is the standard deviation for normal noise", "[judge]") {
  SortedRing ring(20001);  // the quantiles of a normal, by bisection of normal_cdf
  for (int i = 1; i <= 20001; ++i) {
    double low = -6, high = 6;
    for (int k = 0; k < 50; ++k) {
      const double z = (low + high) / 2;
      (normal_cdf(z) < i / 20002.0 ? low : high) = z;
    }
    ring.push(low);
  }
  CHECK(ring.central_spread() * central_to_sigma == nightgate::test::Approx(1).epsilon(0.002));
  CHECK(ring.mad() * mad_to_sigma == nightgate::test::Approx(1).epsilon(0.002));
}
