// The pictures: a series over nights, a bisect over merges, intervals of a compare. Pure: numbers in, SVG out.
#pragma once

#include <string>
#include <vector>

#include "store/rows.hpp"

namespace nightgate::report {

struct SeriesChart {
  std::string title, unit;
  store::Better better = store::Better::higher;
  std::vector<store::SeriesPoint> points;      // oldest first
  double band = 0.05;                          // half-width of the band around the baseline, as a share
  store::Sequence first_bad = 0, tripped = 0;  // marked with vertical lines; 0: none
};
[[nodiscard]] std::string series_chart(const SeriesChart& chart);

struct BisectDot {
  int point = 0, block = 0;
  double value = 0;
  bool confirm = false;
  double low = store::unknown, high = store::unknown;  // of its repeats; not known: no line is drawn
};
struct BisectChart {
  std::string title, unit;
  store::Better better = store::Better::higher;
  int merges = 0;
  std::vector<BisectDot> dots;
  std::vector<double> posterior;   // merges + 1
  std::vector<std::string> names;  // of the points, for tips
  std::vector<bool> has_target;
  int culprit = 0;  // 0: nobody named
};
[[nodiscard]] std::string bisect_chart(const BisectChart& chart);

struct Interval {
  std::string name;
  double low = 0, high = 0, middle = 0;  // changes, negative is worse
  std::string verdict;
};
// Intervals of changes around zero, with the band of changes too small to matter.
[[nodiscard]] std::string interval_chart(const std::vector<Interval>& intervals, double min_change,
                                         const std::string& title);

struct IndexBar {
  std::string name;
  double index = 100;  // head with base = 100
  bool higher_is_better = true;
  std::string verdict;
};
// Bars from zero, with the line of base at 100.
[[nodiscard]] std::string index_chart(const std::vector<IndexBar>& bars, const std::string& title);

}  // namespace nightgate::report
