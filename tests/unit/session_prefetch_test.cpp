// Which images are pulled ahead.
#include <algorithm>

#include "bisect/session/prefetch.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using session::likely_next;

namespace {

search::Problem problem_of(int merges) {
  search::Problem problem;
  problem.merges = merges;
  problem.shift = 0.3;
  problem.noise = 0.03;
  return problem;
}

// Noise-free measurements of whatever is asked for.
void measure(const search::Problem& problem, int culprit, const search::NextBlock& block,
             std::vector<search::Observation>& seen) {
  int order = 0;
  for (const int point : block.points) {
    seen.push_back({block.block, block.machine, order++, point, point >= culprit ? problem.shift : 0.0, block.phase,
                    block.candidate});
  }
}

}  // namespace

TEST_CASE("before the search its quartiles are pulled ahead", "[session]") {
  const auto problem = problem_of(64);
  const auto ahead = likely_next(problem, search::decide(problem, {}), 3);
  REQUIRE(ahead.size() == 3);
  // What the first block of the search then asks for, when the ends differ.
  std::vector<search::Observation> seen;
  auto decision = search::decide(problem, seen);
  while (decision.next.front().phase == search::Phase::reproduce) {
    measure(problem, 40, decision.next.front(), seen);
    decision = search::decide(problem, seen);
  }
  for (const int point : ahead) {
    const auto& asked = decision.next.front().points;
    CHECK(std::find(asked.begin(), asked.end(), point) != asked.end());
  }
}

TEST_CASE("what is pulled ahead is inside the range, has a target and is not in the block", "[session]") {
  auto problem = problem_of(64);
  problem.available.assign(65, true);
  for (int point = 5; point < 64; point += 5) problem.available[static_cast<std::size_t>(point)] = false;
  for (const int culprit : {1, 17, 64}) {
    std::vector<search::Observation> seen;
    for (auto decision = search::decide(problem, seen); !decision.next.empty();
         decision = search::decide(problem, seen)) {
      const auto& block = decision.next.front();
      const auto ahead = likely_next(problem, decision, 3);
      CHECK(ahead.size() <= 3);
      for (const int point : ahead) {
        INFO("culprit " << culprit << ", point " << point);
        CHECK((point > 0 && point < 64));
        CHECK(problem.available[static_cast<std::size_t>(point)]);
        CHECK(std::find(block.points.begin(), block.points.end(), point) == block.points.end());
      }
      measure(problem, culprit, block, seen);
    }
  }
}

TEST_CASE("points of one digest are pulled once, a finished bisect pulls nothing", "[session]") {
  auto problem = problem_of(8);
  problem.same_as = {0, 1, 2, 2, 2, 2, 6, 7, 8};
  const auto ahead = likely_next(problem, search::decide(problem, {}), 3);
  for (const int point : ahead) CHECK(problem.same_as[static_cast<std::size_t>(point)] == point);
  CHECK(std::adjacent_find(ahead.begin(), ahead.end()) == ahead.end());
  CHECK(likely_next(problem, search::Decision{}, 3).empty());
}
