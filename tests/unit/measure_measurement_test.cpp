#include "gate/measure/measurement.hpp"

#include "tests/support/catch.hpp"

using namespace nightgate::measure;

namespace {

Repeat repeat(int number, double rate, double p99, bool voided = false) {
  Repeat out;
  out.number = number;
  out.voided = voided;
  out.samples = {{"p99", p99}, {"rate", rate}};
  return out;
}

}  // namespace

TEST_CASE("a measurement's value is the median of its valid repeats, metric by metric", "[measure]") {
  Measurement measured;
  CHECK_FALSE(measured.value("rate"));
  measured.repeats = {repeat(0, 100, 3), repeat(1, 900, 1, true), repeat(1, 300, 2), repeat(2, 200, 9)};
  CHECK(measured.value("rate") == 200);
  CHECK(measured.value("p99") == 3);
  CHECK_FALSE(measured.value("p50"));
  measured.repeats.push_back(repeat(3, 400, 4));
  CHECK(measured.value("rate") == 250);
  CHECK(measured.spread("p50") == 0);
  CHECK(measured.spread("rate") == Approx(300.0 / 250));  // 100 to 400; the void 900 does not count
}

TEST_CASE("figures shown together come from one repeat: the lower median by rate", "[measure]") {
  Measurement measured;
  CHECK(measured.shown() == nullptr);
  measured.repeats = {repeat(0, 100, 3), repeat(1, 250, 1, true), repeat(1, 300, 2), repeat(2, 200, 9)};
  REQUIRE(measured.shown() != nullptr);
  CHECK(measured.shown()->number == 2);
  measured.repeats.push_back(repeat(3, 400, 4));  // of 100, 200, 300, 400 the lower median is 200
  CHECK(measured.shown()->number == 2);
}

TEST_CASE("without a rate the first metric decides what is shown", "[measure]") {
  Measurement measured;
  for (const double value : {5.0, 1.0, 3.0}) {
    Repeat each;
    each.number = static_cast<int>(value);
    each.samples = {{"seconds", value}, {"other", 10 - value}};
    measured.repeats.push_back(each);
  }
  REQUIRE(measured.shown() != nullptr);
  CHECK(measured.shown()->number == 3);
}
