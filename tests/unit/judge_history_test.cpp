// The true events of a real project's nightly on shared runners of several speeds, none of them missed and no other
// trip.
#include <filesystem>
#include <set>

#include "tests/bench/judge_scoring.hpp"
#include "tests/unit/judge_feed.hpp"

using namespace nightgate::judge;

TEST_CASE("the recorded broker history trips exactly where it really got slower", "[judge]") {
  const std::string path = NIGHTGATE_SOURCE_DIR "/../shared/histories/coraine-nightly-long.csv";
  if (!std::filesystem::exists(path)) NG_SKIP("the recorded histories are not beside the source tree");
  const ReplayResult result = replay(nightgate::bench::read_history(path));
  const auto at = [](const char* text) { return nightgate::bench::parse_instant(text); };
  CHECK(result.nights == 41);
  CHECK(result.metrics == 28);
  std::set<std::string> tripped;
  for (const ReplayTrip& t : result.trips) {
    tripped.insert(t.trip.metric);
    CHECK(t.trip.first.instant == at("2026-09-24T21:38:52Z"));
    CHECK(t.trip.tripped.instant == at("2026-09-25T16:02:05Z"));
    REQUIRE(t.recovered.has_value());
    CHECK(t.recovered->instant == at("2026-09-28T10:16:31Z"));
    CHECK(t.trip.change < -0.2);
  }
  CHECK(tripped == std::set<std::string>{"mongoc.create_c50", "mongoc.create_c1", "corDB.create_c50"});
}
