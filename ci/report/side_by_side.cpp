#include "ci/report/side_by_side.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

// The deployment is what stands before the first dot: names in a config hold none.
std::pair<std::string, std::string> parts_of(const std::string& metric) {
  const auto dot = metric.find('.');
  if (dot == std::string::npos || dot == 0) return {"", metric};
  return {metric.substr(0, dot), metric.substr(dot + 1)};
}

std::size_t place_of(std::vector<std::string>& names, const std::string& name) {
  const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  if (place == names.size()) names.push_back(name);
  return place;
}

}  // namespace

SideBySide side_by_side(const std::vector<Figure>& figures) {
  std::map<std::string, std::size_t> times;
  for (const auto& figure : figures) ++times[parts_of(figure.metric).second];
  SideBySide out;
  std::map<std::string, std::size_t> rows;
  for (const auto& figure : figures) {
    const auto [deployment, name] = parts_of(figure.metric);
    if (times[name] < 2) continue;
    const auto [at, is_new] = rows.emplace(name, out.rows.size());
    if (is_new) out.rows.push_back({name, figure.unit, 1, {}});
    auto& cells = out.rows[at->second].cells;
    const auto column = place_of(out.deployments, deployment);
    if (cells.size() <= column) cells.resize(column + 1);
    cells[column] = figure;
  }
  for (auto& row : out.rows) {
    row.cells.resize(out.deployments.size());
    double largest = 0;
    for (const auto& cell : row.cells) {
      if (cell && std::isfinite(cell->value)) largest = std::max(largest, std::abs(cell->value));
    }
    const auto scaled = scale_for(largest, row.unit);
    row.unit = scaled.unit;
    row.factor = scaled.factor;
  }
  return out;
}

std::string verdict_word(const Figure& figure) {
  if (figure.verdict == "trip") return "WORSENS";
  if (figure.red) return "red";  // its change is against the level it fell to
  if (figure.verdict == "gain") return "IMPROVES";
  if (figure.verdict == "good" || figure.verdict.empty()) return "";
  auto out = figure.verdict;
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

}  // namespace nightgate::report
