#include "bisect/search/image_fit.hpp"
#include "bisect/search/refine.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/search_drive.hpp"

using namespace nightgate::search;
using namespace nightgate::search::test;

namespace {

// Twelve blocks of both ends and the images 7 to 10; image 9 lies at `level` (in shifts), those after it are slow.
std::vector<Observation> around(double level) {
  std::vector<Observation> log;
  Random random(4);
  for (int block = 0; block < 12; ++block) {
    int order = 0;
    for (const int point : {0, 7, 8, 9, 10, 16}) {
      const double at = point < 9 ? 0.0 : point == 9 ? level : 1.0;
      log.push_back({block, 0, order++, point, 0.4 * at + 0.1 * random.normal(), Phase::search, 0});
    }
  }
  return log;
}

State state_of(const Problem& problem, const std::vector<Observation>& log) {
  EvidenceCache cache(problem);
  return make_state(problem, in_order(problem, log), 1000, cache);
}

}  // namespace

TEST_CASE("repeats of an image half way up make the first look sure, the second not", "[search]") {
  const Problem problem = problem_of(16);
  const State state = state_of(problem, around(0.68));
  CHECK(state.belief->of(8, 9) > 0.99);
  const Belief second = refine(state);
  CHECK(second.of(8, 9) > 0.5);
  CHECK(second.of(8, 9) < 0.97);
  CHECK(second.of(9, 10) > 0.02);
  CHECK(second.no_shift() == state.belief->no_shift());
  double sum = 0;
  for (const double p : second.posterior()) sum += p;
  CHECK(sum == Approx(1.0).margin(1e-9));
}

TEST_CASE("an image that stands clearly on one side leaves no doubt in either look", "[search]") {
  const Problem problem = problem_of(16);
  const State slow = state_of(problem, around(1.0));
  CHECK(refine(slow).of(8, 9) > 0.99);
  const State fast = state_of(problem, around(0.0));
  CHECK(refine(fast).of(9, 10) > 0.99);
}

TEST_CASE("a range is answered when only the scatter of images keeps two merges apart", "[search]") {
  int ranges = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {  // image 9, the culprit's, lies exactly half way
    Problem problem = problem_of(16);
    problem.seed = seed;
    const Measure clean = broker(9, 0.4, 0.1, seed);
    const Decision end = drive(
        problem, [&](const NextBlock& block, int point) { return *clean(block, point) - (point == 9 ? 0.2 : 0.0); });
    if (end.answer.outcome != Outcome::range) continue;
    ++ranges;
    CHECK(end.answer.culprit == 0);
    CHECK(end.answer.range.first <= 9);
    CHECK(end.answer.range.last >= 9);
    CHECK(end.answer.range.last - end.answer.range.first <= 2);
    CHECK(end.answer.probability >= 0.99);
  }
  CHECK(ranges >= 2);
}

TEST_CASE("the fit takes many images and wild values without losing its footing", "[search]") {
  Problem problem = problem_of(200);
  problem.max_measurements = 100000;
  Random random(9);
  std::vector<Observation> log;
  for (int i = 0; i < 900; ++i)
    log.push_back({i / 9, 0, i % 9, (i * 37) % 201, random.uniform() < 0.1 ? 50.0 : random.normal(), Phase::search, 0});
  const State state = state_of(problem, log);
  CHECK(collect_images(state).images == 16);
  const Belief second = refine(state);
  for (const double p : second.posterior()) CHECK((p >= 0 && p <= 1));
}
