// The machine before the code: other series, controls, machine classes, series that alternate.
#include "tests/unit/judge_feed.hpp"

using namespace nightgate::judge;
using nightgate::test::Feed;
using nightgate::test::wobble;

namespace {
// Eight series of different size; `factor(k)` scales series k tonight.
template <typename Factor>
NightVerdict eight(Feed& feed, int i, Factor factor) {
  std::vector<std::pair<std::string, double>> values;
  for (int k = 0; k < 8; ++k) {
    values.emplace_back("m" + std::to_string(k), 1000 * (k + 1) * std::exp(wobble(100 * k + i)) * factor(k));
  }
  return feed.night(values);
}
int count(const NightVerdict& night, Verdict v) {
  int n = 0;
  for (const MetricVerdict& m : night.metrics) n += m.verdict == v ? 1 : 0;
  return n;
}
}  // namespace

TEST_CASE("a slow machine is not a slow broker, and a fast one hides nothing", "[judge]") {
  Feed feed;
  for (int i = 0; i < 30; ++i) eight(feed, i, [](int) { return 1.0; });
  const NightVerdict slow = eight(feed, 30, [](int) { return 0.6; });
  CHECK(count(slow, Verdict::good) == 8);
  CHECK(slow.machine.log_speed == nightgate::test::Approx(-std::log(0.6)).margin(0.02));
  const NightVerdict fast = eight(feed, 31, [](int k) { return k < 2 ? 1.4 * 0.75 : 1.4; });
  CHECK(count(fast, Verdict::suspect) == 2);
  const NightVerdict again = eight(feed, 32, [](int k) { return k < 2 ? 0.75 : 1.0; });
  CHECK(count(again, Verdict::trip) == 2);
  CHECK(again.groups.size() == 1);
}

TEST_CASE("where the series move apart in groups the night is environment suspect and leaves no trace", "[judge]") {
  Feed feed;
  for (int i = 0; i < 30; ++i) eight(feed, i, [](int) { return 1.0; });
  const NightVerdict night = eight(feed, 30, [](int k) { return k < 4 ? 0.6 : 1.3; });
  CHECK(night.environment_suspect);
  CHECK(count(night, Verdict::environment_suspect) == 8);
  CHECK(count(eight(feed, 31, [](int) { return 1.0; }), Verdict::good) == 8);
}

TEST_CASE("with a control the ratio is judged, and a new control overlaps the old one", "[judge]") {
  Feed feed;
  const auto with = [&](double value, std::vector<ControlValue> controls) {
    NightInput night = feed.input({{"m", value}});
    night.readings[0].controls = std::move(controls);
    return step(feed.state, night, feed.rules).metrics.at(0);
  };
  const auto machine = [](int i) { return 1 + 0.3 * std::sin(1.7 * i); };
  for (int i = 0; i < 30; ++i) with(1000 * machine(i) * std::exp(wobble(i)), {{"c1", 500 * machine(i)}});
  CHECK(with(600, {{"c1", 300}}).verdict == Verdict::good);      // a slow machine
  CHECK(with(1000, {{"c1", 625}}).verdict == Verdict::suspect);  // a fast one hides nothing
  CHECK(with(1000, {{"c1", 500}}).verdict == Verdict::good);
  CHECK(with(1000, {{"c1", 500}, {"c2", 80}}).verdict == Verdict::good);
  CHECK(with(2000, {{"c2", 160}}).verdict == Verdict::good);
  CHECK(with(700, {{"c2", 80}}).verdict == Verdict::suspect);
  CHECK(with(700, {{"c2", 80}}).verdict == Verdict::trip);
  CHECK(with(700, {}).verdict == Verdict::no_verdict);           // the control is missing: no guess
  CHECK(with(700, {{"c3", 10}}).verdict == Verdict::new_level);  // no overlap: nothing links them
}

TEST_CASE("a recorded machine class has its own usual figure", "[judge]") {
  Feed feed;
  const auto on = [&](const std::string& machine_class, double value) {
    feed.machine_class = machine_class;
    return feed.value(value);
  };
  for (int i = 0; i < 60; ++i) {
    const bool b = i % 3 == 1;
    const MetricVerdict v = on(b ? "B" : "A", (b ? 700 : 1000) * std::exp(wobble(i)));
    CHECK(v.verdict != Verdict::trip);
    CHECK(v.verdict != Verdict::suspect);
    if (i > 30) CHECK(v.verdict == Verdict::good);
  }
  CHECK(on("B", 560).verdict == Verdict::suspect);  // 20 % on either class: evidence adds up
  const MetricVerdict trip = on("A", 800);
  CHECK(trip.verdict == Verdict::trip);
  CHECK(trip.trip->change == nightgate::test::Approx(-0.2).margin(0.02));
}

TEST_CASE("a series that alternates between two levels is set aside, with what would help", "[judge]") {
  Feed feed;
  feed.rules = replay_rules();
  MetricVerdict v;
  for (int i = 0; i < 60; ++i) v = feed.value(((i / 4) % 2 == 0 ? 1000 : 1300) * std::exp(0.3 * wobble(i)));
  CHECK(v.verdict == Verdict::unfit);
  CHECK(v.state != SeriesState::steady);
  CHECK(v.reason.find("machine class") != std::string::npos);
}

TEST_CASE("a series too noisy to gate is set aside, not passed and not tripped", "[judge]") {
  Feed feed;
  int trips = 0;
  MetricVerdict v;
  for (int i = 0; i < 80; ++i) {
    v = feed.value(1000 * std::exp(25 * wobble(i)));
    trips += v.verdict == Verdict::trip ? 1 : 0;
  }
  CHECK(trips == 0);
  CHECK(v.verdict == Verdict::unfit);
  CHECK(v.reason.find("repeats") != std::string::npos);
}
