// What the judge's benches share: a minimal CSV reader for ../shared/histories, injections, and scores.
#pragma once
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gate/judge/replay.hpp"

namespace nightgate::bench {

struct Recorded {  // one series of one machine
  std::string metric;
  judge::Better better = judge::Better::lower;
  std::vector<std::int64_t> instants;
  std::vector<double> values;
};

inline std::int64_t day(std::size_t i) { return static_cast<std::int64_t>(i) * 86400 * 1000000; }

// "2026-09-24T21:38:52Z" -> microseconds; only this form occurs in the recorded files.
inline std::int64_t parse_instant(const std::string& text) {
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0;
  if (std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%dZ", &y, &mo, &d, &h, &mi, &s) != 6) return 0;
  const int shifted = y - (mo <= 2 ? 1 : 0);
  const std::int64_t era = shifted / 400;
  const std::int64_t of_era = shifted - era * 400;
  const std::int64_t of_year = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const std::int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
  return ((days * 24 + h) * 60 + mi) * 60 * 1000000LL + s * 1000000LL;
}

// Rows in the file's order; nights in order of time per machine. Empty history when the file can't be read.
inline judge::History read_history(const std::string& path) {
  judge::History history;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  std::map<std::string, std::uint32_t> metrics;
  std::map<std::pair<std::int64_t, std::string>, judge::History::Night> nights;
  while (std::getline(in, line)) {
    std::vector<std::string> cell;
    std::stringstream row(line);
    for (std::string part; std::getline(row, part, ',');) cell.push_back(part);
    if (cell.size() < 7) continue;
    const auto [it, fresh] = metrics.emplace(cell[3], static_cast<std::uint32_t>(history.metrics.size()));
    if (fresh) {
      history.metrics.push_back({cell[3], cell[4], cell[5] == "higher" ? judge::Better::higher : judge::Better::lower});
    }
    judge::History::Night& night = nights[{parse_instant(cell[0]), cell[2]}];
    night.instant = parse_instant(cell[0]);
    night.machine = cell[2];
    night.commit = cell[1];
    night.cells.push_back({it->second, std::stod(cell[6])});
  }
  for (auto& [key, night] : nights) history.nights.push_back(std::move(night));
  return history;
}

// Every series on its own (for histories whose machines say nothing about each other).
inline std::vector<Recorded> split(const judge::History& history) {
  std::vector<Recorded> out(history.metrics.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].metric = history.metrics[i].name;
    out[i].better = history.metrics[i].better;
  }
  for (const auto& night : history.nights) {
    for (const auto& cell : night.cells) {
      out[cell.metric].instants.push_back(night.instant);
      out[cell.metric].values.push_back(cell.value);
    }
  }
  return out;
}

// Trips of one series as (index of the night it tripped).
inline std::vector<std::size_t> trips_of(const Recorded& series, const judge::Rules& rules) {
  judge::GateState state;
  judge::NightVerdict verdict;
  judge::NightInput input;
  input.readings.resize(1);
  input.readings[0].metric = series.metric;
  input.readings[0].better = series.better;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    input.night = {static_cast<std::int64_t>(i) + 1, series.instants[i]};
    input.readings[0].value = series.values[i];
    judge::step(state, input, rules, verdict);
    if (verdict.metrics[0].verdict == judge::Verdict::trip) out.push_back(i);
  }
  return out;
}

// The nights [end - length, end), worse by `factor` to the power of min(k + 1, most) from night `from` of the piece on.
inline Recorded piece(const Recorded& series, std::size_t end, std::size_t length) {
  Recorded out{series.metric, series.better, {}, {}};
  const std::size_t begin = end > length ? end - length : 0;
  for (std::size_t i = begin; i < end; ++i) {
    out.instants.push_back(series.instants[i]);
    out.values.push_back(series.values[i]);
  }
  return out;
}

inline void worsen(Recorded& series, std::size_t i, double factor) {
  series.values[i] *= series.better == judge::Better::lower ? factor : 1 / factor;
}

struct Score {
  double cases = 0;
  double step[4] = {0, 0, 0, 0};  // 3, 5, 10, 20 %: caught
  double creep = 0;
  double trips = 0;
  double nights = 0;
  void add(const Score& o) {
    cases += o.cases;
    for (int i = 0; i < 4; ++i) step[i] += o.step[i];
    creep += o.creep;
    trips += o.trips;
    nights += o.nights;
  }
};
inline constexpr double step_sizes[4] = {0.03, 0.05, 0.10, 0.20};

// One series, one anchor (the end of the history). full: the judge sees all nights before the injection, else the last
// 47 (steps) or 100 (creep, untouched).
inline Score score_series(const Recorded& series, std::size_t end, const judge::Rules& rules, bool full) {
  Score score;
  score.cases = 1;
  const auto tripped_in_last = [&](const Recorded& r, std::size_t nights) {
    double n = 0;
    for (const std::size_t i : trips_of(r, rules)) n += i + nights >= r.values.size() ? 1 : 0;
    return n;
  };
  for (int k = 0; k < 4; ++k) {
    Recorded r = piece(series, end, full ? end : 47);
    for (std::size_t i = r.values.size() - 7; i < r.values.size(); ++i) worsen(r, i, 1 + step_sizes[k]);
    score.step[k] = tripped_in_last(r, 7) > 0 ? 1 : 0;
  }
  Recorded creeping = piece(series, end, full ? end : 100);
  const std::size_t n = creeping.values.size();
  for (std::size_t i = n - 60; i < n; ++i) worsen(creeping, i, std::pow(1.003, static_cast<double>(i - (n - 60) + 1)));
  score.creep = tripped_in_last(creeping, 60) > 0 ? 1 : 0;
  score.trips = tripped_in_last(piece(series, end, full ? end : 100), 60);
  score.nights = 60;
  return score;
}

inline Score score_all(const std::vector<Recorded>& all, const judge::Rules& rules, bool full, std::size_t cut) {
  Score total;
  for (const Recorded& series : all) {
    if (series.values.size() < cut + 93) continue;
    total.add(score_series(series, series.values.size() - cut, rules, full));
  }
  return total;
}

inline void print_score(const char* name, const Score& s) {
  std::printf("%-34s %5.0f  %5.1f %5.1f %5.1f %5.1f   %5.1f   %5.2f\n", name, s.cases, 100 * s.step[0] / s.cases,
              100 * s.step[1] / s.cases, 100 * s.step[2] / s.cases, 100 * s.step[3] / s.cases, 100 * s.creep / s.cases,
              1000 * s.trips / s.nights);
}

}  // namespace nightgate::bench
