// The database goes away in every way it can: killed, restarted, read-only, full of connections, cut off in the middle.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "gate/base/log.hpp"
#include "store/migrate.hpp"
#include "store/spool.hpp"
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

// A state directory with an embedded store of its own, removed at the end with its cluster.
struct Embedded {
  TempDir state = value(TempDir::make("ng-embedded"));
  store::OpenOptions options() const {
    store::OpenOptions out;
    out.state = state.path();
    return out;
  }
  fs::path base() const { return value(store::prepare_place(state.path())).base; }
  pid_t postmaster() const {
    pid_t pid = 0;
    std::ifstream(base() / "data" / "postmaster.pid") >> pid;
    return pid;
  }
  ~Embedded() {
    std::error_code error;
    fs::remove_all(fs::weakly_canonical(state.path() / "postgres", error), error);
  }
};

bool alive(pid_t pid) { return pid > 0 && ::kill(pid, 0) == 0; }
// Its number is free a moment after it ended, once its parent has taken notice.
bool gone_soon(pid_t pid) {
  for (int i = 0; i < 200 && alive(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !alive(pid);
}

}  // namespace

TEST_CASE("the private cluster runs while somebody uses it, is stopped by the last, and survives being killed",
          "[store][cluster]") {
  log::set_level(log::Level::warning);
  Embedded embedded;
  pid_t pid = 0;
  {
    auto first = value(store::open(embedded.options()));
    pid = embedded.postmaster();
    CHECK(alive(pid));
    auto second = value(store::open(embedded.options()));
    CHECK(embedded.postmaster() == pid);
    first.reset();
    CHECK(alive(pid));  // the second still uses it
    judged_night(*second, 100, 2.5);
    NG_OK(second->prepare_quiet());

    // The postmaster is killed under an open store: the next write starts it again and nothing is lost.
    REQUIRE(::kill(pid, SIGKILL) == 0);
    judged_night(*second, 101, 2.5);
    CHECK(embedded.postmaster() != pid);
    CHECK(value(second->nights("coraine", "bench1", store::newest, 10)).size() == 2);

    // One backend is killed: the server restarts them all, and the write goes through.
    auto connection = value(store::Connection::connect([&] {
      auto options = embedded.options();
      options.where = "host=" + (embedded.base() / "socket").string() + " user=nightgate dbname=nightgate";
      return options;
    }()));
    const auto backend =
        value(connection->run("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                              "AND pid <> pg_backend_pid()"));
    REQUIRE(backend.size() >= 1);
    REQUIRE(::kill(static_cast<pid_t>(backend.integer(0, 0)), SIGKILL) == 0);
    judged_night(*second, 102, 2.5);
    CHECK(value(second->nights("coraine", "bench1", store::newest, 10)).size() == 3);
    pid = embedded.postmaster();
  }
  CHECK(gone_soon(pid));

  // A pid file left behind that names a process of somebody else (ours) does not stop the next start.
  REQUIRE(write_file(embedded.base() / "data" / "postmaster.pid",
                     std::to_string(::getpid()) + "\n/nowhere\n1\n5432\n\n\n"));
  auto again = value(store::open(embedded.options()));
  CHECK(value(again->nights("coraine", "bench1", store::newest, 10)).size() == 3);

  const auto status = value(store::status(embedded.options()));
  CHECK(status.nights == 3);
  CHECK(status.samples == 18);
  CHECK(status.schema == status.newest_schema);

  {  // its directories are private and it listens on no port
    for (const char* name : {"", "data", "socket"}) {
      CHECK((fs::status(embedded.base() / name).permissions() & fs::perms(077)) == fs::perms::none);
    }
    auto options = embedded.options();
    options.where = "host=" + (embedded.base() / "socket").string() + " user=nightgate dbname=nightgate";
    auto connection = value(store::Connection::connect(options));
    CHECK(value(connection->run("SHOW listen_addresses")).text(0, 0).empty());
    CHECK(value(connection->run("SHOW synchronous_commit")).text(0, 0) == "on");
  }
  {  // a cluster of another major version is refused with the way out
    again.reset();
    REQUIRE(write_file(embedded.base() / "data" / "PG_VERSION", "9\n"));
    const auto refused = store::open(embedded.options());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::usage);
    CHECK_THAT(refused.error().message, Catch::Contains("store backup") && Catch::Contains("store restore"));
  }
  log::set_level(log::Level::info);
}

TEST_CASE("a directory of somebody else is not taken for ours", "[store][cluster]") {
  const TempDir state = value(TempDir::make("ng-foreign"));
  fs::create_directory(state.path() / "elsewhere");
  fs::permissions(state.path() / "elsewhere", fs::perms(0755));
  fs::create_directory_symlink(state.path() / "elsewhere", state.path() / "postgres");
  const auto refused = store::prepare_place(state.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::io);
  CHECK_THAT(refused.error().message, Catch::Contains("private directory"));
}

TEST_CASE("two migrators at once: one does the work, the other finds it done", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  const int round = GENERATE(range(0, 5));  // the order they come in is chance
  INFO("round " << round);
  const std::string database = cluster.empty_database();
  std::vector<std::thread> threads;
  std::atomic<int> applied = 0, failed = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto done = store::migrate(cluster.options(database));
      if (done) applied += static_cast<int>(done->size());
      if (!done) ++failed;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(applied == static_cast<int>(store::migrations().size()));
  CHECK(ask(database, "SELECT count(*) FROM schema_version") == std::to_string(store::migrations().size()));
}

TEST_CASE("every older schema, with data in it, comes up to date", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  const auto from = GENERATE(range(1, 4));
  const std::string database = cluster.empty_database();
  {
    auto connection = cluster.connect(database);
    CHECK(value(store::apply_migrations(*connection, from)).size() == static_cast<std::size_t>(from));
    NG_OK(connection->script(
        "INSERT INTO project (name) VALUES ('coraine'); INSERT INTO machine (name) VALUES ('bench1'); "
        "INSERT INTO run (uuid, kind, project_id, machine_id, started, state) VALUES "
        "('00000000-0000-4000-8000-000000000001', 'night', 1, 1, now(), 'done'); "
        "INSERT INTO night (project_id, machine_id, sequence, started, run_id, state) VALUES (1, 1, 1, now(), 1, "
        "'judged'); INSERT INTO night_attempt VALUES (1, 1, 1); "
        "INSERT INTO definition (hash, body) VALUES ('0123456789abcdef', '{}'); "
        "INSERT INTO target (project_id, commit, digest) VALUES (1, 'c0ffee', 'sha256:d1'); "
        "INSERT INTO metric (project_id, name, unit, better) VALUES (1, 'plain.create.rate', 'req/s', 'higher'); "
        "INSERT INTO measurement (run_id, deployment, scenario, role, arm, start, target_id, definition_id) VALUES "
        "(1, 'plain', 'create', 'target', 0, 0, 1, 1); "
        "INSERT INTO repeat (measurement_id, number, attempt, began, ended) VALUES (1, 0, 0, now(), now()); "
        "INSERT INTO sample VALUES (1, 1, 101.5); "
        "INSERT INTO measurement_value VALUES (1, 1, 101.5, 101.5, 101.5, 1); "
        "INSERT INTO reading VALUES (1, 1, 1, 101.5, '')"));
    if (from >= 2) {
      NG_OK(
          connection->script("INSERT INTO verdict (night_id, metric_id, verdict, value) VALUES (1, 1, 'good', 101.5)"));
    }
    if (from >= 3) {
      NG_OK(connection->script(
          "INSERT INTO run (uuid, kind, project_id, machine_id, started, state) VALUES "
          "('00000000-0000-4000-8000-000000000002', 'bisect', 1, 1, now(), 'running'); "
          "INSERT INTO bisect (run_id, project_id, machine_id, metric, good, bad, state, started) VALUES "
          "(2, 1, 1, 'plain.create.rate', 'aaaa', 'bbbb', 'running', now()); "
          "INSERT INTO bisect_step (bisect_id, block, slot, position, point, phase, candidate, value, run_id, at) "
          "VALUES (1, 0, 0, 0, 3, 'search', 0, 99.25, 2, now())"));
    }
  }
  const auto refused = store::open(cluster.options(database));  // another server's schema is not changed unasked
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::usage);
  CHECK_THAT(refused.error().message, Catch::Contains("nightgate store migrate"));
  auto options = cluster.options(database);
  options.migrate = true;
  auto store = value(store::open(options));
  CHECK(value(store->nights("coraine", "bench1", store::newest, 5)).size() == 1);
  const auto measured = value(store->measurements("00000000-0000-4000-8000-000000000001"));
  REQUIRE(measured.size() == 1);
  CHECK(measured[0].repeats.at(0).samples.at("rate") == 101.5);
  CHECK(value(store->inputs_after("coraine", "bench1", 0)).at(0).input.readings.at(0).value == 101.5);
  if (from >= 2) CHECK(value(store->verdicts("coraine", "bench1", 1)).at(0).verdict == "good");
  if (from >= 3) CHECK(value(store->bisect_steps(1)).at(0).value == 99.25);
  judged_night(*store, 100, 2.5);
  CHECK(value(store->nights("coraine", "bench1", store::newest, 5)).at(0).sequence == 2);
}

TEST_CASE("a schema newer than this program is refused", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  const std::string database = cluster.fresh_database();
  NG_OK(cluster.connect(database)->script("INSERT INTO schema_version (version, name) VALUES (999, 'future')"));
  for (const bool migrate : {false, true}) {
    auto options = cluster.options(database);
    options.migrate = migrate;
    const auto refused = store::open(options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::usage);
    CHECK_THAT(refused.error().message, Catch::Contains("999") && Catch::Contains("newer"));
  }
  CHECK(store::migrate(cluster.options(database)).error().code == Code::usage);
}

TEST_CASE("a read-only database is away, and reading from it works", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  std::string database;
  {
    auto store = fresh_store(&database);
    judged_night(*store, 100, 2.5);
  }
  NG_OK(cluster.connect("postgres")->script("ALTER DATABASE " + database + " SET default_transaction_read_only = on"));
  auto store = value(store::open(cluster.options(database)));
  CHECK(value(store->nights("coraine", "bench1", store::newest, 5)).size() == 1);
  const auto refused = store->begin_night(some_run(make_uuid()));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::away);
}

TEST_CASE("a connection dropped in the middle is made again, and nothing doubles", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  std::string database;
  auto store = fresh_store(&database);
  std::atomic<bool> stop = false;
  std::thread saboteur([&] {
    auto admin = cluster.connect("postgres");
    while (!stop) {
      static_cast<void>(admin->run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1",
                                   store::Params().text(database)));
      std::this_thread::sleep_for(std::chrono::milliseconds(120));
    }
  });
  const std::string uuid = make_uuid();
  int acknowledged = 0;
  const auto until_done = [&](auto write) {
    for (int tries = 0; tries < 50; ++tries) {
      const auto done = write();
      if (done) return ++acknowledged;
      if (done.error().code != Code::away) FAIL_CHECK(done.error().text());
    }
    return 0;
  };
  until_done([&] { return store->begin_run(some_run(uuid)); });
  for (int start = 0; start < 25; ++start) {
    until_done([&] { return store->put_measurement(some_measurement(uuid, start)); });
  }
  stop = true;
  saboteur.join();
  CHECK(acknowledged == 26);
  CHECK(ask(database, "SELECT count(*) FROM measurement") == "25");
  CHECK(ask(database, "SELECT count(*) FROM sample") == "150");
}

TEST_CASE("a server without a connection left is away, with its own words", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  const std::string database = cluster.fresh_database();
  NG_OK(cluster.connect("postgres")
            ->script("ALTER DATABASE " + database +
                     " CONNECTION LIMIT 0; DROP ROLE IF EXISTS "
                     "plain; CREATE ROLE plain LOGIN"));
  auto options = cluster.options(database);
  const auto at = options.where.find("user=nightgate");
  options.where.replace(at, 14, "user=plain");
  const auto refused = store::open(options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::away);
  CHECK_THAT(refused.error().message, Catch::Contains("too many connections"));
}

TEST_CASE("connection strings: what is wrong with one is said, and passwords stay out of sight", "[store]") {
  store::OpenOptions options;
  options.connect_timeout = std::chrono::seconds(2);
  options.where = "host=/nowhere-at-all dbname=x user=y";
  CHECK(store::open(options).error().code == Code::away);
  options.where = "postgresql://user:s3cret-canary@localhost/db";
  const auto with_password = store::open(options);
  CHECK(with_password.error().code == Code::usage);
  CHECK_THAT(with_password.error().message, Catch::Contains("store_password_env"));
  CHECK_THAT(with_password.error().message, !Catch::Contains("s3cret"));
  options.where = "no such thing";
  CHECK(store::open(options).error().code == Code::usage);

  // Two hosts: the first is not there, the second is.
  TestCluster& cluster = TestCluster::shared();
  options.where = "host=/nowhere-at-all," + cluster.cluster().place().socket.string() +
                  " user=nightgate dbname=" + cluster.fresh_database();
  NG_OK(value(store::open(options))->put_machine({"bench1", "x", ""}));
  options.where = cluster.options("there-is-none").where;
  CHECK(store::open(options).error().code == Code::denied);
}

TEST_CASE("a password is asked for, passed on and never shown", "[store]") {
  TestCluster& cluster = TestCluster::shared();
  const std::string database = cluster.fresh_database();
  NG_OK(cluster.connect("postgres")
            ->script("DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN SUPERUSER PASSWORD "
                     "'canary-4711'"));
  const fs::path hba = cluster.cluster().place().data / "pg_hba.conf";
  const auto before = value(read_file(hba));
  NG_OK(write_file(hba, "local all guarded scram-sha-256\n" + before));
  const Defer restored([&] {
    static_cast<void>(write_file(hba, before));
    static_cast<void>(cluster.connect("postgres")->script("SELECT pg_reload_conf()"));
  });
  NG_OK(cluster.connect("postgres")->script("SELECT pg_reload_conf()"));
  auto options = cluster.options(database);
  options.where.replace(options.where.find("user=nightgate"), 14, "user=guarded");
  // The reload takes a moment.
  for (int i = 0; i < 100 && store::open(options); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(store::open(options).error().code == Code::denied);
  options.password = "wrong-canary";
  const auto refused = store::open(options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  CHECK_THAT(refused.error().text(), !Catch::Contains("canary"));
  options.password = "canary-4711";
  NG_OK(store::open(options));
}

TEST_CASE("a night goes on while the store is away and is there once, and judgeable, when it is back",
          "[store][spool]") {
  log::set_level(log::Level::error);
  TestCluster& cluster = TestCluster::shared();
  const TempDir state = value(TempDir::make("ng-away"));
  std::string database;
  auto store = fresh_store(&database);
  judged_night(*store, 100, 2.5);
  const auto block = [&](bool blocked) {
    auto admin = cluster.connect("postgres");
    NG_OK(admin->script("ALTER DATABASE " + database +
                        " SET default_transaction_read_only = " + (blocked ? "on" : "off")));
    static_cast<void>(admin->run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1",
                                 store::Params().text(database)));
  };
  std::string run;
  SECTION("away from the start to the end") {
    store::SpoolingRecorder recorder(nullptr, state.path());
    const auto night = value(recorder.begin_night(some_run(make_uuid())));
    run = night.run;
    CHECK(night.sequence == 0);
    NG_OK(recorder.set_night_target(run, some_measurement(run, 0).target, "all"));
    for (int start = 0; start < 2; ++start) NG_OK(recorder.put_measurement(some_measurement(run, start)));
    NG_OK(recorder.put_readings(run, some_input(70, 2.5), some_metrics()));
  }
  SECTION("gone in the middle of the night") {
    store::SpoolingRecorder recorder(store.get(), state.path());
    const auto night = value(recorder.begin_night(some_run(make_uuid())));
    run = night.run;
    CHECK(night.sequence == 2);
    NG_OK(recorder.set_night_target(run, some_measurement(run, 0).target, "all"));
    NG_OK(recorder.put_measurement(some_measurement(run, 0)));
    CHECK_FALSE(recorder.spooling());
    block(true);
    NG_OK(recorder.put_measurement(some_measurement(run, 1)));
    CHECK(recorder.spooling());
    NG_OK(recorder.put_readings(run, some_input(70, 2.5), some_metrics()));
    CHECK(recorder.spooling());
    CHECK(store->put_judgement({run, {}, "s", {}, {}, false, false, ""}).error().code == Code::no_verdict);
  }
  SECTION("gone and back before the end") {
    store::SpoolingRecorder recorder(store.get(), state.path());
    run = value(recorder.begin_night(some_run(make_uuid()))).run;
    NG_OK(recorder.set_night_target(run, some_measurement(run, 0).target, "all"));
    block(true);
    for (int start = 0; start < 2; ++start) NG_OK(recorder.put_measurement(some_measurement(run, start)));
    CHECK(recorder.spooling());
    block(false);
    NG_OK(recorder.put_readings(run, some_input(70, 2.5), some_metrics()));
    CHECK_FALSE(recorder.spooling());
  }
  block(false);
  const bool kept_a_copy = store::spool_pending(state.path());
  fs::path copy;
  if (kept_a_copy) {
    copy = fs::directory_iterator(state.path() / "spool")->path();
    fs::copy_file(copy, state.path() / "copy");
  }
  NG_OK(store::deliver_spool(state.path(), *store));
  CHECK_FALSE(store::spool_pending(state.path()));
  if (kept_a_copy) {  // as if the machine had died between commit and removing the file
    fs::copy_file(state.path() / "copy", copy);
    NG_OK(store::deliver_spool(state.path(), *store));
  }
  CHECK(value(store->measurements(run)).size() == 2);
  CHECK(ask(database,
            "SELECT count(*) FROM sample s JOIN repeat USING (repeat_id) JOIN measurement USING "
            "(measurement_id) JOIN run USING (run_id) WHERE uuid = '" +
                run + "'") == "12");
  CHECK(ask(database, "SELECT count(*) FROM night") == "2");
  // The next night finds it measured and judges it.
  const auto next = value(store->begin_night(some_run(make_uuid())));
  CHECK(next.resumed);
  CHECK(next.run == run);
  CHECK(next.sequence == 2);
  CHECK(next.state == store::NightState::measured);
  CHECK(value(store->inputs_after("coraine", "bench1", 1)).at(0).input.readings.at(1).value == 70);
  log::set_level(log::Level::info);
}

TEST_CASE("a night left unfinished in the database is closed by a later one out of the spool", "[store][spool]") {
  const TempDir state = value(TempDir::make("ng-away"));
  auto store = fresh_store();
  const auto left = value(store->begin_night(some_run(make_uuid())));
  {
    log::set_level(log::Level::error);
    store::SpoolingRecorder recorder(nullptr, state.path());
    const auto night = value(recorder.begin_night(some_run(make_uuid())));
    NG_OK(recorder.put_readings(night.run, some_input(99, 2.5), some_metrics()));
    log::set_level(log::Level::info);
  }
  NG_OK(store::deliver_spool(state.path(), *store));
  CHECK(value(store->night("coraine", "bench1", 1))->state == store::NightState::no_verdict);
  CHECK(value(store->night("coraine", "bench1", 2))->state == store::NightState::measured);
  CHECK(value(store->night("coraine", "bench1", 1))->run == left.run);
}
