// The answers of a fresh start, for saying whether two versions still do the same.
#include "tests/component/measure_support.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using Catch::Matchers::Contains;
using nightgate::test::Bench;

TEST_CASE("the answers of a real broker after its fixture", "[measure]") {
  Bench bench;
  bench.scenario().fixture.calls = {{"POST", "/entities", R"({"id": "one", "type": "Room"})", {}, {201}}};
  const std::vector<config::Equivalence> requests = {
      {{"GET", "/entities/one", "", {}, {}}, {}},
      {{"GET", "/entities/two", "", {}, {}}, {}},
      {{"GET", "/version", "", {}, {}}, {"/commit"}},
  };
  const auto measurer = bench.measurer();
  const auto first = measurer->answers(bench.target, bench.deployment(), bench.scenario(), requests);
  REQUIRE(first);
  REQUIRE(first->size() == 3);
  CHECK(first->at(0).status == 200);
  CHECK_THAT(first->at(0).body, Contains("\"one\""));
  CHECK(first->at(1).status == 404);
  const auto second = measurer->answers(bench.target, bench.deployment(), bench.scenario(), requests);
  REQUIRE(second);
  for (std::size_t i = 0; i < 3; ++i) CHECK(first->at(i).hash == second->at(i).hash);
  CHECK(bench.is_clean());
}

TEST_CASE("the lock of the host is one for everybody and names its holder", "[measure]") {
  auto held = measure::lock_host("a test", std::chrono::seconds(60));
  REQUIRE(held);
  const auto second = measure::lock_host("another", std::chrono::seconds(0));
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Code::busy);
  CHECK_THAT(second.error().message, Contains("a test"));
}
