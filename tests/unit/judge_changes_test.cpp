#include "gate/judge/changes.hpp"

#include "tests/unit/judge_feed.hpp"

using namespace nightgate::judge;
using nightgate::test::wobble;

namespace {
std::vector<double> levels(const std::vector<std::pair<int, double>>& pieces) {
  std::vector<double> out;
  for (const auto& [count, level] : pieces) {
    for (int i = 0; i < count; ++i) out.push_back(level * std::exp(wobble(static_cast<int>(out.size()))));
  }
  return out;
}
}  // namespace

TEST_CASE("hindsight finds levels with size, place and confidence", "[judge]") {
  const auto points = change_points(levels({{40, 1000}, {30, 900}, {50, 1200}}), Better::higher);
  REQUIRE(points.size() == 2);
  CHECK(points[0].index == 40);
  CHECK(points[0].change == nightgate::test::Approx(-0.10).margin(0.01));
  CHECK(points[1].index == 70);
  CHECK(points[1].change == nightgate::test::Approx(1200.0 / 900 - 1).margin(0.015));
  for (const ChangePoint& p : points) {
    CHECK(p.first <= p.index);
    CHECK(p.index <= p.last);
    CHECK(p.last - p.first <= 4);
    CHECK(p.confidence > 0.99);
  }
  const auto other = change_points(levels({{40, 1000}, {30, 900}, {50, 1200}}), Better::lower);
  REQUIRE(other.size() == 2);
  CHECK(other[0].change == nightgate::test::Approx(0.10).margin(0.01));
}

TEST_CASE("hindsight sees nothing in noise, in spikes and in too little data", "[judge]") {
  CHECK(change_points(levels({{300, 1000}}), Better::higher).empty());
  auto spikes = levels({{100, 1000}});
  for (const std::size_t i : {20U, 47U, 48U, 80U}) spikes[i] *= 0.5;
  CHECK(change_points(spikes, Better::higher).empty());
  CHECK(change_points(levels({{3, 1000}, {3, 500}}), Better::higher).empty());
  CHECK(change_points({}, Better::higher).empty());
  const std::vector<double> bad{1, 2, 0, 1, 1, 2, 2, 2, 2, 1};
  CHECK(change_points(bad, Better::higher).empty());
}
