#include "ci/report/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ci/report/page.hpp"
#include "ci/report/svg.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

constexpr double width = 900, left = 78, right = 20, top = 34;

struct Scale {  // from low..high to pixels
  double low, high, from, to;
  double operator()(double x) const {
    return high > low ? from + (x - low) / (high - low) * (to - from) : (from + to) / 2;
  }
};

std::string direction(store::Better better) {
  return better == store::Better::higher ? "up is better ↑" : "down is better ↓";
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double x) {
    if (!std::isfinite(x)) return;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  [[nodiscard]] bool empty() const { return !(low <= high); }
  // Zero is shown where it is near enough to be honest about; else the axis says that it is cut.
  void round_up() {
    if (low > 0 && low < 0.6 * high) low = 0;
    const double margin = std::max((high - low) * 0.08, std::abs(high) * 0.01);
    high += margin;
    if (low != 0) low -= margin;
  }
};

void value_axis(Svg& svg, const Scale& y, const Scaled& scaled, store::Better better, double bottom) {
  for (const double tick : ticks(y.low * scaled.factor, y.high * scaled.factor, 5)) {
    const double at = y(tick / scaled.factor);
    svg.line(left, at, width - right, at, "grid");
    svg.text(left - 8, at + 4, tick_text(tick), Anchor::end, "soft");
  }
  svg.line(left, top, left, bottom, "axis");
  svg.text(
      left, top - 14,
      fmt::format("{}   ({}{})", scaled.unit, direction(better), y.low > 0 ? "; the axis does not start at zero" : ""),
      Anchor::start, "soft");
}

std::string tip_of(const store::SeriesPoint& p, const Scaled& scaled) {
  return fmt::format("night {}, {}: {} {}, {}", p.sequence, p.commit.substr(0, 10), number(p.value * scaled.factor),
                     scaled.unit, p.verdict);
}

bool is_bad(const store::SeriesPoint& p) { return p.verdict == "suspect" || p.verdict == "trip" || p.verdict == "red"; }

std::string round_of(int block) { return block < 0 ? "before the first round" : fmt::format("round {}", block + 1); }

void baseline_band(Svg& svg, const SeriesChart& chart, const Scale& x, const Scale& y) {
  std::vector<std::pair<double, double>> upper, lower, middle;
  const auto flush = [&] {
    if (middle.size() > 1) {
      auto outline = upper;
      outline.insert(outline.end(), lower.rbegin(), lower.rend());
      svg.polygon(outline, "band");
      svg.polyline(middle, "level");
    }
    upper.clear();
    lower.clear();
    middle.clear();
  };
  for (std::size_t i = 0; i < chart.points.size(); ++i) {
    const auto& p = chart.points[i];
    if (!std::isfinite(p.baseline)) {
      flush();
      continue;
    }
    const double at = x(static_cast<double>(i));
    upper.emplace_back(at, y(p.baseline * (1 + chart.band)));
    lower.emplace_back(at, y(p.baseline * (1 - chart.band)));
    middle.emplace_back(at, y(p.baseline));
  }
  flush();
}

}  // namespace

std::string series_chart(const SeriesChart& chart) {
  constexpr double height = 300, bottom = height - 40;
  Range range;
  for (const auto& p : chart.points) {
    range.add(p.value);
    range.add(p.baseline * (1 + chart.band));
    range.add(p.baseline * (1 - chart.band));
  }
  if (range.empty()) return {};
  range.round_up();
  const auto scaled = scale_for(range.high, chart.unit);
  const auto& last = chart.points.back();
  Svg svg(width, height, chart.title,
          fmt::format("{} nights; the last value is {} {}, {}", chart.points.size(), number(last.value * scaled.factor),
                      scaled.unit, direction(chart.better)));
  const Scale x{0, std::max(1.0, static_cast<double>(chart.points.size()) - 1), left + 12, width - right - 12};
  const Scale y{range.low, range.high, bottom, top};
  value_axis(svg, y, scaled, chart.better, bottom);
  baseline_band(svg, chart, x, y);
  std::vector<std::pair<double, double>> line;
  for (std::size_t i = 0; i < chart.points.size(); ++i) {
    if (std::isfinite(chart.points[i].value)) line.emplace_back(x(static_cast<double>(i)), y(chart.points[i].value));
  }
  svg.polyline(line, "line");
  const auto label_each = std::max<std::size_t>(1, chart.points.size() / 12);
  for (std::size_t i = 0; i < chart.points.size(); ++i) {
    const auto& p = chart.points[i];
    const double at = x(static_cast<double>(i));
    if (p.sequence == chart.first_bad || p.sequence == chart.tripped) {
      svg.line(at, top, at, bottom, "mark");
      const bool trip = p.sequence == chart.tripped;  // the two are often neighbours: one word left, one right
      svg.text(at + (trip ? 2 : -2), top - 2, trip ? "trip" : "suspect", trip ? Anchor::start : Anchor::end, "strong");
    }
    if (i % label_each == 0 || i + 1 == chart.points.size())
      svg.text(at, bottom + 18, fmt::format("{}", p.sequence), Anchor::middle, "soft");
    if (!std::isfinite(p.value)) continue;
    if (is_bad(p)) {
      svg.cross(at, y(p.value), 5, "cross", tip_of(p, scaled));
    } else {
      svg.circle(at, y(p.value), 3.5, p.verdict == "good" || p.verdict == "gain" ? "dot" : "hollow", tip_of(p, scaled));
    }
  }
  svg.text((left + width) / 2, height - 4, "night", Anchor::middle, "soft");
  return figure(
      chart.title, svg.str(),
      fmt::format("Full dot: good night. Open dot: warming up or without verdict. Cross: bad night. Band: the baseline "
                  "± {:.0f} %.",
                  100 * chart.band),
      true);
}

std::string bisect_chart(const BisectChart& chart) {
  constexpr double height = 420, bottom = 280, bars_top = 318, bars_bottom = 388;
  Range range;
  for (const auto& d : chart.dots) {
    for (const double v : {d.value, d.low, d.high}) range.add(v);
  }
  if (range.empty() || chart.merges < 1) return {};
  range.round_up();
  const auto scaled = scale_for(range.high, chart.unit);
  const Scale x{0, static_cast<double>(chart.merges), left + 16, width - right - 16};
  const Scale y{range.low, range.high, bottom, top};
  const auto named = chart.culprit > 0 && static_cast<std::size_t>(chart.culprit) < chart.names.size();
  Svg svg(width, height, chart.title,
          fmt::format("{} measurements over {} merges{}", chart.dots.size(), chart.merges,
                      named ? "; the culprit is " + chart.names[static_cast<std::size_t>(chart.culprit)] : ""));
  value_axis(svg, y, scaled, chart.better, bottom);
  const double slot = (x(1) - x(0));
  for (std::size_t i = 0; i < chart.has_target.size(); ++i) {
    if (!chart.has_target[i])
      svg.rect(x(static_cast<double>(i)) - slot / 2, top, slot, bottom - top, "gap", "no target: stepped around");
  }
  if (named) svg.line(x(chart.culprit) - slot / 2, top, x(chart.culprit) - slot / 2, bars_bottom, "mark");
  std::map<int, int> beside;  // measurements of one point sit side by side
  for (const auto& d : chart.dots) {
    const int n = beside[d.point]++;
    const double step = std::min(11.0, slot / 6);
    const double at = x(d.point) + step * ((n % 2 == 0 ? 1 : -1) * static_cast<double>((n + 1) / 2));
    const auto& name = chart.names[static_cast<std::size_t>(d.point)];
    auto tip = fmt::format("{}: {}, {} {}", round_of(d.block), name, number(d.value * scaled.factor), scaled.unit);
    if (d.low < d.high) {
      svg.line(at, y(d.low), at, y(d.high), "whisker");
      tip += fmt::format(" ({} to {})", number(d.low * scaled.factor), number(d.high * scaled.factor));
    }
    svg.circle(at, y(d.value), 4, d.confirm ? "hollow" : "dot", tip);
    if (chart.dots.size() <= 80 && d.block >= 0)
      svg.text(at, y(d.low < d.high ? d.high : d.value) - 7, fmt::format("{}", d.block + 1), Anchor::middle, "soft");
  }
  const double largest =
      chart.posterior.empty() ? 1 : std::max(1e-9, *std::max_element(chart.posterior.begin(), chart.posterior.end()));
  for (std::size_t i = 1; i < chart.posterior.size(); ++i) {
    const double h = chart.posterior[i] / largest * (bars_bottom - bars_top);
    const auto tip =
        fmt::format("{}: {}", i < chart.names.size() ? chart.names[i] : "", probability(chart.posterior[i]));
    svg.rect(x(static_cast<double>(i)) - std::min(slot * 0.4, 14.0), bars_bottom - h, std::min(slot * 0.8, 28.0), h,
             static_cast<int>(i) == chart.culprit ? "barbad" : "bar", tip);
  }
  svg.line(left, bars_bottom, width - right, bars_bottom, "axis");
  svg.text(left - 8, bars_bottom, "probability", Anchor::end, "soft");
  const int label_each = std::max(1, chart.merges / 16);
  for (int i = 0; i <= chart.merges; i += label_each)
    svg.text(x(i), bottom + 18, i == 0 ? "good" : fmt::format("{}", i), Anchor::middle, "soft");
  svg.text((left + width) / 2, height - 6, "merge, counted from the good end", Anchor::middle, "soft");
  return figure(chart.title, svg.str(),
                "Each dot is one fresh start, numbered by round, its line the spread of its repeats; open dots "
                "confirm. Bars: how probable each merge is at "
                "the end. Grey: no target.");
}

std::string interval_chart(const std::vector<Interval>& intervals, double min_change, const std::string& title) {
  if (intervals.empty()) return {};
  const double height = 60 + 26 * static_cast<double>(intervals.size());
  Range range;
  range.add(-2 * min_change);
  range.add(2 * min_change);
  for (const auto& i : intervals) {
    range.add(std::max(i.low, -1.0));
    range.add(std::min(i.high, 2.0));
    range.add(i.middle);
  }
  const double margin = (range.high - range.low) * 0.04;
  range.low -= margin;
  range.high += margin;
  Svg svg(width, height, title, fmt::format("{} metrics; left of zero is worse", intervals.size()));
  constexpr double names = 330;
  const Scale x{range.low, range.high, names, width - right - 10};
  svg.rect(x(-min_change), 24, x(min_change) - x(-min_change), height - 54, "band", "too small to matter");
  for (const double tick : ticks(100 * range.low, 100 * range.high, 6)) {
    svg.line(x(tick / 100), 24, x(tick / 100), height - 30, "grid");
    svg.text(x(tick / 100), height - 12, tick == 0 ? "0 %" : fmt::format("{:+.0f} %", tick), Anchor::middle, "soft");
  }
  svg.line(x(0), 24, x(0), height - 30, "axis");
  svg.text(names, 14, "← worse", Anchor::start, "soft");
  svg.text(width - right, 14, "better →", Anchor::end, "soft");
  double at = 40;
  for (const auto& i : intervals) {
    svg.text(names - 10, at + 4, shorten(i.name, 44), Anchor::end);
    const double low = x(std::max(i.low, range.low)), high = x(std::min(i.high, range.high));
    if (std::isfinite(i.low) && std::isfinite(i.high))
      svg.line(low, at, high, at, i.verdict == "worse" ? "whiskerbad" : "whisker");
    const auto tip = fmt::format("{}: {} ({}), {}", i.name, percent(i.middle), percent_range(i.low, i.high), i.verdict);
    if (i.verdict == "worse") {
      svg.cross(x(i.middle), at, 5, "cross", tip);
    } else {
      svg.circle(x(i.middle), at, 4.5, i.verdict == "better" || i.verdict == "same" ? "dot" : "hollow", tip);
    }
    at += 26;
  }
  return figure(title, svg.str(),
                "Lines: intervals that stay valid however often one looks. Band: changes too small to matter. Cross: "
                "worse; full dot: better or the same; open dot: not decided.");
}

}  // namespace nightgate::report
