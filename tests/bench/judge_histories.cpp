// The judge on the two recorded histories (../shared/histories): the true events of the one, injected changes and
// untouched trips on the other; four anchors, because one can be lucky. Figures of 2026-11-30 are in
// gate/judge/README.md.
#include <filesystem>

#include "gate/judge/changes.hpp"
#include "tests/bench/judge_edivisive.hpp"
#include "tests/bench/judge_scoring.hpp"

namespace {
using namespace nightgate;
using namespace nightgate::bench;

std::string night_name(judge::NightRef night, const judge::History& history) {
  return "night " + std::to_string(night.sequence) + " (" +
         history.nights[static_cast<std::size_t>(night.sequence - 1)].commit + ")";
}

void coraine(const std::string& path) {
  const judge::History history = read_history(path);
  const judge::ReplayResult result = judge::replay(history);
  std::printf("broker history: %lld nights, %lld metrics\n", static_cast<long long>(result.nights),
              static_cast<long long>(result.metrics));
  for (const auto& t : result.trips) {
    std::printf("  trip %-22s %s %+.1f %%: suspect %s, tripped %s, recovered %s\n", t.trip.metric.c_str(),
                std::string(judge::name(t.trip.kind)).c_str(), 100 * t.trip.change,
                night_name(t.trip.first, history).c_str(), night_name(t.trip.tripped, history).c_str(),
                t.recovered ? night_name(*t.recovered, history).c_str() : "no");
  }
  std::printf("  %zu suspect nights, %zu gains, %zu environment nights\n", result.suspects.size(), result.gains.size(),
              result.environment.size());
}

void injections(const std::string& path) {
  const std::vector<Recorded> all = split(read_history(path));
  std::printf("\n%-34s %5s  %5s %5s %5s %5s   %5s   %s\n", "database history, injected", "cases", "3 %", "5 %", "10 %",
              "20 %", "creep", "trips per 1,000 untouched");
  for (const bool full : {false, true}) {
    Score mean;
    for (const std::size_t cut : {0U, 25U, 50U, 75U}) {
      const Score score = score_all(all, judge::replay_rules(), full, cut);
      print_score(
          (std::string(full ? "whole history" : "as the issue feeds it") + ", cut " + std::to_string(cut)).c_str(),
          score);
      mean.add(score);
    }
    print_score(full ? "whole history, mean of four" : "as the issue feeds it, mean of four", mean);
  }
}

// In hindsight: a step of 5, 10, 20 % in the middle of the last 94 nights; found = a change point within 3 nights of
// it.
void hindsight(const std::string& path) {
  std::printf(
      "\nhindsight, step in the middle of 94 nights: found within 3 nights | other change points of 5 %% or more\n");
  const std::vector<Recorded> all = split(read_history(path));
  for (const double step : {0.05, 0.10, 0.20}) {
    double found[2] = {0, 0};
    double other[2] = {0, 0};
    for (const Recorded& series : all) {
      Recorded r = piece(series, series.values.size(), 94);
      for (std::size_t i = 47; i < r.values.size(); ++i) worsen(r, i, 1 + step);
      std::vector<std::size_t> points[2];
      for (const auto& c : judge::change_points(r.values, r.better)) {
        if (std::abs(c.change) >= 0.035) points[0].push_back(c.index);
      }
      points[1] = e_divisive(r.values);
      for (int k = 0; k < 2; ++k) {
        bool hit = false;
        for (const std::size_t p : points[k]) {
          const bool near = p >= 44 && p <= 50;
          hit |= near;
          other[k] += near ? 0 : 1;
        }
        found[k] += hit ? 1 : 0;
      }
    }
    const double n = static_cast<double>(all.size());
    std::printf("  %2.0f %%: ours %5.1f %% | %.2f a series    E-divisive %5.1f %% | %.2f a series\n", 100 * step,
                100 * found[0] / n, other[0] / n, 100 * found[1] / n, other[1] / n);
  }
}
}  // namespace

int main() {
  const std::string folder = NIGHTGATE_SOURCE_DIR "/../shared/histories/";
  if (!std::filesystem::exists(folder)) {
    std::printf("skipped: the recorded histories are not beside the source tree (../shared/histories)\n");
    return 0;
  }
  coraine(folder + "coraine-nightly-long.csv");
  injections(folder + "hana-untouched-120.csv");
  hindsight(folder + "hana-untouched-120.csv");
  return 0;
}
