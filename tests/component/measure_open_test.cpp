// Rule 5: under an open load a latency counts from when the request was due.
#include <thread>

#include "gate/base/process.hpp"
#include "gate/measure/open_loop.hpp"
#include "gate/measure/ports.hpp"
#include "tests/component/measure_support.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;
using Catch::Matchers::Contains;
using nightgate::test::Bench;

namespace {

std::string why(const Result<Measurement>& result) { return result ? "no error" : result.error().text(); }

config::OpenLoad& open_load(Bench& bench, double rate, int connections, double seconds) {
  config::OpenLoad load;
  load.rate = rate;
  load.connections = connections;
  load.seconds = seconds;
  load.request.url = "/count";
  bench.scenario().load = load;
  return std::get<config::OpenLoad>(bench.scenario().load);
}

// Of the first repeat, also when this busy machine made the generator late and the repeat void.
std::optional<double> first(const Measurement& measured, const std::string& metric) {
  for (const auto& sample : measured.repeats.front().samples) {
    if (sample.metric == metric) return sample.value;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("an open load keeps its rate and counts every request", "[measure]") {
  Bench bench;
  open_load(bench, 400, 4, 0.5);
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(first(*measured, "rate").value_or(0) > 100);  // 200 requests; the last answer may be late here
  CHECK(first(*measured, "rate").value_or(999) <= 400);
  CHECK(first(*measured, "p50").value_or(0) > 0);
  CHECK(first(*measured, "p50") <= first(*measured, "p99"));
  CHECK(first(*measured, "late_p99").has_value());
  CHECK(first(*measured, "cpu_us").value_or(0) > 0);
}

TEST_CASE("a server that stands still shows it in p99", "[measure]") {
  Bench bench;
  bench.misbehave({"--stall-at", "60", "--stall", "0.5"});
  open_load(bench, 200, 2, 1);
  bench.deployment().brokers.front().identity = {};
  // A closed loop would have sent nothing meanwhile, and seen two slow answers.
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(first(*measured, "p99").value_or(0) > 200000);  // about 100 of the 200 were due while it stood still
  CHECK(first(*measured, "max").value_or(0) > 400000);
}

TEST_CASE("an open load over errors is no measurement", "[measure]") {
  Bench bench;
  auto& load = open_load(bench, 200, 2, 0.3);
  load.request = {
      "POST", "/entities", R"({"id": "twice", "type": "Room"})", {{"Content-Type", "application/json"}}, {}};
  CHECK_THAT(why(bench.measure()), Contains("59 answers had an unexpected status") && Contains("59 x 409"));

  SECTION("unless they are expected") {
    bench.scenario().expect = {201, 409};
    CHECK(why(bench.measure()) == "no error");
  }
}

TEST_CASE("an open load that loses its broker says so", "[measure]") {
  Bench bench;
  bench.misbehave({"--exit-after", "50"});
  open_load(bench, 200, 2, 1);
  CHECK_THAT(why(bench.measure()), Contains("ended: exit code 7"));
}

TEST_CASE("a generator that is late by its own fault voids the repeat", "[measure]") {
  // Its CPU is taken away: by hogs of the highest weight on the load's CPUs.
  Bench bench;
  const auto machine = bench.measurer()->machine();
  REQUIRE(machine);
  Command hog;
  hog.argv = {"sh", "-c",
              "echo -20 2>/dev/null >/proc/self/autogroup; (while :; do :; done) & (while :; do :; done) & (while :; "
              "do :; done) & while :; do :; done"};
  hog.cpus = parse_cpus(machine->load_cpus).value_or(CpuSet{0});
  auto running = Child::start(hog, bench.directory.path() / "hog.log");
  REQUIRE(running);
  open_load(bench, 2000, 4, 0.5);
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK_THAT(measured->no_verdict, Contains("the load generator itself was late"));
}

TEST_CASE("connections that are closed after each answer are opened again", "[measure]") {
  Bench bench;
  auto& load = open_load(bench, 200, 2, 0.3);
  load.request.headers = {{"Connection", "close"}};
  const auto measured = bench.measure();
  INFO(why(measured));
  CHECK(measured);
}
