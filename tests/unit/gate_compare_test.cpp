// The steps of a compare, with a measurer that plays figures: what can't be had on time from a real machine (it differs
// from itself once, it differs always, somebody stops the run). Real arms: tests/e2e/test_compare_arms.py.
#include <cmath>
#include <functional>

#include "gate/compare.hpp"
#include "tests/support/catch.hpp"

namespace nightgate::test {
namespace {

using compare::Outcome;
using judge::PairVerdict;
using Figures = std::map<std::string, double>;

class StandingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {}; }
  [[nodiscard]] std::chrono::nanoseconds monotonic() const override { return time; }
  void sleep_for(std::chrono::nanoseconds duration) override { time += duration; }
  std::chrono::nanoseconds time{};
};

// About 1 % of noise, the same in every run.
double wobble(int i) { return 1 + 0.01 * std::sin(12.9898 * i + 78.233); }

class Player final : public measure::Measurer {
 public:
  // Of the call-th measurement of the arm with this label; empty figures: it can't be measured.
  std::function<Figures(const std::string& label, int call)> figures;
  std::function<Answer(const std::string& label, const std::string& scenario, int request)> answer;
  std::map<std::string, int> calls;
  std::vector<std::string> order, asked;
  StandingClock clock;

  Result<measure::MachineInfo> machine() override { return measure::MachineInfo{}; }
  Result<std::vector<std::string>> clean_left_overs() override { return std::vector<std::string>{}; }
  Result<measure::Definition> definition(const config::Deployment&, const config::Scenario&) override {
    return measure::Definition{};
  }
  Result<measure::Measurement> measure(const targets::Target& target, const config::Deployment& deployment,
                                       const config::Scenario& scenario, int start) override {
    clock.time += std::chrono::seconds(1);
    order.push_back(target.label);
    const auto played = figures(target.label, calls[target.label]++);
    if (played.empty()) return fail(Code::measure, "it fell over");
    measure::Measurement out;
    out.deployment = deployment.name;
    out.scenario = scenario.name;
    out.start = start;
    out.repeats.emplace_back();
    for (const auto& [name, value] : played) {
      out.metrics[name] = {"1/s", config::Better::higher, true};
      out.repeats[0].samples.push_back({name, value});
    }
    return out;
  }
  Result<std::vector<Answer>> answers(const targets::Target& target, const config::Deployment&,
                                      const config::Scenario& scenario,
                                      const std::vector<config::Equivalence>& requests) override {
    asked.push_back(scenario.name);
    std::vector<Answer> out;
    for (std::size_t i = 0; i < requests.size(); ++i)
      out.push_back(answer(target.label, scenario.name, static_cast<int>(i)));
    return out;
  }
};

config::Config one_scenario() {
  config::Config config;
  config.deployments.emplace_back().name = "d";
  config.scenarios.emplace_back().name = "s";
  return config;
}
std::vector<targets::Target> arms(const std::vector<std::string>& labels) {
  std::vector<targets::Target> out;
  for (const auto& label : labels) {
    auto& target = out.emplace_back();
    target.label = label;
    target.digest = "sha256:" + label;
  }
  return out;
}

struct Ran {
  Result<Outcome> result;
  const Outcome& operator*() const { return *result; }
};
Ran run(Player& player, const std::vector<targets::Target>& targets, const compare::Options& options = {},
        const config::Config& config = one_scenario()) {
  compare::Observer nobody;
  return {compare::run(config, targets, options, player, player.clock, nobody)};
}
const compare::MetricOutcome& metric(const compare::ArmOutcome& arm, const std::string& name) {
  for (const auto& m : arm.metrics) {
    if (m.metric == name) return m;
  }
  FAIL("no metric " << name);
  return arm.metrics.front();
}

// Each arm's level by its label; 1 % noise.
std::function<Figures(const std::string&, int)> levels(const std::map<std::string, double>& of) {
  return [of](const std::string& label, int call) {
    return Figures{{"rate", of.at(label) * wobble(call + 100 * static_cast<int>(label.size()))}};
  };
}

}  // namespace

TEST_CASE("a ladder judges each candidate against base and against the one below", "[compare]") {
  Player player;
  player.figures = levels({{"main", 1000}, {"pool", 1200}, {"checks", 1080}});
  compare::Options options;
  options.ladder = true;
  const auto ran = run(player, arms({"main", "pool", "checks"}), options);
  REQUIRE(ran.result);
  REQUIRE((*ran).heads.size() == 2);
  REQUIRE((*ran).rungs.size() == 1);
  CHECK((*ran).heads[0].verdict == PairVerdict::better);
  CHECK((*ran).heads[1].verdict == PairVerdict::better);
  CHECK((*ran).rungs[0].arm == 2);
  CHECK((*ran).rungs[0].reference == 1);
  CHECK((*ran).rungs[0].verdict == PairVerdict::worse);
  CHECK(metric((*ran).rungs[0], "d.s.rate").result.change == Approx(-0.1).margin(0.02));
  CHECK((*ran).comparisons == 3);
  CHECK((*ran).verdict() == PairVerdict::worse);  // the stack got slower at one of its steps
  // Three arms rotate.
  const auto pairs = std::vector<std::string>(player.order.begin() + 2, player.order.begin() + 11);
  CHECK(pairs ==
        std::vector<std::string>{"main", "pool", "checks", "pool", "checks", "main", "checks", "main", "pool"});
  CHECK(run(player, arms({"main", "pool"}), options).result.error().code == Code::usage);
}

TEST_CASE("arms of one digest are measured once, and said to be the same", "[compare]") {
  Player player;
  player.figures = levels({{"main", 1000}, {"pool", 1200}});
  compare::Options options;
  options.ladder = true;
  auto targets = arms({"main", "pool", "again"});
  targets[2].digest = targets[1].digest;
  const auto ran = run(player, targets, options);
  REQUIRE(ran.result);
  CHECK(player.calls.count("again") == 0);
  CHECK((*ran).heads[1].verdict == PairVerdict::better);
  CHECK((*ran).rungs[0].verdict == PairVerdict::same);
  CHECK_THAT((*ran).rungs[0].reason, Contains("same target"));
  CHECK((*ran).comparisons == 1);
}

TEST_CASE("a machine that differs from itself once is given a second A/A", "[compare]") {
  Player player;
  player.figures = [](const std::string& label, int call) {
    return Figures{{"rate", (label == "main" && call == 1 ? 500 : label == "main" ? 1000 : 700) * wobble(call)}};
  };
  const auto ran = run(player, arms({"main", "slow"}));
  REQUIRE(ran.result);
  CHECK((*ran).aa_retried);
  CHECK((*ran).aa_complaint.empty());
  CHECK((*ran).verdict() == PairVerdict::worse);
  CHECK(metric((*ran).heads[0], "d.s.rate").result.aa_spread > 0.6);  // the wild pair stays in the noise
}

TEST_CASE("only metrics that go on differing from themselves are refused, and nobody waits for them", "[compare]") {
  Player player;
  player.figures = [](const std::string& label, int call) {
    return Figures{{"rate", (label == "main" ? 1000 : 700) * wobble(call)}, {"wild", call % 2 == 0 ? 1000 : 2000}};
  };
  const auto ran = run(player, arms({"main", "slow"}));
  REQUIRE(ran.result);
  CHECK((*ran).aa_complaint.empty());
  CHECK(metric((*ran).heads[0], "d.s.rate").result.verdict == PairVerdict::worse);
  const auto& wild = metric((*ran).heads[0], "d.s.wild").result;
  CHECK(wild.verdict == PairVerdict::no_verdict);
  CHECK_THAT(wild.reason, Contains("differs from itself"));
  CHECK((*ran).rounds < 20);
  CHECK((*ran).heads[0].geometric_index == Approx(70).margin(2));  // without the refused one
}

TEST_CASE("when every metric differs from itself nothing is judged", "[compare]") {
  Player player;
  player.figures = [](const std::string&, int call) { return Figures{{"wild", call % 2 == 0 ? 1000 : 2000}}; };
  const auto ran = run(player, arms({"main", "slow"}));
  REQUIRE(ran.result);
  CHECK_THAT((*ran).aa_complaint, Contains("d.s.wild"));
  CHECK((*ran).rounds == 0);
  CHECK((*ran).verdict() == PairVerdict::no_verdict);
  CHECK(player.order.size() == 6);  // one pair, and two more
}

TEST_CASE("no whole A/A pair is no A/A", "[compare]") {
  Player player;
  player.figures = [](const std::string& label, int call) {
    return label == "main" && call % 2 == 1 ? Figures{} : Figures{{"rate", 1000.0}};
  };
  const auto ran = run(player, arms({"main", "slow"}));
  REQUIRE_FALSE(ran.result);
  CHECK(ran.result.error().code == Code::measure);
  CHECK_THAT(ran.result.error().text(), Contains("could not be measured against itself"));
}

TEST_CASE("a metric that head does not have is named, and not waited for", "[compare]") {
  Player player;
  player.figures = [](const std::string& label, int call) {
    auto out = Figures{{"rate", 1000 * wobble(call)}, {"gone", 5.0}};
    if (label != "main") out.erase("gone");
    return out;
  };
  const auto ran = run(player, arms({"main", "topic"}));
  REQUIRE(ran.result);
  CHECK(metric((*ran).heads[0], "d.s.gone").result.reason == "head has no such number");
  CHECK(metric((*ran).heads[0], "d.s.rate").result.verdict == PairVerdict::same);
  CHECK((*ran).rounds < 30);
  CHECK((*ran).verdict() == PairVerdict::no_verdict);
}

TEST_CASE("stopped on request: what was decided stands, and nothing is an arm's fault", "[compare]") {
  Player player;
  player.figures = [&](const std::string& label, int call) {
    if (player.order.size() > 9) return Figures{};
    return Figures{{"rate", (label == "main" ? 1000 : 990) * wobble(call)}};
  };
  compare::Options options;
  options.stop = [&] { return player.order.size() > 9; };
  const auto ran = run(player, arms({"main", "topic"}), options);
  REQUIRE(ran.result);
  CHECK((*ran).stopped);
  CHECK((*ran).rounds == 3);
  CHECK((*ran).void_pairs.empty());
  CHECK((*ran).verdict() == PairVerdict::no_verdict);
  options.stop = [] { return true; };
  CHECK(run(player, arms({"main", "topic"}), options).result.error().code == Code::measure);
}

TEST_CASE("one candidate of several that falls over leaves the others their verdicts; base does not", "[compare]") {
  Player player;
  const auto figures = [&](const std::string& broken) {
    return [broken](const std::string& label, int call) {
      if (label == broken && call > 1) return Figures{};
      return Figures{{"rate", (label == "slow" ? 700 : 1000) * wobble(call)}};
    };
  };
  player.figures = figures("shaky");
  const auto ran = run(player, arms({"main", "shaky", "slow"}));
  REQUIRE(ran.result);
  CHECK((*ran).heads[0].verdict == PairVerdict::no_verdict);
  CHECK_THAT((*ran).heads[0].reason, Contains("three times in a row"));
  CHECK((*ran).heads[1].verdict == PairVerdict::worse);
  CHECK((*ran).void_pairs.size() == 3);
  player.figures = figures("main");
  player.calls.clear();
  CHECK(run(player, arms({"main", "shaky", "slow"})).result.error().code == Code::measure);
  player.figures = figures("shaky");
  player.calls.clear();
  CHECK(run(player, arms({"main", "shaky"})).result.error().code == Code::measure);
}

TEST_CASE("equivalence: who answers differently is not judged, the others are; empty stores are not asked",
          "[compare]") {
  auto config = one_scenario();
  config.scenarios.emplace_back().name = "filled";
  config.scenarios.back().fixture.command = {"fill"};
  config.compare.equivalence.resize(2);
  Player player;
  player.figures = levels({{"main", 1000}, {"wrong", 2000}, {"slow", 700}});
  player.answer = [](const std::string& label, const std::string&, int request) {
    const bool wrong = label == "wrong" && request == 1;
    return measure::Measurer::Answer{"GET /" + std::to_string(request), 200, std::to_string(request + (wrong ? 7 : 0)),
                                     wrong ? "nothing" : "body", false};
  };
  const auto ran = run(player, arms({"main", "wrong", "slow"}), {}, config);
  REQUIRE(ran.result);
  CHECK(player.asked == std::vector<std::string>{"filled", "filled", "filled"});
  CHECK((*ran).heads[0].differs);
  CHECK((*ran).heads[0].verdict == PairVerdict::no_verdict);
  CHECK(player.calls.count("wrong") == 0);
  CHECK((*ran).heads[1].verdict == PairVerdict::worse);
  REQUIRE((*ran).differences.size() == 1);
  CHECK((*ran).differences[0].arm == 1);
  CHECK((*ran).differences[0].where == "d.filled");
  CHECK((*ran).differences[0].request == "GET /1");
}

TEST_CASE("equivalence that could not fail is a mistake in the config", "[compare]") {
  auto config = one_scenario();
  config.compare.equivalence.resize(2);
  Player player;
  player.figures = levels({{"main", 1000}, {"topic", 1000}});
  const auto refused = [&](const measure::Measurer::Answer& first, const measure::Measurer::Answer& second) {
    player.answer = [=](const std::string&, const std::string&, int request) { return request == 0 ? first : second; };
    const auto ran = run(player, arms({"main", "topic"}), {}, config);
    return !ran.result && ran.result.error().code == Code::usage;
  };
  const measure::Measurer::Answer good{"GET /1", 200, "1", "one", false}, other{"GET /2", 200, "2", "two", false};
  CHECK_FALSE(refused(good, other));
  CHECK(refused(good, good));
  CHECK(refused(good, {"GET /2", 404, "2", "gone", false}));
  CHECK(refused(good, {"GET /2", 200, "2", "[]", true}));
}

}  // namespace nightgate::test
