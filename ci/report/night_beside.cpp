#include "ci/report/night_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/report/page.hpp"
#include "ci/report/side_by_side.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

std::vector<Figure> figures_of(const NightModel& model) {
  std::vector<Figure> out;
  const auto units = units_of(model);
  for (const auto& v : model.verdicts)
    out.push_back({v.metric, std::string(unit_of(units, v.metric)), v.verdict, v.value, v.change, v.red});
  return out;
}

}  // namespace

std::string deployments_table(const NightModel& model, const SiteLinks* links) {
  const auto all = side_by_side(figures_of(model));
  if (all.empty()) return {};
  std::vector<std::string> head{"scenario and metric"};
  head.insert(head.end(), all.deployments.begin(), all.deployments.end());
  Table table(
      "Deployments side by side: medians, and what changed", head,
      [&] {
        std::vector<bool> numeric(head.size(), true);
        numeric[0] = false;
        return numeric;
      }(),
      Filter::offered);
  for (const auto& row : all.rows) {
    std::vector<Html> cells{html(row.unit.empty() ? row.name : row.name + ", " + row.unit)};
    for (const auto& cell : row.cells) {
      if (!cell) {
        cells.push_back(html("–"));
        continue;
      }
      const auto figure = html(number(cell->value * row.factor));
      const auto word = verdict_word(*cell);
      cells.push_back(
          {(links == nullptr
                ? figure.text
                : link(links->metric + slug(cell->metric) + ".html", number(cell->value * row.factor)).text) +
           (std::isfinite(cell->change) ? " <small>" + escape_html(percent(cell->change)) + "</small>" : "") +
           (word.empty() ? "" : " " + badge(word).text)});
    }
    table.row(cells);
  }
  return table.str();
}

std::string beside_markdown(const NightModel& model) {
  const auto all = side_by_side(figures_of(model));
  if (all.empty()) return {};
  std::string out = "\nDeployments side by side:\n\n| |", rule = "|---|";
  for (const auto& deployment : all.deployments) {
    out += " " + escape_markdown(deployment) + " |";
    rule += "---:|";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : all.rows) {
    out += "| " + escape_markdown(row.unit.empty() ? row.name : row.name + ", " + row.unit) + " |";
    for (const auto& cell : row.cells) {
      const auto word = cell ? verdict_word(*cell) : "";
      out += " " + (cell ? number(cell->value * row.factor) : "–");
      if (cell && std::isfinite(cell->change)) out += " (" + percent(cell->change) + ")";
      out += (word.empty() ? "" : " " + word) + " |";
    }
    out += "\n";
  }
  return out;
}

}  // namespace nightgate::report
