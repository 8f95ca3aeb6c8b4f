// A compare as a page: its document (`compare --json`) read back as hostile text, and drawn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate::report {

// Doubles that are not known are NaN. Changes are shares, negative is worse; intervals low end first.
struct ComparedMetric {
  std::string metric, unit, verdict, reason;  // verdict: better, worse, same, no_verdict
  bool higher_is_better = true;
  double change, low, high;      // the deciding interval, valid however often one looks
  double shown_low, shown_high;  // 95 % for the eye
  double base, head;             // medians in the metric's unit
  double index;                  // head with base = 100
  double aa_spread;
  double chance_of_every;
  bool every_better = false, every_worse = false;
  int pairs = 0;
  std::vector<double> base_values, head_values;  // in the order of the pairs
};
struct ComparedHead {
  std::string name, against, verdict, reason;
  int arm = 1;
  bool rung = false;     // of a ladder, against the arm below; else against base
  bool differs = false;  // it answers otherwise
  bool trade = false;
  double geometric_index;
  std::vector<ComparedMetric> metrics;  // worst first
};
struct AnsweredDifferently {
  std::string arm, where;  // both may be empty (older documents)
  std::string request, base, head;
  int base_status = 0, head_status = 0;
};
struct CompareModel {
  std::string verdict, base;
  std::vector<ComparedHead> heads;
  std::vector<ComparedHead> rungs;  // of a ladder: arms against the one below, from the second head on
  std::vector<AnsweredDifferently> differences;
  std::vector<std::string> void_pairs;
  std::string aa_complaint;
  int pairs = 0, measurements = 0;
  double minutes;
  bool out_of_budget = false, stopped = false, ladder = false;
  int comparisons = 1;  // that share the error
  // About the run; empty or NaN in documents of older versions.
  std::string project, machine, machine_class, started, version;
  double min_change = 0.05;
  int requests_compared = -1;           // equivalence requests; -1: not said
  std::vector<std::string> references;  // as typed, for doing it again
};

// Code::bad_data with the JSON path for anything that is no such document. Long texts are shortened.
[[nodiscard]] Result<CompareModel> read_compare(std::string_view text);
[[nodiscard]] std::string lead_of(const CompareModel& model);
[[nodiscard]] std::string compare_page(const CompareModel& model);
// A table of its pairs for each metric; a release page shows them too.
[[nodiscard]] std::string raw_pairs(const ComparedHead& head);

}  // namespace nightgate::report
