// Bisects, ledger, notifications, and the SQL views that are a contract.
#include <cmath>
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

const Instant noon = *parse_rfc3339("2026-11-30T12:00:00.5Z");

store::BisectStep step_of(const std::string& run, int block, int order, int point) {
  store::BisectStep step;
  step.seen.block = block;
  step.seen.order = order;
  step.seen.point = point;
  step.seen.phase = search::Phase::confirm;
  step.seen.candidate = 4;
  step.seen.value = -0.1 - 0.2;  // has no short decimal form
  step.value = 1.0 / 3.0;
  step.commit = "c" + std::to_string(point);
  step.digest = "sha256:" + std::to_string(point);
  step.machine = "bench1";
  step.run = run;
  step.at = noon;
  return step;
}

}  // namespace

TEST_CASE("a bisect's steps come back in order and to the last bit, however often they are written", "[store]") {
  auto store = fresh_store();
  const std::string run = make_uuid();
  NG_OK(store->begin_run(some_run(run, store::RunKind::bisect)));
  store::Bisect bisect;
  bisect.run = run;
  bisect.metric = metric_a;
  bisect.good = "g";
  bisect.bad = "b";
  bisect.problem = R"({"shift": 0.30000000000000004})";
  bisect.started = noon;
  const auto id = value(store->put_bisect(bisect));
  CHECK(value(store->put_bisect(bisect)) == id);
  for (int time = 0; time < 2; ++time) {
    NG_OK(store->put_bisect_step(id, step_of(run, 1, 0, 5)));
    NG_OK(store->put_bisect_step(id, step_of(run, 0, 1, 9)));
    auto failed = step_of(run, 0, 0, 3);
    failed.seen.value.reset();
    failed.value = store::unknown;
    failed.failure = "did not start";
    NG_OK(store->put_bisect_step(id, failed));
  }
  const auto steps = value(store->bisect_steps(id));
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].seen.point == 3);
  CHECK_FALSE(steps[0].seen.value);
  CHECK(std::isnan(steps[0].value));
  CHECK(steps[0].failure == "did not start");
  CHECK(steps[1].seen.point == 9);
  CHECK(steps[2].seen.block == 1);
  CHECK(steps[2].seen.value == -0.1 - 0.2);
  CHECK(steps[2].value == 1.0 / 3.0);
  CHECK(steps[2].seen.phase == search::Phase::confirm);
  CHECK(steps[2].at == noon);
  CHECK(steps[2].run == run);

  NG_OK(store->update_bisect(id, store::BisectState::finished, R"({"outcome":"culprit","probability":0.99})", noon));
  const auto back = value(store->bisect(id));
  REQUIRE(back);
  CHECK(back->state == store::BisectState::finished);
  CHECK(back->problem == bisect.problem);
  CHECK(back->machine == "bench1");
  CHECK(back->ended == noon);
  CHECK(value(store->bisects("coraine", 5)).size() == 1);
  CHECK_FALSE(value(store->bisect(id + 1)));
  CHECK(store->put_bisect_step(id + 1, step_of(run, 0, 0, 0)).error().code == Code::not_found);
  CHECK(store->update_bisect(id + 1, store::BisectState::finished, "", noon).error().code == Code::not_found);
}

TEST_CASE("the ledger keeps what was decided, and every change of mind", "[store]") {
  auto store = fresh_store();
  store::LedgerEntry entry;
  entry.project = "coraine";
  entry.label = "arena allocator";
  entry.at = noon;
  entry.verdict = "candidate";
  const auto id = value(store->put_ledger(entry));
  CHECK(value(store->put_ledger(entry)) == id);
  store::LedgerChange change;
  change.entry = id;
  change.verdict = "dropped";
  change.why = "memory +24 %";
  change.at = noon + std::chrono::hours(1);
  for (int time = 0; time < 2; ++time) NG_OK(store->change_ledger(change));
  const auto ledger = value(store->ledger("coraine"));
  REQUIRE(ledger.size() == 1);
  CHECK(ledger[0].verdict == "dropped");
  CHECK(ledger[0].why == "memory +24 %");
  CHECK(value(store->ledger_changes(id)).size() == 1);
  change.entry = 999;
  CHECK(store->change_ledger(change).error().code == Code::not_found);
}

TEST_CASE("a notification is sent once, and again when there is something new to say", "[store]") {
  auto store = fresh_store();
  store::Notification n;
  n.project = "coraine";
  n.kind = "issue";
  n.key = "trip-1";
  n.body = R"({"title":"slower"})";
  n.created = noon;
  NG_OK(store->put_notification(n));
  auto pending = value(store->pending_notifications("coraine"));
  REQUIRE(pending.size() == 1);
  pending[0].tries = 1;
  pending[0].last_error = "503";
  pending[0].not_before = noon + std::chrono::minutes(5);
  NG_OK(store->update_notification(pending[0]));
  NG_OK(store->put_notification(n));  // the same again: its tries stay
  CHECK(value(store->pending_notifications("coraine")).at(0).tries == 1);
  CHECK(value(store->pending_notifications("coraine")).at(0).not_before == noon + std::chrono::minutes(5));
  pending[0].state = store::Delivery::sent;
  pending[0].result = R"({"number": 12})";
  NG_OK(store->update_notification(pending[0]));
  n.body = R"({ "title" : "slower" })";  // the same document
  NG_OK(store->put_notification(n));
  CHECK(value(store->pending_notifications("coraine")).empty());
  n.body = R"({"title":"slower: culprit found"})";
  NG_OK(store->put_notification(n));
  CHECK(value(store->pending_notifications("coraine")).at(0).result == R"({"number": 12})");
  CHECK(value(store->notification("coraine", "issue", "trip-1"))->state == store::Delivery::pending);
  CHECK_FALSE(value(store->notification("coraine", "issue", "trip-2")));
}

TEST_CASE("the views hold what store/README.md promises", "[store]") {
  std::string database;
  auto store = fresh_store(&database);
  for (int night = 0; night < 3; ++night) judged_night(*store, 100 + night, 2.5);
  const std::string bad = stored_night(*store, 60, 2.5);
  store::Judgement judgement;
  judgement.run = bad;
  judgement.snapshot = "s";
  store::TripGroup group;
  group.first = 3;
  group.last_good = 2;
  group.trips.push_back({metric_a, "step", -0.4, 100, 60, 0, store::TripState::open, std::nullopt});
  judgement.opened.push_back(group);
  value(store->put_judgement(judgement));

  CHECK(ask(database,
            "SELECT string_agg(value::text, ' ' ORDER BY sequence) FROM series WHERE metric = "
            "'plain.create.rate' AND machine = 'bench1'") == "100 101 102 60");
  CHECK(ask(database,
            "SELECT unit || ' ' || better || ' ' || commit || ' ' || verdict FROM series WHERE metric = "
            "'plain.create.p99' AND sequence = 1") == "ms lower c0ffee good");
  CHECK(ask(database, "SELECT pr::text || state FROM nights WHERE sequence = 4") == "7judged");
  CHECK(ask(database,
            "SELECT explanation ->> 'sigma' FROM verdicts WHERE metric = 'plain.create.rate' AND sequence = "
            "1") == "0.01");
  CHECK(ask(database, "SELECT kind || state || first_night || last_good_night || tripped_night FROM trips") ==
        "stepopen324");
  CHECK(ask(database, "SELECT count(*) FROM samples WHERE NOT voided") == "16");
  CHECK(ask(database, "SELECT count(*) FROM conditions WHERE name = 'load1' AND value = 0.5") == "12");
  CHECK(ask(database, "SELECT count(*) FROM bisects") == "0");
  // The columns, in order: may grow at the end, nothing else.
  const auto columns = [&](const std::string& view) {
    return ask(database,
               "SELECT string_agg(column_name, ' ' ORDER BY ordinal_position) FROM "
               "information_schema.columns WHERE table_schema = 'nightgate' AND table_name = '" +
                   view + "'");
  };
  CHECK_THAT(columns("series"),
             Catch::StartsWith("project machine metric unit better sequence started machine_class commit "
                               "digest definition value baseline change verdict red voided"));
  CHECK_THAT(columns("nights"),
             Catch::StartsWith("project machine sequence started attempt run machine_class commit digest "
                               "label pr definition state reason environment open_question voided "
                               "void_reason imported"));
  CHECK_THAT(columns("verdicts"),
             Catch::StartsWith("project machine sequence started metric verdict state reason value "
                               "baseline change red nights_left suspect_since explanation"));
  CHECK_THAT(columns("trips"),
             Catch::StartsWith("project machine trip metric kind state change baseline level first_night "
                               "last_good_night tripped_night tripped_at closed_night bisect answer"));
  CHECK_THAT(columns("bisects"), Catch::StartsWith("project machine bisect metric trip good bad state outcome culprit "
                                                   "probability measurements started ended answer"));
}
