// Deployments of one night beside each other: scenarios as rows, deployments as columns. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nightgate::report {

struct Figure {  // of one metric, deployment.scenario.metric
  std::string metric, unit, verdict;
  double value, change;  // NaN: not known
  bool red = false;
};
struct SideBySide {
  struct Row {
    std::string name;  // scenario.metric
    std::string unit;  // chosen once for the row
    double factor = 1;
    std::vector<std::optional<Figure>> cells;  // a deployment each, in the order of `deployments`
  };
  std::vector<std::string> deployments;
  std::vector<Row> rows;  // those that at least two deployments have; in the order of the figures
  [[nodiscard]] bool empty() const { return rows.empty(); }
};
[[nodiscard]] SideBySide side_by_side(const std::vector<Figure>& figures);

// "IMPROVES", "WORSENS" in the night that says so, "red" after it, in words else; "" for a figure that is as it was.
[[nodiscard]] std::string verdict_word(const Figure& figure);

}  // namespace nightgate::report
