// How fast: replaying 1,000 series of 3,650 nights (must: 15 s, 300 MB; aim 5 s), growth with the number of series, the
// verdict of one night from a kept snapshot after 100 and 3,650 nights, and a detector of the field beside it.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "gate/judge/changes.hpp"
#include "tests/bench/judge_edivisive.hpp"

namespace {
using namespace nightgate;
using namespace nightgate::bench;

// Wall clock and processor time: on a busy machine only the second says what the code costs.
struct Stopwatch {
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  std::clock_t processor = std::clock();
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count(); }
  double busy() const { return static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC; }
};

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Noise of 2 %, a machine that moves all series by 5 %, and a real change here and there.
judge::History make(std::size_t series, std::size_t nights) {
  Random random(series);
  judge::History history;
  std::vector<double> level(series, 0);
  for (std::size_t s = 0; s < series; ++s) {
    history.metrics.push_back({"deployment.scenario_" + std::to_string(s) + ".rate", "1/s", judge::Better::higher});
  }
  history.nights.reserve(nights);
  for (std::size_t i = 0; i < nights; ++i) {
    judge::History::Night& night = history.nights.emplace_back();
    night.instant = static_cast<std::int64_t>(i) * 86400000000;
    night.machine = "bench1";
    night.cells.reserve(series);
    const double machine = 0.05 * random.normal();
    for (std::size_t s = 0; s < series; ++s) {
      if (random.uniform() < 1.0 / 300) level[s] += 0.1 * random.normal();
      night.cells.push_back(
          {static_cast<std::uint32_t>(s), 1000 * std::exp(level[s] + machine + 0.02 * random.normal())});
    }
  }
  return history;
}

void replay_speed(std::size_t series, std::size_t nights) {
  const judge::History history = make(series, nights);
  const Stopwatch watch;
  const judge::ReplayResult result = judge::replay(history);
  const double busy = watch.busy();
  std::printf(
      "%6zu series x %5zu nights: %6.2f s (processor %5.2f s, %4.2f us a series-night), %zu trips, peak %.0f MB so "
      "far\n",
      series, nights, watch.seconds(), busy, 1e6 * busy / static_cast<double>(series * nights), result.trips.size(),
      peak_megabytes());
}

void one_night(std::size_t nights) {
  const judge::History history = make(1000, nights);
  judge::GateState state;
  judge::NightInput input;
  for (std::size_t i = 0; i < nights; ++i) {
    input.night = {static_cast<std::int64_t>(i) + 1, history.nights[i].instant};
    input.readings.resize(1000);
    for (std::size_t s = 0; s < 1000; ++s) {
      input.readings[s].metric = history.metrics[s].name;
      input.readings[s].value = history.nights[i].cells[s].value;
    }
    if (i + 1 < nights) judge::step(state, input, {});
  }
  const std::string text = state.save();
  const Stopwatch watch;
  auto loaded = judge::GateState::load(text);
  const auto verdict = judge::step(*loaded, input, {});
  const std::string after = loaded->save();
  std::printf(
      "one night of 1,000 series after %5zu nights: load, judge and save %.0f ms, snapshot %.2f MB, %zu verdicts\n",
      nights, 1e3 * watch.busy(), static_cast<double>(after.size()) / 1e6, verdict.metrics.size());
}

void field() {
  const judge::History history = make(1, 3650);  // a real change about every 300 nights
  std::vector<double> values;
  for (const auto& night : history.nights) values.push_back(night.cells[0].value);
  Stopwatch watch;
  const auto points = e_divisive(values);
  const double theirs = watch.busy();
  watch = {};
  const auto ours = judge::change_points(values, judge::Better::higher);
  std::printf(
      "one series of 3,650 nights in hindsight: E-divisive %.2f s (x 1,000 series: %.0f s), our change points %.3f s; "
      "found "
      "%zu and %zu\n",
      theirs, 1000 * theirs, watch.busy(), points.size(), ours.size());
}
}  // namespace

int main() {
  for (const std::size_t series : {125U, 250U, 500U, 1000U}) replay_speed(series, 3650);
  one_night(100);
  one_night(3650);
  field();
  return 0;
}
