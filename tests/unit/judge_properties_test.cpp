// What must hold for any history: scale, direction, snapshots, no looking ahead, bounded memory.
#include "tests/unit/judge_feed.hpp"

using namespace nightgate::judge;
using nightgate::test::Feed;
using nightgate::test::wobble;

namespace {
// Quiet, a bad night, a regression, its repair, a gain, creep, noise; three series of one machine.
double story(int metric, int i) {
  double x = wobble(1000 * metric + i);
  if (metric == 0 && i >= 40 && i < 50) x -= 0.25;
  if (metric == 0 && i == 30) x -= 0.3;
  if (metric == 1 && i >= 60) x += 0.15;
  if (metric == 1 && i >= 64 && i < 67) x -= 0.15;
  if (metric == 2) x = 0.5 * x - 0.0009 * std::max(0, i - 10);
  return x;
}
constexpr int nights = 150;
NightInput night_of(int i, double scale, Better better) {
  NightInput night;
  night.night = {i + 1, (i + 1) * nightgate::test::day_us};
  night.machine_class = i % 5 == 2 ? "B" : "A";
  for (int m = 0; m < 3; ++m) {
    const double x = story(m, i) + (i % 5 == 2 ? 0.2 : 0);
    night.readings.push_back(
        {"m" + std::to_string(m), better, "d", scale * std::exp(better == Better::higher ? x : -x), {}});
  }
  return night;
}
std::string words(const NightVerdict& night) {
  std::string out;
  for (const MetricVerdict& v : night.metrics) {
    out += std::string(name(v.verdict)) + "/" + std::string(name(v.state)) +
           (v.trip ? std::string(name(v.trip->kind)) : "") + " ";
  }
  return out;
}
std::vector<std::string> verdicts(double scale, Better better, int count = nights) {
  std::vector<std::string> out;
  GateState state;
  for (int i = 0; i < count; ++i) out.push_back(words(step(state, night_of(i, scale, better), {})));
  return out;
}
}  // namespace

TEST_CASE("the story has what it should: trips, gains, recovery", "[judge]") {
  std::string all;
  for (const std::string& v : verdicts(1000, Better::higher)) all += v;
  for (const char* word : {"trip/red", "recovered/", "gain/", "suspect/", "creep"}) {
    INFO(word);
    CHECK(all.find(word) != std::string::npos);
  }
}

TEST_CASE("neither the unit nor the direction matters", "[judge]") {
  const auto plain = verdicts(1000, Better::higher);
  CHECK(verdicts(0.001234, Better::higher) == plain);
  CHECK(verdicts(7e9, Better::higher) == plain);
  CHECK(verdicts(1000, Better::lower) == plain);
}

TEST_CASE("change is negative for worse in both directions", "[judge]") {
  Feed higher;
  Feed lower;
  lower.better = Better::lower;
  higher.quiet(30);
  lower.quiet(30);
  CHECK(higher.value(800).change == nightgate::test::Approx(-0.2).margin(0.02));
  CHECK(lower.value(1250).change == nightgate::test::Approx(-0.25).margin(0.02));
}

TEST_CASE("a snapshot taken and loaded after every night gives the same verdicts and the same snapshot", "[judge]") {
  GateState kept;
  GateState loaded;
  for (int i = 0; i < nights; ++i) {
    const NightInput input = night_of(i, 1000, Better::higher);
    const std::string a = words(step(kept, input, {}));
    auto again = GateState::load(loaded.save());
    REQUIRE(again.has_value());
    loaded = *again;
    REQUIRE(words(step(loaded, input, {})) == a);
    REQUIRE(loaded.save() == kept.save());
  }
}

TEST_CASE("a damaged snapshot is refused, never taken for an empty history", "[judge]") {
  GateState state;
  for (int i = 0; i < 20; ++i) step(state, night_of(i, 1000, Better::higher), {});
  const std::string text = state.save();
  CHECK_FALSE(GateState::load("").has_value());
  CHECK_FALSE(GateState::load("nightgate-gate/2\n").has_value());
  for (std::size_t cut = 0; cut < text.size(); cut += 97) CHECK_FALSE(GateState::load(text.substr(0, cut)).has_value());
  std::string changed = text;
  changed[text.size() / 2] = changed[text.size() / 2] == '1' ? '2' : '1';
  CHECK_FALSE(GateState::load(changed).has_value());
  CHECK_FALSE(GateState::load(text + "more").has_value());
  REQUIRE(GateState::load(text).has_value());
  CHECK_FALSE(GateState::load(text)->empty());
  CHECK(GateState().empty());
}

TEST_CASE("the verdict of a night does not depend on later nights", "[judge]") {
  const auto all = verdicts(1000, Better::higher);
  for (const int count : {7, 31, 42, 61, 99}) {
    const auto some = verdicts(1000, Better::higher, count);
    CHECK(some == std::vector<std::string>(all.begin(), all.begin() + count));
  }
}

TEST_CASE("the snapshot does not grow with the history", "[judge]") {
  GateState state;
  std::size_t after_400 = 0;
  for (int i = 0; i < 2000; ++i) {
    NightInput night = night_of(i % nights, 1000, Better::higher);
    night.night = {i + 1, (i + 1) * nightgate::test::day_us};
    night.digest = "sha256:" + std::to_string(i);
    step(state, night, {});
    if (i == 400) after_400 = state.save().size();
  }
  CHECK(state.save().size() < after_400 + after_400 / 4);
}

TEST_CASE("replay reports trips with their recovery, suspects, gains and who is warming up", "[judge]") {
  History history;
  history.metrics = {{"m", "1/s", Better::higher}, {"young", "1/s", Better::higher}};
  for (int i = 0; i < 60; ++i) {
    History::Night night;
    night.instant = i * nightgate::test::day_us;
    const double level = i >= 40 && i < 45 ? 700 : 1000;
    night.cells.push_back({0, level * std::exp(wobble(i))});
    if (i >= 57) night.cells.push_back({1, 5.0});
    history.nights.push_back(night);
  }
  int seen = 0;
  const ReplayResult result =
      replay(history, replay_rules(), [&](const History::Night&, const NightVerdict&) { ++seen; });
  CHECK(seen == 60);
  CHECK(result.nights == 60);
  CHECK(result.metrics == 2);
  REQUIRE(result.trips.size() == 1);
  CHECK(result.trips[0].trip.first.instant == 40 * nightgate::test::day_us);
  CHECK(result.trips[0].trip.tripped.instant == 41 * nightgate::test::day_us);
  REQUIRE(result.trips[0].recovered.has_value());
  CHECK(result.trips[0].recovered->instant ==
        45 * nightgate::test::day_us);  // one clear good night is enough in a replay
  CHECK(result.suspects.size() == 2);
  REQUIRE(result.warming_up.size() == 1);
  CHECK(result.warming_up[0].metric == "young");
  CHECK(result.warming_up[0].nights_left == 3);
}

TEST_CASE("in a replay an old level is forgotten after ten nights", "[judge]") {
  Feed feed;
  feed.rules = replay_rules();
  feed.quiet(30);
  feed.value(800);
  feed.value(800);
  for (int i = 0; i < 10; ++i) CHECK(feed.value(800 * std::exp(wobble(i))).red);
  CHECK_FALSE(feed.value(800).red);
}

TEST_CASE("a state kept by the version before is read, and the night after it goes on from there", "[judge]") {
  // Seven nights and a suspect one.
  const std::string text =
      "nightgate-gate/1\n"
      "8 1 8 691200000000 8 1 8:sha256:1 2 8:sha256:2 3 8:sha256:3 4 8:sha256:4 5 8:sha256:5 6 8:sha256:6 7 8:sha256:7 "
      "8 8:sha256:8 0\n"
      "1 1:m 0 2:d1 -6.90875477931522 1 8 6 0.006906820865515219 8 691200000000 30 7 0 -0.0009985 0.0009995 0 "
      "-0.0009985 0.0009995 0 7 1 2 3 4 5 6 7 7 0 -0.0009985 0.0009995 0 -0.0009985 0.0009995 0 n 7 0 7 604800000000 "
      "120 7 0 -0.0009985 0.0009995 0 -0.0009985 0.0009995 0 0.0010698938962440865 119 7 0.0009985 0.001998 0.0009995 "
      "0.0009985 0.001998 0.0009995 0.35767445 60 7 0 -0.0009985 0.0009995 0 -0.0009985 0.0009995 0 120 8 0 -0.0009985 "
      "0.0009995 0 -0.0009985 0.0009995 0 0.35767445 0.35767444 0.35767444 2 7 604800000000 6 518400000000 0 0 0 8 "
      "691200000000 7 604800000000 0.35767444 0.35767444 1 0 0 0 1 1 0.35767444 1 8 691200000000 0: 0 0\n"
      "5527363078275656559\n";
  auto state = GateState::load(text);
  REQUIRE(state.has_value());
  NightInput night;
  night.night = {9, 9 * 86'400'000'000LL};
  night.digest = "sha256:9";
  night.readings.push_back({"m", Better::higher, "d1", 702, {}});
  const Rules rules;
  CHECK(step(*state, night, rules).metrics.at(0).verdict == Verdict::trip);
  CHECK(state->save().substr(0, 17) == "nightgate-gate/2\n");
}
