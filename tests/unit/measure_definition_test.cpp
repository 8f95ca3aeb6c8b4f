#include "gate/measure/definition.hpp"

#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;

namespace {

config::Deployment deployment() {
  config::Deployment out;
  out.name = "memory";
  config::Node broker;
  broker.name = "broker";
  broker.args = {"--database", "none"};
  out.brokers = {broker};
  config::Node service;
  service.name = "mongo";
  service.image = "mongo:8.0";
  out.services = {service};
  return out;
}

config::Scenario scenario() {
  config::Scenario out;
  out.name = "create";
  config::WrkLoad load;
  load.script = "create.lua";
  out.load = load;
  return out;
}

DefinitionParts parts() {
  DefinitionParts out;
  out.files["create.lua"] = "content 1";
  out.services["mongo"] = "sha256:1";
  out.load_tool = "wrk 4.1.0";
  out.placement = "broker 0, load 1";
  return out;
}

std::string hash(const config::Deployment& d, const config::Scenario& s, const DefinitionParts& p) {
  return make_definition(d, s, p).hash;
}

}  // namespace

TEST_CASE("whatever shapes a number changes the definition", "[measure]") {
  const auto before = hash(deployment(), scenario(), parts());
  CHECK(before.size() == 16);
  CHECK(hash(deployment(), scenario(), parts()) == before);
  auto d = deployment();
  auto s = scenario();
  auto p = parts();
  SECTION("argument") { d.brokers[0].args.emplace_back("--threads"); }
  SECTION("environment") { d.brokers[0].environment["A"] = "b"; }
  SECTION("memory") { d.services[0].memory_mb = 100; }
  SECTION("service image digest") { p.services["mongo"] = "sha256:2"; }
  SECTION("script content") { p.files["create.lua"] = "content 2"; }
  SECTION("connections") { std::get<config::WrkLoad>(s.load).connections = 11; }
  SECTION("another kind of load") { s.load = config::OpenLoad{}; }
  SECTION("fixture") { s.fixture.calls.push_back({"POST", "/entities", "{}", {}, {}}); }
  SECTION("fixture size") { s.fixture.expect = 5; }
  SECTION("store rule") { s.store = config::StoreRule::grows; }
  SECTION("load tool") { p.load_tool = "wrk 4.2.0"; }
  SECTION("placement") { p.placement = "broker 0-1, load 2"; }
  CHECK(hash(d, s, p) != before);
}

TEST_CASE("what doesn't shape a number begins no new level", "[measure]") {
  const auto before = hash(deployment(), scenario(), parts());
  auto d = deployment();
  auto s = scenario();
  SECTION("names") {
    d.name = "other";
    s.name = "other";
  }
  SECTION("more repeats") { s.repeats = 9; }
  SECTION("gating") { s.metrics["rate"].gated = false; }
  SECTION("readiness") { d.brokers[0].ready.deadline_seconds = 5; }
  CHECK(hash(d, s, parts()) == before);
}

TEST_CASE("a command stands for its files' content, wherever they lie", "[measure]") {
  const auto dir = TempDir::make("ng-definition");
  REQUIRE(dir);
  REQUIRE(write_file(dir->path() / "load.sh", "one"));
  auto s = scenario();
  s.load = config::CommandLoad{{"sh", "load.sh", "{target}"}, "json", {}, 10};
  const auto first = hash_files(s, dir->path());
  REQUIRE(first);
  CHECK(first->size() == 1);
  REQUIRE(write_file(dir->path() / "load.sh", "two"));
  const auto second = hash_files(s, dir->path());
  REQUIRE(second);
  auto p = parts();
  p.files = *first;
  const auto before = hash(deployment(), s, p);
  p.files = *second;
  CHECK(hash(deployment(), s, p) != before);
}

TEST_CASE("a script that is not there is an error", "[measure]") {
  CHECK_FALSE(hash_files(scenario(), "/nonexistent"));
}
