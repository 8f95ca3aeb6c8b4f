// yuneta-perf-report/1: one release measured against the one before (ab), and its absolute figures.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/base/result.hpp"
#include "gate/formats/reading.hpp"

namespace nightgate::formats {

struct PerfStatistics {
  double mean = 0;
  std::optional<double> sd, median, min, max;
  [[nodiscard]] double value() const { return median.value_or(mean); }
};

struct PerfComparison {
  std::string id, unit;
  Better better = Better::lower;
  PerfStatistics previous, current;
  int n = 0;
  std::string verdict;  // "gain", "noise", "price", "price-until-migrated" or what the file says
  std::string reason;
  std::optional<double> change_pct;  // of the means, in the figure's own direction
};

struct PerfFigure {
  std::string id, unit;
  Better better = Better::lower;
  PerfStatistics statistics;
  int n = 0;
};

struct PerfReport {
  std::string version, previous;
  Instant date;
  std::string machine, machine_class;  // model (or kind), and CPU with cores and threads
  std::vector<PerfComparison> comparisons;
  std::vector<PerfFigure> figures;
};

// Code::bad_data with the JSON path. Unknown fields are passed over.
[[nodiscard]] Result<PerfReport> parse_perf_report(std::string_view text);
// The inverse: what parsing it gives again is equal.
[[nodiscard]] std::string print_perf_report(const PerfReport& report);

}  // namespace nightgate::formats
