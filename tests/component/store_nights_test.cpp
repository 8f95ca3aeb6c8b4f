// Nights: begun, continued after a crash, attempted again, judged, judged again.
#include <thread>

#include <cstdlib>

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
#define NG_OK(...)                                    \
  do {                                                \
    const auto ng_done = (__VA_ARGS__);               \
    if (!ng_done) FAIL_CHECK(ng_done.error().text()); \
  } while (false)

// A judgement of a night that trips (or not) on metric_a.
store::Judgement judgement_of(const std::string& run, const std::string& snapshot) {
  store::Judgement out;
  out.run = run;
  out.snapshot = snapshot;
  store::Verdict verdict;
  verdict.metric = metric_a;
  verdict.verdict = "good";
  verdict.state = "steady";
  verdict.value = 100;
  out.verdicts.push_back(verdict);
  return out;
}
store::TripGroup group_of(store::Sequence first, store::Sequence last_good, const std::string& metric, double change) {
  store::TripGroup out;
  out.first = first;
  out.last_good = last_good;
  store::Trip trip;
  trip.metric = metric;
  trip.kind = "step";
  trip.change = change;
  out.trips.push_back(trip);
  return out;
}
}  // namespace

TEST_CASE("a night that was killed is continued with what it has", "[store]") {
  auto store = fresh_store();
  const auto first = value(store->begin_night(some_run(make_uuid())));
  CHECK(first.sequence == 1);
  CHECK_FALSE(first.resumed);
  CHECK(first.state == store::NightState::measuring);
  NG_OK(store->put_measurement(some_measurement(first.run, 0)));

  // The next start comes with a run of its own and is given the old one.
  const auto again = value(store->begin_night(some_run(make_uuid())));
  CHECK(again.resumed);
  CHECK(again.sequence == 1);
  CHECK(again.run == first.run);
  CHECK(value(store->measurements(again.run)).size() == 1);

  NG_OK(store->put_readings(first.run, some_input(100, 2.5), some_metrics()));
  const auto measured = value(store->begin_night(some_run(make_uuid())));
  CHECK(measured.resumed);
  CHECK(measured.state == store::NightState::measured);
  value(store->put_judgement(judgement_of(first.run, "s1")));

  const auto second = value(store->begin_night(some_run(make_uuid())));
  CHECK_FALSE(second.resumed);
  CHECK(second.sequence == 2);
  NG_OK(store->set_night(second.run, store::NightState::no_verdict, "no engine"));
  CHECK(value(store->night("coraine", "bench1", 2))->reason == "no engine");
  CHECK(value(store->begin_night(some_run(make_uuid()))).sequence == 3);
  // A judged night is not undone by a late "no verdict".
  NG_OK(store->set_night(first.run, store::NightState::no_verdict, "late"));
  CHECK(value(store->night("coraine", "bench1", 1))->state == store::NightState::judged);
}

TEST_CASE("with its night a run is over, also when nobody lived to say so", "[store]") {  // found by killing
  std::string database;
  auto store = fresh_store(&database);
  const auto state_of = [&](const std::string& run) {
    return ask(database,
               "SELECT state || coalesce(' ' || (ended > started)::text, '') FROM run WHERE uuid = '" + run + "'");
  };
  const auto judged = judged_night(*store, 100, 2.5);
  CHECK(state_of(judged) == "done true");
  const auto closed = store->begin_night(some_run(make_uuid()));
  REQUIRE(closed);
  CHECK(state_of(closed->run) == "running");
  REQUIRE(store->set_night(closed->run, store::NightState::no_verdict, "broken"));
  CHECK(state_of(closed->run) == "failed true");
  const auto again = store->begin_night(some_run(make_uuid()), 2);
  REQUIRE(again);
  const auto third = store->begin_night(some_run(make_uuid()), 2);  // the second attempt was killed
  REQUIRE(third);
  CHECK(ask(database, "SELECT count(*) FROM run WHERE state = 'running'") == "1");
}

TEST_CASE("nights of two machines are numbered apart, also when begun at once", "[store]") {
  std::string database;
  auto store = fresh_store(&database);
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int machine = 0; machine < 4; ++machine) {
    threads.emplace_back([&, machine] {
      auto mine = store::open(TestCluster::shared().options(database));
      for (int night = 0; mine && night < 5; ++night) {
        store::Run run = some_run(make_uuid());
        run.machine = "bench" + std::to_string(machine % 2);
        auto begun = (*mine)->begin_night(run);
        if (!begun || !(*mine)->put_measurement(some_measurement(begun->run, 10 * machine + night)) ||
            !(*mine)->set_night(begun->run, store::NightState::no_verdict, "")) {
          ++failures;
        }
      }
      if (!mine) ++failures;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failures == 0);
  for (const char* machine : {"bench0", "bench1"}) {
    const auto nights = value(store->nights("coraine", machine, store::newest, 100));
    REQUIRE_FALSE(nights.empty());
    for (std::size_t i = 0; i < nights.size(); ++i) CHECK(nights[i].sequence == static_cast<int>(nights.size() - i));
  }
}

TEST_CASE("a further attempt replaces a night's readings and keeps the old run", "[store]") {
  auto store = fresh_store();
  const std::string old_run = judged_night(*store, 100, 2.5);
  judged_night(*store, 101, 2.5);
  const auto attempt = value(store->begin_night(some_run(make_uuid()), 1));
  CHECK(attempt.sequence == 1);
  CHECK(attempt.attempt == 2);
  CHECK(attempt.run != old_run);
  CHECK(attempt.started == value(store->run(old_run))->started);
  CHECK(value(store->begin_night(some_run(make_uuid()), 1)).resumed);
  NG_OK(store->put_measurement(some_measurement(attempt.run, 0)));
  NG_OK(store->put_readings(attempt.run, some_input(90, 2.5), some_metrics()));
  // A straggler of the first attempt changes nothing any more.
  NG_OK(store->put_readings(old_run, some_input(1, 1), some_metrics()));
  const auto inputs = value(store->inputs_after("coraine", "bench1", 0));
  REQUIRE(inputs.size() == 2);
  CHECK(inputs[0].run == attempt.run);
  CHECK(inputs[0].input.readings.at(1).value == 90);
  CHECK(value(store->night_of_run(old_run))->run == attempt.run);
  CHECK(value(store->measurements(old_run)).size() == 1);
  // An unfinished night comes before everything else that is asked for.
  CHECK(value(store->begin_night(some_run(make_uuid()), 77)).sequence == 1);
  NG_OK(store->set_night(attempt.run, store::NightState::no_verdict, "enough"));
  CHECK(store->begin_night(some_run(make_uuid()), 77).error().code == Code::not_found);
}

TEST_CASE("the judge gets back what was measured, bounded by what it asks for", "[store]") {
  auto store = fresh_store();
  for (int night = 1; night <= 3; ++night) judged_night(*store, 100 + night, 2.5);
  const std::string tonight = stored_night(*store, 60, 2.6);
  const auto all = value(store->inputs_after("coraine", "bench1", 2));
  REQUIRE(all.size() == 2);
  const auto& input = all[1].input;
  CHECK(all[1].run == tonight);
  CHECK(input.night.sequence == 4);
  CHECK(input.night.instant == some_run("").started.time_since_epoch().count());
  CHECK(input.machine_class == "cpu x8");
  CHECK(input.digest == "sha256:d1");
  REQUIRE(input.readings.size() == 2);
  CHECK(input.readings[1].metric == metric_a);
  CHECK(input.readings[1].better == judge::Better::higher);
  CHECK(input.readings[1].value == 60);
  CHECK(input.readings[1].definition == "0123456789abcdef");
  REQUIRE(input.readings[1].controls.size() == 1);
  CHECK(input.readings[1].controls[0].digest == "sha256:control");
  CHECK(input.readings[0].better == judge::Better::lower);

  const auto snapshot = value(store->snapshot_before("coraine", "bench1"));
  REQUIRE(snapshot);
  CHECK(snapshot->sequence == 3);
  CHECK(value(store->snapshot_before("coraine", "bench1", 2))->sequence == 1);
  CHECK_FALSE(value(store->snapshot_before("coraine", "bench1", 1)));
  CHECK_FALSE(value(store->snapshot_before("coraine", "bench9")));
  CHECK(value(store->last_judged("coraine", "bench1"))->sequence == 3);
}

TEST_CASE("a metric without a number tonight keeps its reason", "[store]") {
  auto store = fresh_store();
  const auto night = value(store->begin_night(some_run(make_uuid())));
  auto input = some_input(100, store::unknown);
  input.missing.push_back({"plain.query.rate", "broker answered 500"});
  NG_OK(store->put_readings(night.run, input, some_metrics()));
  const auto back = value(store->inputs_after("coraine", "bench1", 0));
  REQUIRE(back.at(0).input.readings.size() == 1);
  REQUIRE(back[0].input.missing.size() == 2);
  CHECK(back[0].input.missing[0].metric == metric_b);
  CHECK(back[0].input.missing[1].reason == "broker answered 500");
}

TEST_CASE("a judgement opens trips once, and judging again takes back what no longer holds", "[store]") {
  auto store = fresh_store();
  std::vector<std::string> runs;
  for (int night = 0; night < 4; ++night) runs.push_back(judged_night(*store, 100, 2.5));
  auto bad = judgement_of(runs[2], "s3");
  bad.opened.push_back(group_of(2, 1, metric_a, -0.3));
  bad.opened[0].trips.push_back({metric_b, "step", -0.1, 2.5, 2.8, 0, store::TripState::open, std::nullopt});
  const auto opened = value(store->put_judgement(bad));
  REQUIRE(opened.size() == 1);
  const auto twice = value(store->put_judgement(bad));
  REQUIRE(twice.size() == 1);
  CHECK(twice[0].id == opened[0].id);
  CHECK(opened[0].tripped == 3);
  CHECK(opened[0].trips.size() == 2);
  CHECK(opened[0].trips[0].metric == metric_a);
  REQUIRE(value(store->open_trips("coraine")).size() == 1);

  auto joined = judgement_of(runs[3], "s4");
  joined.opened.push_back(group_of(2, 1, metric_b, -0.2));
  SECTION("a metric that trips later on the same evidence joins the group") {
    bad.opened[0].trips.pop_back();
    value(store->put_judgement(bad));
    const auto later = value(store->put_judgement(joined));
    REQUIRE(later.size() == 1);
    CHECK(later[0].id == opened[0].id);
    CHECK(later[0].tripped == 3);
    REQUIRE(later[0].trips.size() == 2);
    CHECK(later[0].trips[1].tripped == 4);
  }
  SECTION("recovered by a later night, and open again when that night is judged anew") {
    auto good = judgement_of(runs[3], "s4");
    good.closed.push_back({metric_a, store::TripState::recovered});
    good.closed.push_back({metric_b, store::TripState::recovered});
    value(store->put_judgement(good));
    CHECK(value(store->open_trips("coraine")).empty());
    CHECK(value(store->trip("coraine", opened[0].id))->trips[0].closed == 4);
    value(store->put_judgement(judgement_of(runs[3], "s4")));
    CHECK(value(store->open_trips("coraine")).size() == 1);
  }
  SECTION("withdrawn when its own night is judged anew without it") {
    value(store->put_judgement(judgement_of(runs[2], "s3")));
    CHECK(value(store->open_trips("coraine")).empty());
    CHECK(value(store->trip("coraine", opened[0].id))->trips[0].state == store::TripState::withdrawn);
  }
  SECTION("accepted by a person, and taken back") {
    store::Decision accept;
    accept.kind = store::DecisionKind::accept;
    accept.project = "coraine";
    accept.machine = "bench1";
    accept.metric = metric_a;
    accept.night = 4;
    accept.reason = "price of the new index";
    accept.at = *parse_rfc3339("2026-12-01T08:00:00Z");
    const auto kept = value(store->put_decision(accept));
    CHECK(value(store->put_decision(accept)).id == kept.id);
    auto trips = value(store->open_trips("coraine"));
    REQUIRE(trips.size() == 1);
    CHECK(trips[0].trips[0].state == store::TripState::accepted);
    CHECK(trips[0].trips[1].state == store::TripState::open);
    value(store->put_judgement(bad));  // judged again: stays accepted
    CHECK(value(store->open_trips("coraine")).at(0).trips[0].state == store::TripState::accepted);

    store::Decision undo = accept;
    undo.kind = store::DecisionKind::undo;
    undo.metric = "";
    undo.at += std::chrono::minutes(1);
    const auto back = value(store->put_decision(undo));
    CHECK(back.id == kept.id);
    CHECK(value(store->open_trips("coraine")).at(0).trips[0].state == store::TripState::open);
    CHECK(value(store->decisions("coraine", "bench1")).size() == 2);
    CHECK(value(store->decisions("coraine", "bench1"))[0].undone);
  }
  SECTION("goes on under another name") {
    NG_OK(store->rename_trips("coraine", metric_a, metric_b));  // in this group already
    CHECK(value(store->open_trips("coraine")).at(0).trips[0].metric == metric_a);
    NG_OK(store->rename_trips("coraine", metric_a, "plain.create.renamed"));
    CHECK(value(store->open_trips("coraine")).at(0).trips[0].metric == "plain.create.renamed");
  }
  NG_OK(store->set_trip_answer(opened[0].id, 9, R"({"outcome":"culprit"})"));
  CHECK(value(store->trip("coraine", opened[0].id))->bisect == 9);
  CHECK(store->set_trip_answer(999, 1, "").error().code == Code::not_found);
  CHECK_FALSE(value(store->trip("other", opened[0].id)));
}

TEST_CASE("a voided night leaves the history, visibly, until it is taken back", "[store]") {
  auto store = fresh_store();
  for (int night = 0; night < 3; ++night) judged_night(*store, 100 + night, 2.5);
  store::Decision decision;
  decision.kind = store::DecisionKind::void_night;
  decision.project = "coraine";
  decision.machine = "bench1";
  decision.night = 3;
  decision.reason = "fan was broken";
  decision.at = *parse_rfc3339("2026-12-01T08:00:00Z");
  value(store->put_decision(decision));
  CHECK(value(store->inputs_after("coraine", "bench1", 0)).size() == 2);
  CHECK(value(store->snapshot_before("coraine", "bench1"))->sequence == 2);
  CHECK(value(store->last_judged("coraine", "bench1"))->sequence == 2);
  CHECK(value(store->night("coraine", "bench1", 3))->void_reason == "fan was broken");
  const auto points = value(store->series("coraine", "bench1", {metric_a}, 1));
  REQUIRE(points.size() == 3);
  CHECK(points[2].voided);
  CHECK(points[2].value == 102);
  CHECK(points[0].verdict == "good");
  CHECK(points[0].commit == "c0ffee");
  decision.kind = store::DecisionKind::undo;
  decision.at += std::chrono::minutes(1);
  value(store->put_decision(decision));
  CHECK(value(store->inputs_after("coraine", "bench1", 0)).size() == 3);
  decision.at += std::chrono::minutes(1);
  CHECK(store->put_decision(decision).error().code == Code::not_found);  // nothing left to take back
  decision.kind = store::DecisionKind::void_night;
  decision.night = 99;
  CHECK(store->put_decision(decision).error().code == Code::not_found);
}

TEST_CASE("old snapshots are thinned out, the newest stay", "[store]") {
  std::string database;
  auto store = fresh_store(&database);
  for (int night = 0; night < 95; ++night) judged_night(*store, 100, 2.5);
  CHECK(ask(database, "SELECT count(*) FROM gate_snapshot") == "42");  // 55..95 and the 30th
  CHECK(value(store->snapshot_before("coraine", "bench1", 50))->sequence == 30);
  CHECK(value(store->snapshot_before("coraine", "bench1", 95))->sequence == 94);
}

TEST_CASE("histories: many series at once, without voided nights, as far as asked for", "[store]") {
  auto store = fresh_store();
  for (int night = 0; night < 4; ++night) judged_night(*store, 100 + night, 2.5);
  store::Decision decision;
  decision.kind = store::DecisionKind::void_night;
  const auto first = value(store->nights("coraine", "bench1", store::newest, 1));
  const auto project = first.empty() ? value(store->projects()).front() : std::string("coraine");
  const auto before = value(store->night(project, "bench1", 3));
  REQUIRE(before);
  decision.project = project;
  decision.machine = "bench1";
  decision.night = 2;
  decision.reason = "r";
  decision.at = system_clock().now();
  NG_OK(store->put_decision(decision));
  const auto all = value(store->histories(project, "bench1", {}, 1, store::newest));
  REQUIRE(all.size() == 2);
  CHECK(all[0].metric == metric_b);
  CHECK(all[1].metric == metric_a);
  REQUIRE(all[1].points.size() == 3);
  CHECK(all[1].points[0].value == 100);
  CHECK(all[1].points[1].sequence == 3);
  CHECK(all[1].points[1].verdict == "good");
  const auto one = value(store->histories(project, "bench1", {metric_a}, 3, 3));
  REQUIRE(one.size() == 1);
  REQUIRE(one[0].points.size() == 1);
  CHECK(one[0].points[0].value == 102);
  CHECK(value(store->histories(project, "bench1", {"none"}, 1, store::newest)).empty());
  // A night that was voided is another one to those who compare revisions; the others stay.
  CHECK(value(store->night(project, "bench1", 3))->revision == before->revision);
}
