#include "ci/report/history_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ci/report/page.hpp"
#include "ci/report/svg.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

constexpr double width = 1000, height = 360, left = 78, right = 40, top = 56, bottom = 316;
constexpr std::size_t most_tips = 500;  // nights that say what they are under the cursor; older ones are a line

struct Frame {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity(), nights = 1;
  Scaled scaled;
  [[nodiscard]] double x(std::size_t i) const {
    return left + 8 + (nights > 1 ? static_cast<double>(i) / (nights - 1) : 0.5) * (width - left - right - 16);
  }
  [[nodiscard]] double y(double value) const { return bottom - (value - low) / (high - low) * (bottom - top); }
  [[nodiscard]] double step() const { return nights > 1 ? (width - left - right - 16) / (nights - 1) : 40; }
};

Frame frame_of(const HistoryChart& chart) {
  Frame frame;
  for (const auto& p : *chart.points) {
    for (const double v : {p.value, p.baseline * (1 + chart.band), p.baseline * (1 - chart.band)}) {
      if (!std::isfinite(v)) continue;
      frame.low = std::min(frame.low, v);
      frame.high = std::max(frame.high, v);
    }
  }
  // Zero is shown where it is near enough; else the axis says that it is cut.
  if (frame.low > 0 && frame.low < 0.6 * frame.high) frame.low = 0;
  const double margin = std::max((frame.high - frame.low) * 0.08, std::abs(frame.high) * 0.01);
  frame.high += margin;
  if (frame.low != 0) frame.low -= margin;
  frame.nights = static_cast<double>(chart.points->size());
  frame.scaled = scale_for(frame.high, chart.unit);
  return frame;
}

void axes(Svg& svg, const HistoryChart& chart, const Frame& frame) {
  for (const double tick : ticks(frame.low * frame.scaled.factor, frame.high * frame.scaled.factor, 5)) {
    const double at = frame.y(tick / frame.scaled.factor);
    svg.line(left, at, width - right, at, "grid");
    svg.text(left - 8, at + 4, tick_text(tick), Anchor::end, "soft");
  }
  svg.line(left, top, left, bottom, "axis");
  svg.text(left, 14,
           fmt::format("{}   ({}{})", frame.scaled.unit,
                       chart.better == store::Better::higher ? "up is better ↑" : "down is better ↓",
                       frame.low > 0 ? "; the axis does not start at zero" : ""),
           Anchor::start, "soft");
  const auto& points = *chart.points;
  const auto each = std::max<std::size_t>(1, (points.size() + 7) / 8);
  for (std::size_t i = 0; i < points.size(); i += each) {
    const auto label = chart.labels->find(points[i].sequence);
    svg.line(frame.x(i), bottom, frame.x(i), bottom + 4, "axis");
    svg.text(frame.x(i), bottom + 18, fmt::format("night {}", points[i].sequence), Anchor::middle, "soft");
    if (label != chart.labels->end()) svg.text(frame.x(i), bottom + 34, label->second.date, Anchor::middle, "soft");
  }
}

void band(Svg& svg, const HistoryChart& chart, const Frame& frame) {
  const auto& points = *chart.points;
  std::vector<std::pair<double, double>> upper, lower;
  const auto flush = [&] {
    if (upper.size() > 1) {
      upper.insert(upper.end(), lower.rbegin(), lower.rend());
      svg.polygon(upper, "band");
    }
    upper.clear();
    lower.clear();
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i].baseline)) {
      flush();
      continue;
    }
    // A baseline that stands still needs only its ends.
    const bool inner = i > 0 && i + 1 < points.size() && points[i - 1].baseline == points[i].baseline &&
                       points[i + 1].baseline == points[i].baseline;
    if (inner) continue;
    upper.emplace_back(frame.x(i), frame.y(points[i].baseline * (1 + chart.band)));
    lower.emplace_back(frame.x(i), frame.y(points[i].baseline * (1 - chart.band)));
  }
  flush();
}

void levels(Svg& svg, const HistoryChart& chart, const Frame& frame) {
  const auto& values = chart.values;
  for (std::size_t c = 0; c < chart.changes.size(); ++c) {
    const auto& change = chart.changes[c];
    const auto at = frame.x(values[change.index]) - frame.step() / 2;
    svg.line(at, top - 8, at, bottom, "turn");
    const double row = c % 2 == 0 ? top - 12 : top - 26;  // neighbours stand apart
    svg.text(std::clamp(at, left + 30, width - right - 30), row,
             fmt::format("{} {}", change.change < 0 ? "▼" : "▲", percent(change.change)), Anchor::middle,
             change.change < 0 ? "strong bad" : "strong good");
    const auto from = c == 0 ? std::size_t{0} : chart.changes[c - 1].index;
    svg.line(frame.x(values[from]), frame.y(change.before), at, frame.y(change.before), "step");
    if (c + 1 == chart.changes.size())
      svg.line(at, frame.y(change.after), frame.x(values.back()), frame.y(change.after), "step");
  }
}

void nights(Svg& svg, const HistoryChart& chart, const Frame& frame) {
  const auto& points = *chart.points;
  std::vector<std::pair<double, double>> line;
  for (const auto i : chart.values) line.emplace_back(frame.x(i), frame.y(points[i].value));
  svg.polyline(line, line.size() > 150 ? "thin" : "line");
  const bool dense = points.size() > 150;
  for (const auto i : chart.values) {
    const auto& p = points[i];
    const double x = frame.x(i), y = frame.y(p.value);
    if (is_bad(p)) {
      svg.cross(x, y, dense ? 3.5 : 5, "cross");
    } else if (!dense || p.verdict == "gain") {
      svg.circle(x, y, 3.2, p.verdict == "good" || p.verdict == "gain" ? "dot" : "hollow");
    }
  }
  const auto first = points.size() > most_tips ? points.size() - most_tips : 0;
  for (std::size_t i = first; i < points.size(); ++i) {
    svg.rect(frame.x(i) - frame.step() / 2, top, frame.step(), bottom - top, "hit",
             tip_of(points[i], *chart.labels, frame.scaled.factor, frame.scaled.unit));
  }
}

}  // namespace

bool is_bad(const store::HistoryPoint& p) { return p.red || p.verdict == "suspect" || p.verdict == "trip"; }

std::string tip_of(const store::HistoryPoint& p, const NightLabels& labels, double factor, const std::string& unit) {
  auto out = fmt::format("Night {}", p.sequence);
  if (const auto label = labels.find(p.sequence); label != labels.end()) {
    out += ", " + label->second.date;
    if (!label->second.merge.empty()) out += ", " + label->second.merge;
  }
  out += std::isfinite(p.value) ? fmt::format(": {} {}", number(p.value * factor), unit) : ": no value";
  if (std::isfinite(p.change)) out += " (" + percent(p.change) + ")";
  std::string verdict = p.verdict.empty() ? "not judged" : p.verdict;
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  return out + ", " + verdict;
}

std::string history_chart(const HistoryChart& chart) {
  if (chart.points == nullptr || chart.labels == nullptr || chart.values.empty()) return {};
  const auto frame = frame_of(chart);
  const auto& last = (*chart.points)[chart.values.back()];
  Svg svg(width, height, chart.title,
          fmt::format("{} nights, {} change points; the last value is {} {}, {}", chart.points->size(),
                      chart.changes.size(), number(last.value * frame.scaled.factor), frame.scaled.unit,
                      chart.better == store::Better::higher ? "up is better" : "down is better"));
  band(svg, chart, frame);
  axes(svg, chart, frame);
  nights(svg, chart, frame);
  levels(svg, chart, frame);
  return figure(chart.title, svg.str(),
                fmt::format("Line: the figure of each night. Band: the baseline ± {:.0f} %. Cross: a bad night. Thick "
                            "lines: the levels between change points, seen in hindsight.",
                            100 * chart.band),
                true);
}

std::string spark_chart(const std::vector<double>& values, const std::vector<bool>& bad, const std::string& words) {
  constexpr double w = 128, h = 24;
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (!(low <= high)) return {};
  // Noise shall not look like mountains: the picture covers at least 10 % of the value.
  const double middle = (low + high) / 2, half = std::max((high - low) / 2, std::abs(middle) * 0.05);
  const auto x = [&](std::size_t i) {
    return 3 + (values.size() > 1 ? static_cast<double>(i) / static_cast<double>(values.size() - 1) : 0.5) * (w - 6);
  };
  const auto y = [&](double v) { return h / 2 - (v - middle) / (half > 0 ? half : 1) * (h / 2 - 3); };
  std::string points, marks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    points += fmt::format("{}{:.0f},{:.1f}", points.empty() ? "" : " ", x(i), y(values[i]));
    if (i < bad.size() && bad[i]) marks += fmt::format("M{:.0f} {:.0f}l4 4m0-4l-4 4", x(i) - 2, y(values[i]) - 2);
  }
  auto out = fmt::format(
      "<svg class=\"spark\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\"><polyline "
      "class=\"line\" points=\"{}\"/>",
      w, h, escape_html(words), points);
  if (!marks.empty()) out += "<path class=\"cross\" d=\"" + marks + "\"/>";
  return out + "</svg>";
}

}  // namespace nightgate::report
