#include <cmath>
#include <limits>

#include "bisect/search/evidence.hpp"
#include "bisect/search/layout.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/search_drive.hpp"

using namespace nightgate::search;
using namespace nightgate::search::test;

namespace {

void check_sane(const Decision& decision, int merges) {
  double sum = 0;
  for (const double p : decision.answer.posterior) {
    CHECK(std::isfinite(p));
    CHECK(p >= 0);
    sum += p;
  }
  if (!decision.answer.posterior.empty()) CHECK(sum == Approx(1.0).margin(1e-6));
  CHECK(std::isfinite(decision.answer.change));
  CHECK(std::isfinite(decision.answer.shift_now));
  for (const NextBlock& block : decision.next)
    for (const int point : block.points) CHECK((point >= 0 && point <= merges));
}

}  // namespace

TEST_CASE("not a number and infinities count as failed measurements", "[search]") {
  const double bad = GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(), 1e300);
  const Measure healthy = broker(20);
  const Decision end = drive(problem_of(32), [&](const NextBlock& block, int point) -> std::optional<double> {
    if (point == 19) return bad;
    return healthy(block, point);
  });
  check_sane(end, 32);
  CHECK(end.answer.outcome == Outcome::range);
  CHECK(end.answer.range.first == 19);
  CHECK(end.answer.range.last == 20);
}

TEST_CASE("all values equal means no shift", "[search]") {
  const Decision end = drive(problem_of(32), [](const NextBlock&, int) { return std::optional<double>(1.5); });
  check_sane(end, 32);
  CHECK(end.answer.outcome == Outcome::not_reproduced);
}

TEST_CASE("wild values do not end in a wrong name", "[search]") {
  Random random(11);
  Problem problem = problem_of(32);
  problem.max_measurements = 150;
  const Decision end =
      drive(problem, [&](const NextBlock&, int) -> std::optional<double> { return (random.uniform() - 0.5) * 1e6; });
  check_sane(end, 32);
  CHECK(end.answer.outcome != Outcome::culprit);
}

TEST_CASE("thousands of observations that no plan asked for", "[search]") {
  Random random(12);
  std::vector<Observation> log;
  for (int i = 0; i < 5000; ++i)
    log.push_back({i / 7, i % 2, i % 7, static_cast<int>(random.below(70)) - 3, random.normal(),
                   static_cast<Phase>(random.below(4)), static_cast<int>(random.below(80)) - 5});
  Problem problem = problem_of(64);
  check_sane(decide(problem, log), 64);
  problem.max_measurements = 100000;
  check_sane(decide(problem, log), 64);
}

TEST_CASE("problems that make no sense are refused with a sentence", "[search]") {
  const auto refused = [](auto change) {
    Problem problem = problem_of(8);
    change(problem);
    const auto why = invalid(problem);
    CHECK(decide(problem, {}).next.empty());
    return why && !why->empty();
  };
  CHECK(refused([](Problem& p) { p.merges = 0; }));
  CHECK(refused([](Problem& p) { p.merges = -5; }));
  CHECK(refused([](Problem& p) { p.shift = -0.1; }));
  CHECK(refused([](Problem& p) { p.shift = std::nan(""); }));
  CHECK(refused([](Problem& p) { p.noise = 0; }));
  CHECK(refused([](Problem& p) { p.error = 0; }));
  CHECK(refused([](Problem& p) { p.interior = 0; }));
  CHECK(refused([](Problem& p) { p.machines = 0; }));
  CHECK(refused([](Problem& p) { p.available.assign(3, true); }));
  CHECK(refused([](Problem& p) {
    p.available.assign(9, true);
    p.available[0] = false;
  }));
  CHECK(refused([](Problem& p) { p.same_as = {0, 5, 2, 3, 4, 5, 6, 7, 8}; }));
  CHECK(refused([](Problem& p) { p.weight.assign(9, -1.0); }));
}

TEST_CASE("a block's offset cancels in its evidence, and repeated points count twice", "[search]") {
  const std::vector<Theta> grid = make_grid(problem_of(8));
  Block block;
  block.points = {0, 3, 3, 8};
  block.values = {0.1, 0.2, -0.3, 4.1};
  const Evidence plain(block, grid);
  CHECK(plain.patterns() == 4);
  for (double& value : block.values) value += 1024;
  const Evidence moved(block, grid);
  for (std::size_t t = 0; t < grid.size(); ++t)
    for (std::size_t k = 0; k < plain.patterns(); ++k)
      CHECK(moved.log_likelihood(t, k) == Approx(plain.log_likelihood(t, k)).margin(1e-6));
  CHECK(plain.fast_for(1) == 1);
  CHECK(plain.fast_for(3) == 1);
  CHECK(plain.fast_for(4) == 2);
  CHECK(plain.fast_for(8) == 2);
}

TEST_CASE("the layout groups merges by what can be told apart", "[search]") {
  Problem problem = problem_of(10);
  problem.available.assign(11, true);
  problem.available[4] = false;
  problem.same_as = {0, 1, 1, 3, 4, 5, 6, 5, 8, 9, 10};
  const Layout layout = lay_out(problem, {9});
  CHECK(layout.usable == std::vector<int>{0, 1, 3, 5, 8, 10});
  CHECK(layout.untestable == std::vector<int>{9});
  REQUIRE(layout.gaps.size() == 5);
  CHECK(layout.gaps[1].lower == 1);  // merge 2 is innocent, so merge 3 stands alone between points 1 and 3
  CHECK(layout.gaps[1].suspects == 1);
  CHECK(layout.gaps[2].suspects == 2);  // merges 4 and 5: point 4 has no target
  CHECK(layout.gaps[3].lower == 5);     // point 7 is point 5; merges 6 and 7 are innocent
  CHECK(layout.gaps[3].range.first == 8);
  CHECK(layout.gaps[4].range.first == 9);
  CHECK(layout.gaps[4].range.last == 10);
}
