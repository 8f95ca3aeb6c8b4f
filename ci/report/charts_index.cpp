#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/report/charts.hpp"
#include "ci/report/page.hpp"
#include "ci/report/svg.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {

std::string index_chart(const std::vector<IndexBar>& bars, const std::string& title) {
  if (bars.empty()) return {};
  constexpr double width = 900, names = 330, right = 70, row = 28;
  const double height = 56 + row * static_cast<double>(bars.size()), bottom = height - 30;
  double largest = 110;
  for (const auto& bar : bars) largest = std::max(largest, std::min(bar.index, 400.0));
  const auto x = [&](double index) { return names + std::clamp(index / largest, 0.0, 1.0) * (width - names - right); };
  Svg svg(width, height, title,
          fmt::format("{} metrics; base is 100; the arrow beside a name says which way is better", bars.size()));
  for (const double tick : ticks(0, largest, 6)) {
    svg.line(x(tick), 20, x(tick), bottom, "grid");
    svg.text(x(tick), height - 12, tick_text(tick), Anchor::middle, "soft");
  }
  double at = 24;
  for (const auto& bar : bars) {
    const auto tip = fmt::format("{}: {} with base = 100, {} is better, {}", bar.name, number(bar.index),
                                 bar.higher_is_better ? "more" : "less", bar.verdict);
    svg.text(names - 10, at + 14, fmt::format("{} {}", shorten(bar.name, 42), bar.higher_is_better ? "↑" : "↓"),
             Anchor::end);
    const bool decided = bar.verdict == "better" || bar.verdict == "worse";
    svg.rect(names, at, x(bar.index) - names, row - 9,
             !decided                 ? "barsoft"
             : bar.verdict == "worse" ? "barbad"
                                      : "bar",
             tip);
    const auto sign = bar.verdict == "worse" ? " ▼" : bar.verdict == "better" ? " ▲" : "";
    svg.text(x(bar.index) + 6, at + 14, number(bar.index) + sign + (bar.index > largest ? " →" : ""), Anchor::start,
             "strong");
    at += row;
  }
  svg.line(x(100), 14, x(100), bottom, "step");
  svg.text(x(100), 11, "base", Anchor::middle, "strong");
  return figure(
      title, svg.str(),
      "Bars start at zero. ↑: more is better, ↓: less is better. ▼ worse and ▲ better beyond noise; grey: same, "
      "or not decided.");
}

}  // namespace nightgate::report
