#include "bisect/search/broker.hpp"
#include "bisect/search/engine.hpp"
#include "bisect/search/simulate.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/search_drive.hpp"

using namespace nightgate::search;

namespace {

Simulation small(int runs) {
  Simulation simulation;
  simulation.merges = 32;
  simulation.effect = 0.4;
  simulation.noise = 0.1;
  simulation.runs = runs;
  return simulation;
}

}  // namespace

TEST_CASE("simulated bisects name the culprit and repeat exactly", "[search]") {
  const SimulationResult first = simulate(small(40));
  CHECK(first.right >= 0.95);
  CHECK(first.right + first.wrong + first.undecided == Approx(1.0));
  CHECK(first.measurements_mean > 10);
  CHECK(first.measurements_mean < 40);
  CHECK(first.measurements_p95 >= first.measurements_mean);
  const SimulationResult again = simulate(small(40));
  CHECK(again.right == first.right);
  CHECK(again.measurements_mean == first.measurements_mean);
  Simulation other = small(40);
  other.seed = 2;
  CHECK(simulate(other).measurements_mean != first.measurements_mean);
}

TEST_CASE("simulated trouble is survived", "[search]") {
  Simulation simulation = small(25);
  SECTION("walk") { simulation.drift = Drift::walk; }
  SECTION("jump") { simulation.drift = Drift::jump; }
  SECTION("trend") { simulation.drift = Drift::trend; }
  SECTION("outliers") { simulation.outliers = 0.05; }
  SECTION("slow side noisier") { simulation.slow_noise = 2; }
  SECTION("missing") { simulation.missing = 0.3; }
  SECTION("none") { simulation.culprits = 0; }
  SECTION("two") { simulation.culprits = 2; }
  SECTION("machines") { simulation.machines = 3; }
  const SimulationResult result = simulate(simulation);
  CHECK(result.right >= 0.88);
}

TEST_CASE("classic halving is there to compare with", "[search]") {
  Simulation simulation = small(200);
  simulation.effect = 0.1;
  simulation.strategy = Strategy::halving1;
  const SimulationResult once = simulate(simulation);
  CHECK(once.measurements_mean == Approx(5));
  simulation.strategy = Strategy::halving5;
  const SimulationResult five = simulate(simulation);
  CHECK(five.measurements_mean == Approx(25));
  CHECK(five.right > once.right + 0.1);
  simulation.drift = Drift::walk;
  CHECK(simulate(simulation).right < five.right);
}

TEST_CASE("simulations that make no sense are refused", "[search]") {
  Simulation simulation = small(10);
  simulation.culprits = 3;
  CHECK(invalid(simulation));
  CHECK(simulate(simulation).measurements_mean == 0);
  simulation = small(10);
  simulation.missing = 1;
  CHECK(invalid(simulation));
  simulation = small(10);
  simulation.effect = 0;
  CHECK(invalid(simulation));
}

TEST_CASE("the engine decides as decide() does", "[search]") {
  const Problem problem = test::problem_of(32, 0.25);
  const test::Measure measure = test::broker(9, 0.25);
  Engine engine(problem);
  std::vector<Observation> log;
  for (;;) {
    const Decision fast = engine.decide(log);
    const Decision plain = decide(problem, log);
    REQUIRE(fast.next.size() == plain.next.size());
    CHECK(fast.answer.posterior == plain.answer.posterior);
    if (fast.next.empty()) break;
    CHECK(fast.next[0].points == plain.next[0].points);
    test::measure_one(log, fast.next[0], measure);
  }
  CHECK(decide(problem, log).answer.culprit == 9);
}

TEST_CASE("the generator is portable and roughly normal", "[search]") {
  Random random(1);
  CHECK(random.next() == 0x910A2DEC89025CC1ULL);  // splitmix64's published first output for seed 1
  double sum = 0;
  double square = 0;
  const int count = 20000;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    sum += x;
    square += x * x;
  }
  CHECK(sum / count == Approx(0.0).margin(0.03));
  CHECK(square / count == Approx(1.0).margin(0.05));
  Broker quiet(small(1), 7);
  CHECK(quiet.largest() >= 1);
  CHECK(quiet.is_culprit(quiet.largest()));
}

TEST_CASE("names of drifts and strategies", "[search]") {
  CHECK(drift_from("walk") == Drift::walk);
  CHECK_FALSE(drift_from("sideways"));
  CHECK(strategy_from("halving3") == Strategy::halving3);
  CHECK_FALSE(strategy_from(""));
  CHECK(phase_from(to_string(Phase::confirm)) == Phase::confirm);
  CHECK_FALSE(phase_from("nothing"));
  CHECK(to_string(Outcome::not_reproduced) == "not_reproduced");
}
