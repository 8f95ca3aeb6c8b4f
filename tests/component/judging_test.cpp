// Judging with the store: people's decisions reach the judge, and a state that can't be read has a way out.
#include <cstdlib>

#include "gate/judging.hpp"
#include "store/transfer.hpp"
#include "tests/component/store_support.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::test;

namespace {
template <class T>
T value(Result<T> result) {
  if (!result) {
    FAIL(result.error().text());
    std::abort();  // FAIL throws; the compiler can't see it
  }
  return std::move(*result);
}

struct Imported {
  std::string database;
  std::unique_ptr<store::Store> store;
  config::Config config;
};

// Twenty-one nights of one metric that gets a third of a per cent better each night, not judged yet.
Imported imported() {
  TestCluster& cluster = TestCluster::shared();
  Imported out;
  out.database = cluster.fresh_database();
  formats::History history;
  Instant time = *parse_rfc3339("2026-01-01T02:00:00Z");
  for (int night = 0; night < 21; ++night, time += std::chrono::hours(24)) {
    history.rows.push_back({time, "c" + std::to_string(night), "bench1", metric_a, "req/s", formats::Better::higher,
                            100.0 + night / 3.0, ""});
  }
  value(store::import_history(cluster.options(out.database), "coraine", history));
  out.store = value(store::open(cluster.options(out.database)));
  out.config.project = "coraine";
  return out;
}

store::Decision decision_of(store::DecisionKind kind, store::Sequence night) {
  store::Decision out;
  out.kind = kind;
  out.project = "coraine";
  out.machine = kind == store::DecisionKind::pin ? "" : "bench1";
  out.night = night;
  out.reason = "v2.0";
  out.at = *parse_rfc3339("2026-02-01T08:00:00Z");
  return out;
}

double pinned_in(const std::vector<judging::JudgedNight>& nights) {
  return nights.back().verdict.metrics.at(0).numbers.pinned;
}
}  // namespace

TEST_CASE("a release that is pinned becomes what creep is measured against", "[judging]") {
  auto at = imported();
  const double before = pinned_in(value(judging::judge_nights(*at.store, at.config, "bench1", 0)));
  value(at.store->put_decision(decision_of(store::DecisionKind::pin, 20)));
  const auto again = value(judging::judge_nights(*at.store, at.config, "bench1", 20));
  CHECK(pinned_in(again) < before - 0.005);  // log, smaller is better: the level of the last nights, not of the first
}

TEST_CASE("a kept state that can't be read is told with a way out that works", "[judging]") {
  auto at = imported();
  value(judging::judge_nights(*at.store, at.config, "bench1", 0));
  ask(at.database, "UPDATE gate_snapshot SET body = 'of another time' RETURNING night_id");
  const auto failed = judging::judge_nights(*at.store, at.config, "bench1", 20);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Code::no_verdict);
  CHECK(failed.error().text().find("nightgate undo") != std::string::npos);
  value(at.store->put_decision(decision_of(store::DecisionKind::void_night, 1)));
  CHECK(value(judging::judge_nights(*at.store, at.config, "bench1", 1)).size() == 20);
  auto undo = decision_of(store::DecisionKind::undo, 0);
  undo.at += std::chrono::minutes(1);
  value(at.store->put_decision(undo));
  CHECK(value(judging::judge_nights(*at.store, at.config, "bench1", 1)).size() == 21);
}

TEST_CASE("nights that are imported before those there are judged, also when the import was killed before",
          "[judging]") {
  auto at = imported();
  REQUIRE(value(judging::judge_nights(*at.store, at.config, "bench1", 0)).size() == 21);
  formats::History earlier;
  Instant time = *parse_rfc3339("2025-11-01T02:00:00Z");
  for (int night = 0; night < 10; ++night, time += std::chrono::hours(24)) {
    earlier.rows.push_back({time, "e" + std::to_string(night), "bench1", metric_a, "req/s", formats::Better::higher,
                            99.0 + night % 2, ""});
  }
  value(store::import_history(TestCluster::shared().options(at.database), "coraine", earlier));
  const auto judged = value(judging::judge_nights(*at.store, at.config, "bench1", 0));  // as if nobody knew of them
  REQUIRE(judged.size() == 31);
  CHECK(judged.front().verdict.night.sequence < 1);
  CHECK(judged.at(10).verdict.metrics.at(0).verdict == judge::Verdict::good);  // no warming up any more
  CHECK(value(judging::judge_nights(*at.store, at.config, "bench1", 0)).empty());
}

TEST_CASE("a metric that an imported night lacks has no verdict by name", "[judging]") {
  auto at = imported();
  formats::History more;
  Instant time = *parse_rfc3339("2026-01-22T02:00:00Z");
  for (int night = 0; night < 2; ++night, time += std::chrono::hours(24)) {
    more.rows.push_back({time, "m", "bench1", "default.other.rate", "req/s", formats::Better::higher, 5, ""});
  }
  value(store::import_history(TestCluster::shared().options(at.database), "coraine", more));
  const auto judged = value(judging::judge_nights(*at.store, at.config, "bench1", 0));
  const auto& lacking = judged.at(21).verdict.metrics;
  REQUIRE(lacking.size() == 2);
  CHECK(lacking[1].metric == metric_a);
  CHECK(lacking[1].verdict == judge::Verdict::no_verdict);
}

TEST_CASE("one at a time judges a machine", "[judging]") {
  auto at = imported();
  auto other = value(store::open(TestCluster::shared().options(at.database)));
  auto held = value(other->hold_judging("coraine", "bench1", std::chrono::seconds(1)));
  REQUIRE(held);
  const auto refused = at.store->hold_judging("coraine", "bench1", std::chrono::seconds(0));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::busy);
  CHECK(value(at.store->hold_judging("coraine", "bench2", std::chrono::seconds(0))) == nullptr);  // no such machine
  held.reset();
  CHECK(value(at.store->hold_judging("coraine", "bench1", std::chrono::seconds(0))) != nullptr);
}

TEST_CASE("a long history keeps the states that are kept of it anyhow, and judging again starts from them",
          "[judging]") {
  TestCluster& cluster = TestCluster::shared();
  const auto database = cluster.fresh_database();
  formats::History history;
  Instant time = *parse_rfc3339("2025-01-01T02:00:00Z");
  for (int night = 0; night < 200; ++night, time += std::chrono::hours(24)) {
    history.rows.push_back({time, "c" + std::to_string(night), "bench1", metric_a, "req/s", formats::Better::higher,
                            100.0 + night % 3, ""});
  }
  value(store::import_history(cluster.options(database), "coraine", history));
  const auto store = value(store::open(cluster.options(database)));
  config::Config config;
  config.project = "coraine";
  const auto once = value(judging::judge_nights(*store, config, "bench1", 0));
  CHECK(ask(database, "SELECT count(*) FROM gate_snapshot") == "45");  // 5 thirtieth nights before the last 40
  const auto again = value(judging::judge_nights(*store, config, "bench1", 100));
  REQUIRE(again.size() == 110);  // from the state after night 90
  CHECK(again.back().verdict.metrics.at(0).baseline == once.back().verdict.metrics.at(0).baseline);
}
