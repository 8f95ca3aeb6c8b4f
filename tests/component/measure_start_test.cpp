// Rule 1: a start is fresh, and what answers is what was asked for.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "gate/base/process.hpp"
#include "gate/measure/left_overs.hpp"
#include "gate/measure/ports.hpp"
#include "gate/measure/processes.hpp"
#include "tests/component/measure_support.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;
using Catch::Matchers::Contains;
using nightgate::test::Bench;

namespace {

std::string why(const Result<Measurement>& result) { return result ? "no error" : result.error().text(); }

}  // namespace

TEST_CASE("the real broker under the real wrk", "[measure]") {
  Bench bench;
  bench.scenario().warmup_seconds = 1;
  bench.scenario().repeats = 2;
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(measured->repeats.size() == 2);
  CHECK(measured->no_verdict.empty());
  CHECK(measured->value("rate").value_or(0) > 100);
  CHECK(measured->metrics.at("rate").better == config::Better::higher);
  CHECK(measured->metrics.at("p99").better == config::Better::lower);
  REQUIRE(measured->shown() != nullptr);
  CHECK(bench.is_clean());
}

TEST_CASE("a port that is taken is refused, and the one who has it is named", "[measure]") {
  Bench bench;
  Command stale;
  stale.argv = {(test::broker_directory() / "broker").string(), "--port", std::to_string(bench.broker().port)};
  auto other = Child::start(stale, bench.directory.path() / "stale.log");
  REQUIRE(other);
  while (listeners(bench.broker().port).empty() && other->running()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto measured = bench.measure();
  CHECK_THAT(why(measured), Contains("is taken by process " + std::to_string(other->pid()) + " (broker)"));
  CHECK(measured.error().code == Code::measure);
  CHECK(other->running());  // it is somebody else's
}

TEST_CASE("somebody else's answer on the port is not readiness", "[measure]") {
  // The broker listens late, and meanwhile a stale one takes its port.
  Bench bench;
  bench.misbehave({"--delay", "1"});
  bench.broker().ready.kind = config::Readiness::Kind::tcp;
  Command stale;
  stale.argv = {(test::broker_directory() / "broker").string(), "--port", std::to_string(bench.broker().port)};
  Result<Child> other = fail(Code::internal, "not started");
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    other = Child::start(stale, bench.directory.path() / "stale.log");
  });
  const auto measured = bench.measure();
  late.join();
  REQUIRE(other);
  CHECK_THAT(why(measured), Contains("which is not the broker 'broker'"));
}

TEST_CASE("another commit than asked for is refused", "[measure]") {
  Bench bench;
  bench.target.commit = "a" + std::string(39, '0');
  CHECK_THAT(why(bench.measure()), Contains("says it is commit") && Contains("asked for was a000"));
  CHECK(bench.is_clean());
  SECTION("a prefix of the right one is enough") {
    bench.target.commit = std::string(test::broker_commit).substr(0, 7);
    CHECK(bench.measure());
  }
}

TEST_CASE("a debug build is refused", "[measure]") {
  Bench bench;
  bench.misbehave({"--version", R"({"build": "RelWithAsserts-DEBUG"})"});
  bench.broker().identity.get.url = "/version";
  bench.broker().identity.build_type = "/build";
  CHECK_THAT(why(bench.measure()), Contains("debug build"));
}

TEST_CASE("a broker that ends at its start is told with its last words", "[measure]") {
  Bench bench;
  bench.broker().args = {"--nonsense", "1"};
  const auto measured = bench.measure();
  CHECK_THAT(why(measured), Contains("ended: exit code 2") && Contains("usage: broker"));
  CHECK(measured.error().code == Code::measure);
  CHECK(bench.is_clean());
}

TEST_CASE("a broker that never gets ready ends at the deadline", "[measure]") {
  Bench bench;
  bench.misbehave({"--status", "503"});
  bench.broker().ready.kind = config::Readiness::Kind::http;
  bench.broker().ready.http.url = "/health";
  bench.broker().ready.deadline_seconds = 0.5;
  CHECK_THAT(why(bench.measure()), Contains("was not ready within 0.5 s") && Contains("answered 503"));
  CHECK(bench.is_clean());
}

TEST_CASE("a program that is not there is a sentence", "[measure]") {
  Bench bench;
  bench.broker().command = {"no-such-broker"};
  const auto measured = bench.measure();
  CHECK_THAT(why(measured), Contains("no-such-broker"));
  CHECK(measured.error().code == Code::measure);
}

TEST_CASE("a chain: names resolve, brokers behind are up first, set-up calls are made", "[measure]") {
  Bench bench;
  auto behind = bench.broker();
  behind.name = "b";
  behind.port = test::free_port();
  behind.args = {"--port", "{b.port}"};
  behind.setup = {{"POST", "/entities", R"({"id": "{short}", "type": "Room"})", {}, {201}}};
  bench.broker().args = {"--port", "{broker.port}", "--forward", "{b.url}"};
  bench.deployment().brokers.push_back(behind);
  auto& load = std::get<config::WrkLoad>(bench.scenario().load);
  load.path = "/entities/{short}";  // found only when the request is forwarded to the one set up
  const auto measured = bench.measure();
  INFO(why(measured));
  CHECK(measured);

  SECTION("an unknown name is an error that helps") {
    bench.broker().args.back() = "{b.ulr}";
    CHECK_THAT(why(bench.measure()), Contains("{b.ulr}") && Contains("{b.url}"));
  }
  SECTION("a set-up call that is refused ends the start") {
    bench.deployment().brokers.back().setup.push_back(behind.setup.front());  // exists already: 409
    CHECK_THAT(why(bench.measure()), Contains("answered 409 where 201 was expected") && Contains("setting up 'b'"));
  }
}

TEST_CASE("a request to stop ends it within seconds, with everything removed", "[measure]") {
  Bench bench;
  std::get<config::WrkLoad>(bench.scenario().load).seconds = 30;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    bench.stop = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto measured = bench.measure();
  later.join();
  CHECK_THAT(why(measured), Contains("stopped on request"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(8));
  CHECK(bench.is_clean());
}

TEST_CASE("what a killed run leaves is removed by the next one, and nothing else", "[measure]") {
  Bench bench;
  REQUIRE(make_directories(bench.config.state / "run"));
  std::get<config::WrkLoad>(bench.scenario().load).seconds = 30;
  const pid_t nightgate = ::fork();
  if (nightgate == 0) {
    (void)bench.measure();
    ::_exit(0);
  }
  REQUIRE(nightgate > 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (listeners(bench.broker().port).empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const auto owner = listeners(bench.broker().port);
  REQUIRE(owner.size() == 1);
  const auto uuid = run_of(owner.front().pid);
  CHECK(uuid.size() == 36);
  Command innocent;  // ours to start, but no part of a run
  innocent.argv = {"sleep", "60"};
  auto bystander = Child::start(innocent, bench.directory.path() / "bystander.log");
  REQUIRE(bystander);

  // While that run lives nothing of it is touched.
  const auto nothing = clean_left_overs(bench.config.state, bench.config.project, nullptr);
  REQUIRE(nothing);
  CHECK(nothing->empty());
  CHECK_FALSE(listeners(bench.broker().port).empty());

  REQUIRE(::kill(nightgate, SIGKILL) == 0);
  int status = 0;
  ::waitpid(nightgate, &status, 0);
  CHECK_FALSE(listeners(bench.broker().port).empty());  // the broker outlived it

  const auto said = clean_left_overs(bench.config.state, bench.config.project, nullptr);
  REQUIRE(said);
  CHECK(said->size() >= 2);
  CHECK(bench.is_clean());
  CHECK(bystander->running());
  for (const auto& process : all_processes()) CHECK(run_of(process.pid) != uuid);
}
