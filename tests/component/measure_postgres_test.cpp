// A PostgreSQL service in a deployment: reset between repeats, and what it did per request.
#include <pwd.h>
#include <unistd.h>

#include <thread>

#include "gate/base/process.hpp"
#include "gate/measure/postgres.hpp"
#include "tests/component/measure_support.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;
using Catch::Matchers::Contains;
using nightgate::test::Bench;

namespace {

std::string why(const Result<Measurement>& result) { return result ? "no error" : result.error().text(); }

// The newest server's programs; empty where PostgreSQL is not installed.
fs::path postgres_programs() {
  fs::path best;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (fs::exists(entry.path() / "bin/initdb") && entry.path() > best) best = entry.path();
  }
  return best.empty() ? best : best / "bin";
}

// As root the server's programs run as the user postgres.
std::vector<std::string> as_server(std::vector<std::string> argv) {
  if (::geteuid() != 0) return argv;
  std::vector<std::string> out = {"runuser", "-u", "postgres", "--"};
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

Output must_run(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.directory = "/";
  auto output = run(command, std::chrono::seconds(60));
  REQUIRE(output);
  INFO(output->out + output->err);
  REQUIRE(output->ok());
  return *std::move(output);
}

// A deployment of a database alone, with a program that makes 50 inserts as its load.
struct DatabaseBench : Bench {
  explicit DatabaseBench(const fs::path& programs) {
    const auto data = directory.path() / "data";
    REQUIRE(fs::create_directory(data));
    fs::permissions(directory.path(), fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
    if (const auto* user = ::getpwnam("postgres"); ::geteuid() == 0 && user != nullptr) {
      REQUIRE(::chown(data.c_str(), user->pw_uid, user->pw_gid) == 0);
    }
    must_run(as_server({(programs / "initdb").string(), "-D", data.string(), "-A", "trust", "-U", "tester", "-N"}));
    config::Node db;
    db.name = "db";
    db.port = test::free_port();
    db.command = as_server({(programs / "postgres").string()});
    db.args = {"-D", data.string(),
               "-p", "{db.port}",
               "-c", "listen_addresses=127.0.0.1",
               "-c", "unix_socket_directories=",
               "-c", "shared_preload_libraries=pg_stat_statements",
               "-c", "fsync=off"};
    db.ready.kind = config::Readiness::Kind::command;
    db.ready.command = {(programs / "pg_isready").string(), "-q", "-h", "{db.host}", "-p", "{db.port}"};
    db.postgres = "host={db.host} port={db.port} user=tester dbname=postgres";
    db.reset = psql("TRUNCATE things");
    deployment().brokers.clear();
    deployment().services = {db};
    target.form = targets::NoBroker{};
    scenario().fixture.command =
        psql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements; CREATE TABLE IF NOT EXISTS things (n int)");
    config::CommandLoad load;
    load.argv = {
        "sh", "-c",
        "yes 'INSERT INTO things VALUES (1);' | head -50 | psql -qX -h {db.host} -p {db.port} -U tester postgres "
        "&& psql -qXAt -h {db.host} -p {db.port} -U tester postgres "
        "-c \"SELECT '{\\\"requests\\\": 50, \\\"rows\\\": ' || count(*) || '}' FROM things\""};
    scenario().load = load;
    scenario().store = config::StoreRule::grows;
    scenario().repeats = 2;
  }
  static std::vector<std::string> psql(const std::string& sql) {
    return {"psql", "-qX", "-h", "{db.host}", "-p", "{db.port}", "-U", "tester", "postgres", "-c", sql};
  }
  Result<Measurement> measured() { return measurer()->measure(target, deployment(), scenario(), 0); }
};

}  // namespace

TEST_CASE("a PostgreSQL service: reset between repeats, statements per request", "[measure][postgres]") {
  const auto programs = postgres_programs();
  if (programs.empty()) NG_SKIP("no PostgreSQL server is installed (Debian and Ubuntu: apt-get install postgresql)");
  DatabaseBench bench(programs);
  const auto measured = bench.measured();
  INFO(why(measured));
  REQUIRE(measured);
  REQUIRE(measured->repeats.size() == 2);
  for (const auto& repeat : measured->repeats) {
    for (const auto& sample : repeat.samples) {
      if (sample.metric == "rows") CHECK(sample.value == 50);  // 100 in the second one without the reset
    }
  }
  CHECK(measured->value("rows") == 50);
  // 50 inserts and one count in 50 requests, and whatever psql asks by itself.
  CHECK(measured->value("db_calls").value_or(0) >= 1.0);
  CHECK(measured->value("db_calls").value_or(9) < 1.5);
  CHECK(measured->value("db_ms").value_or(0) > 0);
  CHECK(measured->value("db_buffers_hit").value_or(0) > 0);
  CHECK(measured->value("db_wal_bytes").value_or(0) > 20);
  CHECK(measured->value("db_cpu_us").value_or(0) > 0);
  CHECK(measured->value("cpu_us").value_or(0) > 0);

  SECTION("without the extension the rest is measured all the same") {
    bench.scenario().fixture.command =
        DatabaseBench::psql("DROP EXTENSION IF EXISTS pg_stat_statements; CREATE TABLE IF NOT EXISTS things (n int)");
    const auto without = bench.measured();
    INFO(why(without));
    REQUIRE(without);
    CHECK(without->value("rows") == 50);
    CHECK_FALSE(without->value("db_calls"));
  }
  SECTION("a reset that fails ends the start") {
    bench.deployment().services.front().reset = DatabaseBench::psql("TRUNCATE no_such_table");
    CHECK_THAT(why(bench.measured()), Contains("reset command") && Contains("no_such_table"));
  }
}

TEST_CASE("a PostgreSQL service: its backends' CPU is its own while they are connected", "[measure][postgres]") {
  const auto programs = postgres_programs();
  if (programs.empty()) NG_SKIP("no PostgreSQL server is installed (Debian and Ubuntu: apt-get install postgresql)");
  DatabaseBench bench(programs);
  // One client that stays connected and keeps its backend busy; backends leave the server's group and session.
  config::Node client;
  client.name = "client";
  client.command = {"sh", "-c",
                    "while :; do echo 'SELECT count(*) FROM generate_series(1, 200000);'; done | "
                    "psql -qX -h {db.host} -p {db.port} -U tester postgres >/dev/null"};
  bench.deployment().services.push_back(client);
  std::get<config::CommandLoad>(bench.scenario().load).argv = {"sh", "-c",
                                                               "sleep 1.5; echo '{\"requests\": 1000, \"rows\": 1}'"};
  const auto measured = bench.measured();
  INFO(why(measured));
  REQUIRE(measured);
  INFO(measured->no_verdict);
  CHECK(measured->value("db_cpu_us").value_or(0) >
        150);  // 0.15 s and more of 1.5 s; the server's own is next to nothing
}

TEST_CASE("a database that is not there is said so", "[measure]") {
  const auto port = std::to_string(test::free_port());
  const auto counts = read_statements("host=127.0.0.1 port=" + port + " user=nobody dbname=none");
  REQUIRE_FALSE(counts);
  CHECK(counts.error().code == Code::away);
}
