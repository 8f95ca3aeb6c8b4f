// A metric's whole history as one picture, and as a line in a table. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ci/report/model.hpp"
#include "gate/judge/changes.hpp"

namespace nightgate::report {

struct NightLabel {
  std::string date;   // "2026-10-02"
  std::string merge;  // "#123 Title (5d2f01c4ab)", shortened
};
using NightLabels = std::map<store::Sequence, NightLabel>;

struct HistoryChart {
  std::string title, unit;
  store::Better better = store::Better::higher;
  const std::vector<store::HistoryPoint>* points = nullptr;  // oldest first; borrowed
  const NightLabels* labels = nullptr;                       // borrowed
  std::vector<judge::ChangePoint> changes;                   // indexes into `values`
  std::vector<std::size_t> values;  // of the points that have a value, in order: what `changes` counts in
  double band = 0.05;
};
[[nodiscard]] std::string history_chart(const HistoryChart& chart);

// A sparkline; `words` says the same for those who don't see it.
[[nodiscard]] std::string spark_chart(const std::vector<double>& values, const std::vector<bool>& bad,
                                      const std::string& words);

// What is under the cursor at a night.
[[nodiscard]] std::string tip_of(const store::HistoryPoint& point, const NightLabels& labels, double factor,
                                 const std::string& unit);
[[nodiscard]] bool is_bad(const store::HistoryPoint& point);

}  // namespace nightgate::report
