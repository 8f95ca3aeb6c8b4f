// Histories in and out, backup and restore, and folding old samples away.
#include <cstdlib>

#include "gate/base/log.hpp"
#include "store/backup.hpp"
#include "store/retention.hpp"
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

formats::History history_of(int nights, const std::string& machine, const std::string& first_day) {
  formats::History out;
  Instant time = *parse_rfc3339(first_day + "T02:00:00Z");
  for (int night = 0; night < nights; ++night, time += std::chrono::hours(24)) {
    out.rows.push_back({time, "c" + std::to_string(night), machine, metric_a, "req/s", formats::Better::higher,
                        100.0 + night / 3.0, "x8"});
    out.rows.push_back({time, "c" + std::to_string(night), machine, metric_b, "ms", formats::Better::lower, 2.5, "x8"});
  }
  formats::sort_rows(out.rows);
  return out;
}
}  // namespace

TEST_CASE("what was imported is exported as it was, and importing it twice adds nothing", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  const auto options = cluster.options(cluster.fresh_database());
  auto history = history_of(5, "bench1", "2026-01-01");
  const auto other = history_of(3, "", "2026-02-01");  // of no machine in particular
  history.rows.insert(history.rows.end(), other.rows.begin(), other.rows.end());
  formats::sort_rows(history.rows);
  const auto first = value(store::import_history(options, "coraine", history));
  CHECK(first.nights == 8);
  CHECK(first.rows == 16);
  CHECK(first.first.at("bench1") == 1);
  const auto again = value(store::import_history(options, "coraine", history));
  CHECK(again.nights == 0);
  CHECK(again.already_there == 8);
  CHECK(value(store::export_history(options, "coraine", "")).rows == history.rows);
  CHECK(value(store::export_history(options, "coraine", "bench1")).rows.size() == 10);

  auto store = value(store::open(options));
  const auto inputs = value(store->inputs_after("coraine", "bench1", 0));
  REQUIRE(inputs.size() == 5);
  CHECK(inputs[4].input.readings.at(1).value == 100 + 4 / 3.0);
  CHECK(value(store->night("coraine", "bench1", 1))->imported);

  SECTION("later nights follow, earlier ones go below, in between is refused whole") {
    CHECK(value(store::import_history(options, "coraine", history_of(2, "bench1", "2026-03-01"))).first.at("bench1") ==
          6);
    CHECK(value(store::import_history(options, "coraine", history_of(2, "bench1", "2025-03-01"))).first.at("bench1") ==
          -2);
    const auto nights = value(store->nights("coraine", "bench1", store::newest, 100));
    REQUIRE(nights.size() == 9);
    for (std::size_t i = 1; i < nights.size(); ++i) CHECK(nights[i].started < nights[i - 1].started);
    const auto between = store::import_history(options, "coraine", history_of(2, "bench1", "2026-02-10"));
    REQUIRE_FALSE(between);
    CHECK(between.error().code == Code::usage);
    CHECK(value(store->nights("coraine", "bench1", store::newest, 100)).size() == 9);
  }
  SECTION("a metric that turns its direction is refused, and nothing of the file is kept") {
    auto turned = history_of(2, "bench7", "2026-03-01");
    for (auto& row : turned.rows) row.better = formats::Better::higher;
    const auto refused = store::import_history(options, "coraine", turned);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Catch::Contains(metric_b));
    CHECK(value(store->nights("coraine", "bench7", store::newest, 10)).empty());
  }
  SECTION("measured nights follow imported ones") {
    judged_night(*store, 100, 2.5);
    CHECK(value(store->nights("coraine", "bench1", store::newest, 1)).at(0).sequence == 6);
  }
}

TEST_CASE("old samples are folded away, medians and younger samples stay", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  const std::string database = cluster.fresh_database();
  const auto options = cluster.options(database);
  auto store = value(store::open(options));
  const std::string old_run = make_uuid(), young_run = make_uuid(), running = make_uuid();
  for (const auto& uuid : {old_run, young_run, running}) {
    auto run = some_run(uuid, store::RunKind::compare);
    if (uuid == young_run) run.started += std::chrono::hours(24 * 40);
    REQUIRE(store->begin_run(run));
    for (int start = 0; start < 3; ++start) REQUIRE(store->put_measurement(some_measurement(uuid, start)));
    if (uuid != running) REQUIRE(store->finish_run(uuid, store::RunState::done, run.started, ""));
  }
  const Instant limit = some_run("").started + std::chrono::hours(24);
  const auto would = value(store::fold_samples(options, "coraine", limit, true));
  CHECK(would.measurements == 3);
  CHECK(would.samples == 18);
  CHECK(ask(database, "SELECT count(*) FROM sample") == "54");
  const auto folded = value(store::fold_samples(options, "coraine", limit, false));
  CHECK(folded.measurements == 3);
  CHECK(folded.repeats == 9);
  CHECK(folded.samples == 18);
  CHECK(value(store::fold_samples(options, "coraine", limit, false)).measurements == 0);
  const auto left = value(store->measurements(old_run));
  REQUIRE(left.size() == 3);
  CHECK(left[0].folded);
  CHECK(left[0].repeats.empty());
  CHECK(left[0].values.at("rate").median == 105);
  CHECK(value(store->measurements(young_run)).at(0).repeats.size() == 3);
  CHECK(value(store->measurements(running)).at(0).repeats.size() == 3);
  // A late delivery of the same measurement does not bring its samples back.
  REQUIRE(store->put_measurement(some_measurement(old_run, 0)));
  CHECK(value(store->measurements(old_run)).at(0).repeats.empty());
}

TEST_CASE("a backup is proven by restoring it, and restores to the same", "[store][backup]") {
  log::set_level(log::Level::warning);
  TestCluster& cluster = TestCluster::shared();
  const TempDir directory = value(TempDir::make("ng-backup"));
  const fs::path file = directory.path() / "nightgate.dump";
  TempDir state = value(TempDir::make("ng-embedded"));
  store::OpenOptions options;
  options.state = state.path();
  {
    auto store = value(store::open(options));
    for (int night = 0; night < 3; ++night) judged_night(*store, 100 + night, 2.5);
  }
  const auto made = value(store::backup(options, file));
  CHECK(made.verified);
  CHECK(made.bytes > 1000);
  CHECK(made.tables.at("sample").rows == 18);
  CHECK(store::backup(options, file).error().code == Code::usage);  // overwrites nothing
  CHECK((fs::status(file).permissions() & fs::perms(077)) == fs::perms::none);

  auto empty = cluster.options(cluster.empty_database());
  const auto back = value(store::restore(empty, file));
  CHECK(back.verified);
  CHECK(back.tables == made.tables);
  auto store = value(store::open(empty));
  CHECK(value(store->nights("coraine", "bench1", store::newest, 10)).size() == 3);
  judged_night(*store, 105, 2.5);  // and goes on: numbers given by the database don't collide
  CHECK(value(store->nights("coraine", "bench1", store::newest, 1)).at(0).sequence == 4);
  CHECK(store::restore(empty, file).error().code == Code::usage);  // not empty any more

  auto text = value(read_file(file));
  REQUIRE(write_file(file, text.substr(0, text.size() / 2)));
  auto another = cluster.options(cluster.empty_database());
  CHECK_FALSE(store::restore(another, file));
  const auto after = cluster.connect("postgres");
  CHECK_FALSE(value(after->run("SELECT 1")).empty());
  auto clean = value(store::open(another));  // nothing half restored: it gets a fresh schema
  CHECK(value(clean->projects()).empty());
  CHECK(store::restore(another, directory.path() / "none").error().code == Code::not_found);
  std::error_code error;
  fs::remove_all(fs::weakly_canonical(state.path() / "postgres", error), error);
  log::set_level(log::Level::info);
}
