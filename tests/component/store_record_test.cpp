// Writing and reading back, each write twice: nothing doubles.
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
}  // namespace

TEST_CASE("a run with its measurements comes back as it was written, however often it was", "[store]") {
  std::string database;
  auto store = fresh_store(&database);
  const std::string uuid = make_uuid();
  for (int time = 0; time < 2; ++time) {
    NG_OK(store->put_machine({"bench1", "cpu x8", R"({"cpus": 8})"}));
    NG_OK(store->put_definition("0123456789abcdef", R"({"b":1,"a":[2]})"));
    NG_OK(store->begin_run(some_run(uuid, store::RunKind::compare)));
    for (int start = 0; start < 2; ++start) {
      NG_OK(store->put_measurement(some_measurement(uuid, start)));
      NG_OK(store->put_measurement(some_measurement(uuid, start, store::Role::control)));
    }
    NG_OK(store->finish_run(uuid, store::RunState::done, *parse_rfc3339("2026-11-30T03:00:00Z"),
                            R"({"verdict":"same"})"));
  }
  CHECK(ask(database, "SELECT count(*) FROM measurement") == "4");
  CHECK(ask(database, "SELECT count(*) FROM repeat") == "12");
  CHECK(ask(database, "SELECT count(*) FROM sample") == "24");
  CHECK(ask(database, "SELECT count(*) FROM target") == "1");

  const auto run = value(store->run(uuid));
  REQUIRE(run);
  CHECK(run->kind == store::RunKind::compare);
  CHECK(run->started == some_run(uuid).started);
  CHECK(run->state == store::RunState::done);
  CHECK(run->ended == *parse_rfc3339("2026-11-30T03:00:00Z"));
  CHECK(run->result == R"({"verdict": "same"})");
  CHECK(value(store->runs("coraine", store::RunKind::compare, 5)).size() == 1);
  CHECK(value(store->runs("coraine", store::RunKind::night, 5)).empty());
  CHECK(value(store->definition("0123456789abcdef")) == R"({"b":1,"a":[2]})");
  CHECK(value(store->machines("coraine")).at(0).details == R"({"cpus": 8})");

  const auto all = value(store->measurements(uuid));
  REQUIRE(all.size() == 4);
  const auto wanted = some_measurement(uuid, 0);
  CHECK(all[0].role == store::Role::target);
  CHECK(all[1].role == store::Role::control);
  CHECK(all[0].target.title == "Faster creates");
  CHECK(all[0].target.pr == 7);
  CHECK(all[0].definition == wanted.definition);
  REQUIRE(all[0].repeats.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(all[0].repeats[i].samples == wanted.repeats[i].samples);
    CHECK(all[0].repeats[i].conditions == wanted.repeats[i].conditions);
    CHECK(all[0].repeats[i].voided == wanted.repeats[i].voided);
    CHECK(all[0].repeats[i].begin == wanted.repeats[i].begin);
  }
  CHECK(all[0].repeats[2].void_reason == "foreign CPU 1.2");
  // The voided repeat (120) takes no part.
  CHECK(all[0].values.at("rate").median == 105.0);
  CHECK(all[0].values.at("rate").high == 110.0);
  CHECK(all[0].values.at("rate").repeats == 2);
  REQUIRE(all[0].metrics.size() == 2);
  CHECK(all[0].metrics[0].name == metric_b);
  CHECK(all[0].metrics[0].better == store::Better::lower);
}

TEST_CASE("what can't be stored is refused whole, with its name", "[store]") {
  std::string database;
  auto store = fresh_store(&database);
  const std::string uuid = make_uuid();
  NG_OK(store->begin_run(some_run(uuid)));

  auto bad = some_measurement(uuid, 0);
  bad.repeats[1].samples["rate"] = store::unknown;
  const auto refused = store->put_measurement(bad);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::bad_data);
  CHECK_THAT(refused.error().message, Catch::Contains("plain.create.rate"));
  CHECK(ask(database, "SELECT count(*) FROM measurement") == "0");

  auto stranger = some_measurement(make_uuid(), 0);
  CHECK(store->put_measurement(stranger).error().code == Code::not_found);
  CHECK(store->finish_run(make_uuid(), store::RunState::done, {}, "").error().code == Code::not_found);

  auto no_digest = some_measurement(uuid, 0);
  no_digest.target.digest.clear();
  CHECK(store->put_measurement(no_digest).error().code == Code::bad_data);
  CHECK(store
            ->begin_run([] {
              auto run = some_run("not a uuid");
              return run;
            }())
            .error()
            .code == Code::bad_data);
}

TEST_CASE("text from outside is kept whatever its bytes are", "[store]") {
  auto store = fresh_store();
  const std::string uuid = make_uuid();
  NG_OK(store->begin_run(some_run(uuid)));
  auto m = some_measurement(uuid, 0);
  m.repeats.clear();
  m.no_verdict = "broker died; DROP TABLE sample; -- ' \" \\ {}";
  m.log_tail = std::string("bad \xff\xc0 byte, nul \0 here", 23) + "\xed\xa0\x80 \xf0\x9f\x98\x80";
  m.target.title = "<script>\"quoted\", {braces}, \\ and \xe2\x80\xae right to left";
  NG_OK(store->put_measurement(m));
  const auto back = value(store->measurements(uuid));
  REQUIRE(back.size() == 1);
  CHECK(back[0].no_verdict == m.no_verdict);
  CHECK(back[0].target.title == m.target.title);
  CHECK_THAT(back[0].log_tail, Catch::Contains("byte, nul \xEF\xBF\xBD here"));
  CHECK_THAT(back[0].log_tail, Catch::EndsWith("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xf0\x9f\x98\x80"));
}

TEST_CASE("the newest noise figures of each metric come back", "[store]") {
  auto store = fresh_store();
  NG_OK(store->put_machine({"bench1", "cpu x8", ""}));
  store::Noise noise;
  noise.metric = metric_a;
  noise.at = *parse_rfc3339("2026-11-30T02:00:00Z");
  noise.starts = 4;
  noise.repeats = 3;
  noise.within = 0.01;
  noise.between = 0.02;
  auto later = noise;
  later.at += std::chrono::hours(1);
  later.between = 0.03;
  for (int time = 0; time < 2; ++time) NG_OK(store->put_noise("coraine", "bench1", {noise, later}));
  const auto back = value(store->noise("coraine", "bench1"));
  REQUIRE(back.size() == 1);
  CHECK(back[0].between == 0.03);
  CHECK(std::isnan(back[0].drift));
  CHECK(value(store->noise("coraine", "bench2")).empty());
}
