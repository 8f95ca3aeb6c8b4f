// The rules of design.md "Judging", one by one.
#include "tests/unit/judge_feed.hpp"

using namespace nightgate::judge;
using nightgate::test::Feed;
using nightgate::test::wobble;

TEST_CASE("a new series warms up and says how many nights are left", "[judge]") {
  Feed feed;
  for (int left = 5; left >= 1; --left) {
    const MetricVerdict v = feed.value(1000);
    CHECK(v.verdict == Verdict::warming_up);
    CHECK(v.nights_left == left);
    CHECK(feed.state.summary().at(0).nights_left == left);
  }
  CHECK(feed.value(1000).nights_left == 0);
  CHECK(feed.value(1000).verdict == Verdict::good);
}

TEST_CASE("one bad night is a suspect, the second trips, two good ones recover", "[judge]") {
  Feed feed;
  feed.quiet(30);
  const MetricVerdict first = feed.value(800);
  CHECK(first.verdict == Verdict::suspect);
  CHECK(first.state == SeriesState::suspect);
  CHECK_FALSE(first.red);
  CHECK(first.change == nightgate::test::Approx(-0.2).margin(0.02));
  CHECK(first.suspect_since->sequence == 31);

  const NightVerdict night = feed.night({{"m", 805}});
  const MetricVerdict& second = night.metrics.at(0);
  REQUIRE(second.verdict == Verdict::trip);
  CHECK(second.trip->kind == TripKind::step);
  CHECK(second.trip->first.sequence == 31);
  CHECK(second.trip->last_good.sequence == 30);
  CHECK(second.trip->tripped.sequence == 32);
  CHECK(second.trip->change == nightgate::test::Approx(-0.2).margin(0.02));
  CHECK(second.trip->baseline == nightgate::test::Approx(1000).epsilon(0.01));
  REQUIRE(night.groups.size() == 1);
  CHECK(night.groups[0].metrics == std::vector<std::string>{"m"});

  CHECK(feed.value(802).verdict == Verdict::red);
  CHECK(feed.value(1001).verdict == Verdict::recovery_pending);
  const MetricVerdict back = feed.value(999);
  CHECK(back.verdict == Verdict::recovered);
  CHECK(back.trip->first.sequence == 31);
  CHECK_FALSE(back.red);
  const MetricVerdict after = feed.value(1000);
  CHECK(after.verdict == Verdict::good);
  CHECK(after.baseline == nightgate::test::Approx(1000).epsilon(0.01));
}

TEST_CASE("a good night clears a suspicion, and bad nights never enter the baseline", "[judge]") {
  Feed feed;
  feed.quiet(30);
  const double before = feed.value(1000).baseline;
  CHECK(feed.value(700).verdict == Verdict::suspect);
  CHECK(feed.value(1000).verdict == Verdict::good);
  CHECK(feed.value(1000).state == SeriesState::steady);
  for (int i = 0; i < 3; ++i) {
    CHECK(feed.value(700).verdict == Verdict::suspect);
    CHECK(feed.value(1000).verdict == Verdict::good);
  }
  CHECK(feed.value(1000).baseline == nightgate::test::Approx(before).epsilon(0.005));
}

TEST_CASE("nights nearer than min_gap_hours do not confirm each other", "[judge]") {
  Feed feed;
  feed.quiet(30);
  CHECK(feed.value(800).verdict == Verdict::suspect);
  CHECK(feed.value(800, 2).verdict == Verdict::suspect);
  CHECK(feed.value(800, 24).verdict == Verdict::trip);
}

TEST_CASE("nights more often than min_gap_hours trip all the same", "[judge]") {
  Feed feed;
  const double hours = GENERATE(4.0, 8.0, 11.0);
  for (int i = 0; i < 60; ++i) feed.value(1000 * std::exp(wobble(i)), hours);
  int nights = 0;
  bool tripped = false;
  while (!tripped && nights < 8) {
    ++nights;
    tripped = feed.value(500, hours).verdict == Verdict::trip;
  }
  CHECK(tripped);
  CHECK((nights - 1) * hours >= 12);
  CHECK((nights - 2) * hours < 12);
  SECTION("a good night between two bad ones is heard") {
    Feed other;
    for (int i = 0; i < 60; ++i) other.value(1000 * std::exp(wobble(i)), 8);
    CHECK(other.value(700, 8).verdict == Verdict::suspect);
    CHECK(other.value(1000, 8).verdict == Verdict::good);
    CHECK(other.value(700, 8).verdict == Verdict::suspect);
  }
}

TEST_CASE("trip_after asks for more bad nights", "[judge]") {
  Feed feed;
  feed.rules.trip_after = 3;
  feed.rules.expert.lines.resize(1);
  feed.quiet(30);
  CHECK(feed.value(800).verdict == Verdict::suspect);
  CHECK(feed.value(800).verdict == Verdict::suspect);
  CHECK(feed.value(800).verdict == Verdict::trip);
}

TEST_CASE("a missing night neither counts nor clears, and is listed by name", "[judge]") {
  Feed feed;
  feed.quiet(30);
  CHECK(feed.value(800).verdict == Verdict::suspect);
  NightInput empty = feed.input({});
  empty.missing.push_back({"m", "the load run failed"});
  const NightVerdict night = step(feed.state, empty, feed.rules);
  REQUIRE(night.metrics.size() == 1);
  CHECK(night.metrics[0].verdict == Verdict::no_verdict);
  CHECK(night.metrics[0].reason == "the load run failed");
  CHECK(night.metrics[0].state == SeriesState::suspect);
  CHECK(night.any_open_question);
  CHECK(feed.value(800).verdict == Verdict::trip);

  const NightVerdict silent = feed.night({});  // nobody said it was expected, but it is red
  REQUIRE(silent.metrics.size() == 1);
  CHECK(silent.metrics[0].red);
  CHECK(silent.metrics[0].verdict == Verdict::no_verdict);
}

TEST_CASE("values that cannot be judged are no verdict and change nothing", "[judge]") {
  Feed feed;
  feed.quiet(30);
  for (const double bad : {0.0, -5.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK(feed.value(bad).verdict == Verdict::no_verdict);
  }
  const NightVerdict twice = feed.night({{"m", 1000}, {"m", 500}});
  CHECK(twice.metrics[0].verdict == Verdict::good);
  CHECK(twice.metrics[1].verdict == Verdict::no_verdict);
  const std::string before = feed.state.save();
  NightInput old = feed.input({{"m", 500}});
  old.night.sequence = 3;
  CHECK(step(feed.state, old, feed.rules).metrics[0].verdict == Verdict::no_verdict);
  CHECK(feed.state.save() == before);
}

TEST_CASE("the same target that measures differently is environment, not a suspect", "[judge]") {
  Feed feed;
  feed.quiet(29);
  feed.digest = "sha256:a";
  feed.value(1000);
  const MetricVerdict again = feed.value(700);
  CHECK(again.verdict == Verdict::environment_suspect);
  CHECK(again.state == SeriesState::steady);
  feed.digest = "sha256:b";
  CHECK(feed.value(500).verdict == Verdict::suspect);  // more than the surroundings explain
  CHECK(feed.value(500).verdict == Verdict::trip);     // the bad target again: it was never accepted
}

TEST_CASE("a machine that stays slower under an unchanged target is a new level, and no merge is blamed", "[judge]") {
  Feed feed;
  feed.quiet(29);
  feed.digest = "sha256:a";
  feed.value(1000);
  CHECK(feed.value(700).verdict == Verdict::environment_suspect);
  SECTION("the same target once more") {
    const MetricVerdict v = feed.value(705);
    CHECK(v.verdict == Verdict::new_level);
    CHECK_FALSE(v.red);
  }
  SECTION("the next target is where the unchanged one was") {
    feed.digest = "sha256:b";
    const MetricVerdict v = feed.value(705);
    CHECK(v.verdict == Verdict::new_level);
    CHECK(v.reason.find("unchanged target") != std::string::npos);
  }
  feed.digest = "sha256:c";
  for (int i = 0; i < 10; ++i) CHECK(feed.value(702 * std::exp(wobble(i))).verdict == Verdict::good);
  feed.digest = "sha256:d";
  CHECK(feed.value(560).verdict == Verdict::suspect);
  CHECK(feed.value(560).verdict == Verdict::trip);
}

TEST_CASE("surroundings that were bad for one night explain nothing later", "[judge]") {
  Feed feed;
  feed.quiet(29);
  feed.digest = "sha256:a";
  feed.value(1000);
  CHECK(feed.value(700).verdict == Verdict::environment_suspect);
  CHECK(feed.value(1000).verdict == Verdict::good);
  feed.digest = "sha256:b";
  CHECK(feed.value(700).verdict == Verdict::suspect);
  CHECK(feed.value(700).verdict == Verdict::trip);
}

TEST_CASE("another definition begins a new level, announced, and never trips", "[judge]") {
  Feed feed;
  const auto with = [&](double value, const std::string& definition) {
    NightInput night = feed.input({{"m", value}});
    night.readings[0].definition = definition;
    return step(feed.state, night, feed.rules).metrics.at(0);
  };
  for (int i = 0; i < 20; ++i) with(1000 * std::exp(wobble(i)), "d1");
  CHECK(with(500, "d2").verdict == Verdict::new_level);
  for (int i = 0; i < 20; ++i) {
    const Verdict v = with(500 * std::exp(wobble(i)), "d2").verdict;
    CHECK((v == Verdict::warming_up || v == Verdict::good));
  }
  CHECK(with(400, "d2").verdict == Verdict::suspect);
  CHECK(with(400, "d2").verdict == Verdict::trip);
}

TEST_CASE("a gain needs two nights and moves the level; losing it again is no trip", "[judge]") {
  Feed feed;
  feed.quiet(30);
  CHECK(feed.value(1200).verdict == Verdict::gain_pending);
  const MetricVerdict gain = feed.value(1210);
  CHECK(gain.verdict == Verdict::gain);
  CHECK(gain.change == nightgate::test::Approx(0.2).margin(0.02));
  for (int i = 0; i < 4; ++i) CHECK(feed.value(1205).verdict == Verdict::good);
  CHECK(feed.value(1000).verdict == Verdict::suspect);
  CHECK(feed.value(1000).verdict == Verdict::gain_lost);
  CHECK(feed.value(1000).verdict == Verdict::good);
}

TEST_CASE("while red a further drop trips against the working level", "[judge]") {
  Feed feed;
  feed.quiet(30);
  feed.value(800);
  REQUIRE(feed.value(800).verdict == Verdict::trip);
  for (int i = 0; i < 12; ++i) CHECK(feed.value(800 * std::exp(wobble(i))).verdict == Verdict::red);
  CHECK(feed.value(600).verdict == Verdict::suspect);
  CHECK(feed.value(600).verdict == Verdict::trip);
  CHECK(feed.state.summary().at(0).open_trips.size() == 2);
  feed.value(1000);
  CHECK(feed.value(1000).verdict == Verdict::recovered);
  CHECK(feed.state.summary().at(0).open_trips.empty());
}

TEST_CASE("accept closes the trip and keeps the level", "[judge]") {
  Feed feed;
  feed.quiet(30);
  CHECK_FALSE(feed.state.accept("m"));
  CHECK_FALSE(feed.state.accept("nobody"));
  feed.value(800);
  feed.value(800);
  CHECK(feed.state.accept("m"));
  const MetricVerdict v = feed.value(800);
  CHECK(v.verdict == Verdict::good);
  CHECK_FALSE(v.red);
  for (int i = 0; i < 10; ++i) CHECK(feed.value(800 * std::exp(wobble(i))).verdict == Verdict::good);

  SECTION("a suspicion can be accepted too") {
    CHECK(feed.value(700).verdict == Verdict::suspect);
    CHECK(feed.state.accept("m"));
    CHECK(feed.value(700).verdict == Verdict::good);
  }
}

TEST_CASE("creep below every nightly threshold trips against the pinned baseline", "[judge]") {
  Feed feed;
  feed.quiet(40);
  bool tripped = false;
  for (int i = 0; i < 130 && !tripped; ++i) {
    const MetricVerdict v = feed.value(1000 * std::exp(0.5 * wobble(i) - 0.0008 * i));
    if (v.verdict != Verdict::trip) continue;
    tripped = true;
    CHECK(v.trip->change < -0.05);
    CHECK(v.trip->kind == TripKind::creep);
  }
  CHECK(tripped);
}

TEST_CASE("a small lasting shift stays suspect until enough nights agree", "[judge]") {
  Feed feed;
  feed.quiet(60);
  int suspects = 0;
  Verdict last = Verdict::good;
  for (int i = 0; i < 7 && last != Verdict::trip; ++i) {
    const MetricVerdict v = feed.value(1000 * std::exp(-0.045 + 0.4 * wobble(i)));
    last = v.verdict;
    if (last == Verdict::suspect) ++suspects;
    if (last == Verdict::trip) CHECK(v.trip->kind == TripKind::slow);
  }
  CHECK(last == Verdict::trip);
  CHECK(suspects >= 2);
}

TEST_CASE("two bad nights of very different size trip when both are far beyond the threshold", "[judge]") {
  Feed feed;
  feed.quiet(30);
  CHECK(feed.value(800).verdict == Verdict::suspect);
  const MetricVerdict v = feed.value(500);
  REQUIRE(v.verdict == Verdict::trip);
  CHECK(v.trip->first.sequence == 31);
}

TEST_CASE("a bad night just beyond the threshold and one far beyond are not one change, and that is said", "[judge]") {
  Feed feed;
  feed.quiet(30);
  REQUIRE(feed.value(920).verdict == Verdict::suspect);
  const MetricVerdict v = feed.value(600);
  CHECK(v.verdict == Verdict::suspect);
  CHECK(v.reason.find("too different in size") != std::string::npos);
  CHECK(feed.value(600).verdict == Verdict::trip);
}

TEST_CASE("where nobody says what was expected, the night before does", "[judge]") {
  GateState state;
  const Rules rules;
  const auto night = [&](std::int64_t n, std::vector<std::string> metrics, bool told) {
    NightInput input;
    input.night = {n, n * 86'400'000'000};
    input.as_the_night_before = !told;
    for (auto& metric : metrics) input.readings.push_back({std::move(metric), Better::higher, "", 1000, {}});
    return step(state, input, rules);
  };
  for (int n = 1; n <= 9; ++n) CHECK(night(n, {"a", "b"}, false).metrics.size() == 2);
  const auto lacking = night(10, {"a"}, false);
  REQUIRE(lacking.metrics.size() == 2);
  CHECK(lacking.metrics[1].metric == "b");
  CHECK(lacking.metrics[1].verdict == Verdict::no_verdict);
  CHECK(night(11, {"a"}, false).metrics.size() == 1);  // said once
  night(12, {"a", "b"}, false);
  CHECK(night(13, {"a"}, true).metrics.size() == 1);  // whoever knows what was expected says it
}

TEST_CASE("metrics that fell together are one group, strongest first", "[judge]") {
  Feed feed;
  const auto all = [&](double a, double b, double c, double d) {
    return feed.night({{"a", a}, {"b", b}, {"c", c}, {"d", d}});
  };
  for (int i = 0; i < 30; ++i) {
    const auto w = [&](int k) { return 1000 * std::exp(wobble(31 * k + i)); };
    all(w(1), w(2), w(3), w(4));
  }
  all(850, 700, 1000, 1000);
  const NightVerdict night = all(850, 700, 1000, 1000);
  REQUIRE(night.groups.size() == 1);
  CHECK(night.groups[0].metrics == std::vector<std::string>{"b", "a"});
  CHECK(night.groups[0].first.sequence == 31);
  CHECK(night.groups[0].last_good.sequence == 30);
}

TEST_CASE("explain names the numbers that caused a verdict", "[judge]") {
  Feed feed;
  feed.quiet(30);
  const auto lines = explain(feed.value(800), feed.rules);
  const auto has = [&](const std::string& key) {
    for (const auto& [k, v] : lines) {
      if (k == key) return !v.empty();
    }
    return false;
  };
  CHECK(has("verdict"));
  CHECK(has("noise of one night (sigma)"));
  CHECK(has("trips when 2 of 2 nights are at or below"));
  CHECK(has("tonight's machine slower by"));
}

TEST_CASE("explain says thresholds as changes: negative is worse, whichever way is better", "[judge]") {
  Feed feed;
  feed.better = GENERATE(Better::higher, Better::lower);
  feed.quiet(30);
  const double bad = feed.better == Better::higher ? 800 : 1250;
  const auto lines = explain(feed.value(bad), feed.rules);
  int thresholds = 0;
  std::size_t value_at = 0, change_at = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& [key, text] = lines[i];
    if (key == "value") value_at = i;
    if (key == "change") {
      change_at = i;
      CHECK(text[0] == '-');
    }
    if (key.find("at or below") == std::string::npos || text == "not active yet") continue;
    ++thresholds;
    CHECK(text[0] == '-');
  }
  CHECK(thresholds > 0);
  CHECK(value_at < change_at);
}

TEST_CASE("a night far below the level of a young and wild series is never good by luck", "[judge]") {
  Feed feed;
  for (const double wild : {600.0, 1300.0, 620.0, 1250.0, 900.0, 1000.0, 1100.0, 700.0}) feed.value(wild);
  const MetricVerdict half = feed.value(480);
  REQUIRE(half.numbers.threshold[0] > half.numbers.residual);  // what noise allows here
  CHECK(half.verdict == Verdict::no_verdict);
  CHECK(half.reason.find("control") != std::string::npos);
  CHECK(feed.value(1000).verdict == Verdict::good);
}

TEST_CASE("a figure that more than doubled has a strength like any other", "[judge]") {
  Feed feed;
  feed.better = Better::lower;
  for (int i = 0; i < 30; ++i) feed.night({{"a", 100 * std::exp(wobble(i))}, {"b", 100 * std::exp(wobble(i + 500))}});
  feed.night({{"a", 140}, {"b", 300}});
  const NightVerdict night = feed.night({{"a", 140}, {"b", 300}});
  REQUIRE(night.groups.size() == 1);
  CHECK(night.groups[0].metrics == std::vector<std::string>{"b", "a"});
}
