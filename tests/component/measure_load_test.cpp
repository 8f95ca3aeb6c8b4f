// Rules 2 to 5: who gets which CPU, the store before each repeat, and a rate over errors is not a rate.
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "gate/measure/machine.hpp"
#include "gate/measure/watched.hpp"
#include "tests/component/measure_support.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;
using Catch::Matchers::Contains;
using nightgate::test::Bench;

namespace {

std::string why(const Result<Measurement>& result) { return result ? "no error" : result.error().text(); }

config::WrkLoad& wrk(Bench& bench) { return std::get<config::WrkLoad>(bench.scenario().load); }

// The scenario's load becomes this Lua text.
void script(Bench& bench, const std::string& text) {
  const auto path = bench.directory.path() / "load.lua";
  REQUIRE(write_file(path, text));
  wrk(bench).script = path;
}

void command(Bench& bench, std::vector<std::string> argv) {
  config::CommandLoad load;
  load.argv = std::move(argv);
  load.timeout_seconds = 20;
  bench.scenario().load = load;
}

config::HttpCall create(const std::string& id) {
  return {"POST", "/entities", R"({"id": ")" + id + R"(", "type": "Room"})", {}, {201}};
}

// `n` entities fixture-1 .. in one batch, counted.
config::Fixture fixture(int n) {
  config::Fixture out;
  std::string body = "[";
  for (int i = 1; i <= n; ++i) {
    body += (i == 1 ? "" : ",") + std::string(R"({"id": "fixture-)") + std::to_string(i) + R"(", "type": "Room"})";
  }
  out.calls = {{"POST", "/batch", body + "]", {}, {201}}};
  out.count.url = "/count";
  out.count_pointer = "/count";
  out.expect = n;
  return out;
}

}  // namespace

TEST_CASE("409s at full speed are no rate", "[measure]") {
  Bench bench;
  bench.scenario().fixture.calls = {create("twice")};
  script(bench, R"(wrk.method = "POST"; wrk.body = '{"id": "twice", "type": "Room"}'; wrk.path = "/entities")");
  const auto measured = bench.measure();
  CHECK_THAT(why(measured), Contains("above 399") && Contains("a rate over errors is not a rate"));
  CHECK(measured.error().code == Code::measure);

  SECTION("unless the scenario expects them") {
    bench.scenario().expect = {409};
    const auto expected = bench.measure();
    INFO(why(expected));
    CHECK(expected);
  }
}

TEST_CASE("answers that are no error but not the expected ones are found in the warm-up", "[measure]") {
  Bench bench;
  bench.misbehave({"--status", "304"});
  bench.scenario().warmup_seconds = 1;
  CHECK_THAT(why(bench.measure()), Contains("304"));
}

TEST_CASE("a broker that dies under load is the cause that is told", "[measure]") {
  Bench bench;
  bench.misbehave({"--exit-after", "50"});
  const auto measured = bench.measure();
  CHECK_THAT(why(measured), Contains("ended: exit code 7") && Contains("giving up on purpose"));
  CHECK(bench.is_clean());
}

TEST_CASE("fewer connections than threads is handled", "[measure]") {
  Bench bench;
  wrk(bench).connections = 1;
  wrk(bench).threads = 4;
  const auto measured = bench.measure();
  INFO(why(measured));
  CHECK(measured);
}

TEST_CASE("a part of a second is what wrk runs, not the whole one", "[measure]") {
  Bench bench;
  wrk(bench).seconds = 0.4;
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(measured->value("rate").value_or(0) > 0);

  // An interrupted program is not killed: what it says then is its result.
  Command patient;
  patient.argv = {"bash", "-c", "trap 'echo early; exit 0' INT; echo begun; sleep 20 & wait; echo late"};
  const auto tick = [](double, double) -> Status { return {}; };
  const auto watched = run_watched(patient, bench.directory.path(), WatchLimits{30, 0.5}, tick);
  REQUIRE(watched);
  CHECK(watched->out == "begun\nearly\n");
}

TEST_CASE("watching a load sleeps: it looks a few times a second, not a thousand times", "[measure]") {
  Bench bench;
  Command sleeper;
  sleeper.argv = {"sleep", "1"};
  const auto tick = [](double, double) -> Status { return {}; };
  rusage before{}, after{};
  ::getrusage(RUSAGE_THREAD, &before);
  REQUIRE(run_watched(sleeper, bench.directory.path(), WatchLimits{30, never}, tick));
  ::getrusage(RUSAGE_THREAD, &after);
  CHECK(after.ru_nvcsw - before.ru_nvcsw < 100);
}

TEST_CASE("a script with an error is no measurement", "[measure]") {
  Bench bench;
  script(bench, "this is not Lua");
  CHECK_THAT(why(bench.measure()), Contains("the wrk script failed"));
}

TEST_CASE("without wrk it is said what to install", "[measure]") {
  Bench bench;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", bench.directory.path().c_str(), 1);
  const auto machine = bench.measurer()->machine();
  ::setenv("PATH", path.c_str(), 1);
  REQUIRE_FALSE(machine);
  CHECK(machine.error().code == Code::measure);
  CHECK_THAT(machine.error().message, Contains("apt-get install wrk"));
}

TEST_CASE("a command's numbers, on the load's CPUs", "[measure]") {
  Bench bench;
  const auto machine = bench.measurer()->machine();
  REQUIRE(machine);
  const auto load_cpus = parse_cpus(machine->load_cpus);
  REQUIRE(load_cpus);
  command(bench,
          {"python3", "-c",
           "import json, os, urllib.request\n"
           "urllib.request.urlopen('{broker.url}/count').read()\n"
           "print('noise for people')\n"
           "print(json.dumps({'first': 1 + min(os.sched_getaffinity(0)), 'cpus': len(os.sched_getaffinity(0))}))"});
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(measured->value("first") == 1 + load_cpus->front());
  CHECK(measured->value("cpus") == static_cast<double>(load_cpus->size()));

  SECTION("the broker's are its own") {
    command(bench, {"python3", "-c",
                    "import glob, json, os\n"
                    "for p in glob.glob('/proc/[0-9]*'):\n"
                    "  try: words = open(p + '/cmdline').read().split('\\0')\n"
                    "  except OSError: continue\n"
                    "  if words[0].endswith('/broker') and '{broker.port}' in words:\n"
                    "    print(json.dumps({'first': 1 + min(os.sched_getaffinity(int(p[6:])))}))"});
    const auto seen = bench.measure();
    INFO(why(seen));
    REQUIRE(seen);
    const auto broker_cpus = parse_cpus(machine->broker_cpus);
    REQUIRE(broker_cpus);
    CHECK(seen->value("first") == 1 + broker_cpus->front());
  }
}

TEST_CASE("a command without a usable result is no measurement", "[measure]") {
  Bench bench;
  SECTION("exit code") {
    command(bench, {"sh", "-c", "echo boom >&2; exit 3"});
    CHECK_THAT(why(bench.measure()), Contains("exit code 3") && Contains("boom"));
  }
  SECTION("empty") {
    command(bench, {"true"});
    CHECK_FALSE(bench.measure());
  }
  SECTION("an expected metric is missing") {
    command(bench, {"echo", R"({"other": 5})"});
    bench.scenario().metrics["ops"] = {"1/s", config::Better::higher, true};
    CHECK_THAT(why(bench.measure()), Contains("'ops'"));
  }
  SECTION("too slow") {
    command(bench, {"sleep", "20"});
    std::get<config::CommandLoad>(bench.scenario().load).timeout_seconds = 0.3;
    CHECK_THAT(why(bench.measure()), Contains("did not end within 0.3 s"));
  }
}

TEST_CASE("a project without a broker measures its own program", "[measure]") {
  Bench bench;
  bench.deployment().brokers.clear();
  bench.target.form = targets::NoBroker{};
  command(bench, {"echo", R"({"ops": {"value": 12.5, "unit": "1/s", "better": "higher"}})"});
  const auto measured = bench.measurer()->measure(bench.target, bench.deployment(), bench.scenario(), 0);
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(measured->value("ops") == 12.5);
  CHECK(measured->metrics.at("ops").unit == "1/s");
}

TEST_CASE("a fixture one short stops the run", "[measure]") {
  Bench bench;
  bench.scenario().fixture = fixture(20);
  SECTION("right") { CHECK(why(bench.measure()) == "no error"); }
  SECTION("one short") {
    bench.scenario().fixture.expect = 21;
    CHECK_THAT(why(bench.measure()), Contains("holds 20 where the fixture makes 21"));
  }
  SECTION("one short, counted by a header") {
    bench.scenario().fixture.expect = 21;
    bench.scenario().fixture.count.url = "/entities?limit=1";
    bench.scenario().fixture.count_header = "X-Total-Count";
    CHECK_THAT(why(bench.measure()), Contains("holds 20 where the fixture makes 21"));
  }
  SECTION("a batch that is refused") {
    bench.scenario().fixture.calls.push_back(bench.scenario().fixture.calls.front());
    CHECK_THAT(why(bench.measure()), Contains("answered 409") && Contains("loading the fixture"));
  }
}

TEST_CASE("a growing scenario begins every repeat from the fixture", "[measure]") {
  Bench bench;
  bench.scenario().fixture = fixture(20);
  bench.scenario().repeats = 2;
  wrk(bench).script = test::source_file("tests/broker/wrk/create.lua");
  bench.scenario().store = config::StoreRule::grows;
  CHECK(why(bench.measure()) == "no error");  // each fill was counted: 20, not 20 and what the load made

  SECTION("called steady it is found out") {
    bench.scenario().store = config::StoreRule::steady;
    CHECK_THAT(why(bench.measure()), Contains("where the fixture makes 20"));
  }
}

TEST_CASE("a consuming scenario begins from a full pool and divides by the time really used", "[measure]") {
  Bench bench;
  bench.scenario().fixture = fixture(900);  // delete.lua's pool is 1000: the last 100 are not there
  bench.scenario().store = config::StoreRule::consumes;
  bench.scenario().repeats = 2;
  wrk(bench).script = test::source_file("tests/broker/wrk/delete.lua");
  wrk(bench).connections = 1;
  wrk(bench).seconds = 6;  // enough for the pool also on a machine that is busy with other things
  CHECK_THAT(why(bench.measure()), Contains("above 399"));
  bench.scenario().fixture = fixture(1000);
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  // A thousand requests take far less than six seconds; by the clock of the whole run the rate would be 167.
  CHECK(measured->value("rate").value_or(0) > 200);
}
