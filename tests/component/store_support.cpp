#include <cstdlib>

#include "tests/component/store_support.hpp"

#include "gate/base/log.hpp"
#include "tests/support/catch.hpp"

namespace nightgate::test {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) {
    FAIL(result.error().text());
    std::abort();  // FAIL throws; the compiler can't see it
  }
  return std::move(*result);
}
void must(const Status& status) {
  if (!status) FAIL(status.error().text());
}

}  // namespace

TestCluster::TestCluster()
    : state_(must(TempDir::make("ng-store-test"))), cluster_(must(store::Cluster::use(state_.path()))) {
  auto admin = connect("postgres");
  // No test here cuts the power; on a busy disk syncing is most of the time.
  must(admin->script("ALTER SYSTEM SET fsync = off"));
  must(admin->script("SELECT pg_reload_conf()"));
  must(admin->script("CREATE DATABASE template_store"));
  auto fresh = connect("template_store");
  auto migrated = options("template_store");
  must(store::migrate(migrated));
}

TestCluster& TestCluster::shared() {
  struct Holder {
    TestCluster cluster;
    ~Holder() {
      const fs::path base = cluster.cluster_->place().base;
      // Nothing in it is needed any more.
      static_cast<void>(run(cluster.cluster_->program("pg_ctl", {"-D", "data", "-m", "immediate", "-w", "stop"}),
                            std::chrono::seconds(60)));
      cluster.cluster_.reset();
      std::error_code error;
      fs::remove_all(base, error);
    }
  };
  static Holder holder;
  return holder.cluster;
}

std::string TestCluster::fresh_database() {
  const std::string name = "t" + std::to_string(++databases_);
  must(connect("postgres")->script("CREATE DATABASE " + name + " TEMPLATE template_store"));
  return name;
}

std::string TestCluster::empty_database() {
  const std::string name = "t" + std::to_string(++databases_);
  must(connect("postgres")->script("CREATE DATABASE " + name));
  return name;
}

store::OpenOptions TestCluster::options(const std::string& database) const {
  store::OpenOptions out;
  out.where = cluster_->connection_string(database);
  return out;
}

std::unique_ptr<store::Connection> TestCluster::connect(const std::string& database) const {
  return must(store::Connection::connect(options(database)));
}

std::unique_ptr<store::Store> fresh_store(std::string* database) {
  TestCluster& cluster = TestCluster::shared();
  const std::string name = cluster.fresh_database();
  if (database != nullptr) *database = name;
  return must(store::open(cluster.options(name)));
}

std::string ask(const std::string& database, const std::string& sql) {
  auto rows = must(TestCluster::shared().connect(database)->run(sql));
  return rows.empty() ? "" : rows.text(0, 0);
}

store::Run some_run(const std::string& uuid, store::RunKind kind) {
  store::Run run;
  run.uuid = uuid;
  run.kind = kind;
  run.project = "coraine";
  run.machine = "bench1";
  run.machine_class = "cpu x8";
  run.started = *parse_rfc3339("2026-11-30T02:00:00.000123Z");
  run.version = "0.1.0";
  run.settings = R"({"starts":2})";
  run.conditions = R"({"boot_id":"b"})";
  return run;
}

store::Measurement some_measurement(const std::string& run, int start, store::Role role) {
  store::Measurement out;
  out.run = run;
  out.deployment = "plain";
  out.scenario = "create";
  out.role = role;
  out.start = start;
  out.target = {"c0ffee", "sha256:d1", "#7 c0ffee", "Faster creates", "Ada", 7};
  out.definition = "0123456789abcdef";
  out.metrics = some_metrics();
  for (int number = 0; number < 3; ++number) {
    store::Repeat repeat;
    repeat.number = number;
    repeat.voided = number == 2;
    repeat.void_reason = repeat.voided ? "foreign CPU 1.2" : "";
    repeat.begin = *parse_rfc3339("2026-11-30T02:00:01Z") + std::chrono::seconds(10 * number);
    repeat.end = repeat.begin + std::chrono::seconds(5);
    repeat.samples = {{"rate", 100.0 + start + 10 * number}, {"p99", 2.5 + 0.1 * number}};
    repeat.conditions = {{"load1", 0.5}, {"foreign_cpu", 0.01 * number}};
    out.repeats.push_back(repeat);
  }
  return out;
}

std::vector<store::MetricInfo> some_metrics() {
  return {{metric_a, "req/s", store::Better::higher, true}, {metric_b, "ms", store::Better::lower, true}};
}

judge::NightInput some_input(double a, double b) {
  judge::NightInput input;
  input.machine_class = "cpu x8";
  input.digest = "sha256:d1";
  input.readings.push_back({metric_a, judge::Better::higher, "0123456789abcdef", a, {{"sha256:control", a * 1.01}}});
  input.readings.push_back({metric_b, judge::Better::lower, "0123456789abcdef", b, {}});
  return input;
}

std::string stored_night(store::Store& store, double a, double b, const std::string& machine) {
  store::Run run = some_run(make_uuid());
  run.machine = machine;
  const auto night = must(store.begin_night(run));
  must(store.set_night_target(night.run, some_measurement(night.run, 0).target, "all"));
  must(store.put_measurement(some_measurement(night.run, 0)));
  must(store.put_readings(night.run, some_input(a, b), some_metrics()));
  return night.run;
}

std::string judged_night(store::Store& store, double a, double b, const std::string& machine) {
  const std::string run = stored_night(store, a, b, machine);
  store::Judgement judgement;
  judgement.run = run;
  judgement.snapshot = "state after " + run;
  judgement.verdicts.push_back(
      {metric_a, "good", "steady", "", a, 100, a / 100 - 1, false, 0, std::nullopt, R"({"sigma":0.01})"});
  judgement.verdicts.push_back({metric_b, "good", "steady", "", b, 2.5, 0, false, 0, std::nullopt, ""});
  must(store.put_judgement(judgement));
  return run;
}

}  // namespace nightgate::test
