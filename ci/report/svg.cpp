#include "ci/report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

// Two decimals are enough for the eye and keep the pages small and the golden files steady.
std::string at(double x) {
  auto out = fmt::format("{:.2f}", std::isfinite(x) ? x : 0.0);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

std::string join(const std::vector<std::pair<double, double>>& points) {
  std::string out;
  for (const auto& [x, y] : points) out += (out.empty() ? "" : " ") + at(x) + "," + at(y);
  return out;
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title, std::string_view description) {
  out_ = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" class=\"chart\"><title>{}</title><desc>{}</desc>",
      at(width), at(height), escape_html(fmt::format("{}. {}", title, description)), escape_html(title),
      escape_html(description));
}

void Svg::open(std::string_view element, std::string_view style) {
  out_ += fmt::format("<{} class=\"{}\"", element, style);
}

void Svg::close(std::string_view element, std::string_view tip) {
  if (tip.empty()) {
    out_ += "/>";
  } else {
    out_ += fmt::format("><title>{}</title></{}>", escape_html(tip), element);
  }
}

Svg& Svg::line(double x1, double y1, double x2, double y2, std::string_view style) {
  open("line", style);
  out_ += fmt::format(" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", at(x1), at(y1), at(x2), at(y2));
  close("line", {});
  return *this;
}

Svg& Svg::rect(double x, double y, double width, double height, std::string_view style, std::string_view tip) {
  open("rect", style);
  out_ += fmt::format(" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", at(x), at(y), at(std::max(0.0, width)),
                      at(std::max(0.0, height)));
  close("rect", tip);
  return *this;
}

Svg& Svg::circle(double x, double y, double radius, std::string_view style, std::string_view tip) {
  open("circle", style);
  out_ += fmt::format(" cx=\"{}\" cy=\"{}\" r=\"{}\"", at(x), at(y), at(radius));
  close("circle", tip);
  return *this;
}

Svg& Svg::cross(double x, double y, double size, std::string_view style, std::string_view tip) {
  open("path", style);
  out_ +=
      fmt::format(" d=\"M{0} {2}L{1} {3}M{0} {3}L{1} {2}\"", at(x - size), at(x + size), at(y - size), at(y + size));
  close("path", tip);
  return *this;
}

Svg& Svg::polyline(const std::vector<std::pair<double, double>>& points, std::string_view style) {
  open("polyline", style);
  out_ += " points=\"" + join(points) + "\"";
  close("polyline", {});
  return *this;
}

Svg& Svg::polygon(const std::vector<std::pair<double, double>>& points, std::string_view style) {
  open("polygon", style);
  out_ += " points=\"" + join(points) + "\"";
  close("polygon", {});
  return *this;
}

Svg& Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view style) {
  constexpr const char* names[] = {"start", "middle", "end"};
  open("text", style);
  out_ += fmt::format(" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", at(x), at(y), names[static_cast<int>(anchor)],
                      escape_html(text));
  return *this;
}

std::string Svg::str() const { return out_ + "</svg>"; }

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> out;
  if (!(high > low) || !std::isfinite(low) || !std::isfinite(high) || count < 1) return out;
  const double raw = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double nice : {1.0, 2.0, 2.5, 5.0}) {
    if (nice * power >= raw) {
      step = nice * power;
      break;
    }
  }
  for (double x = std::ceil(low / step) * step; x <= high + step * 1e-9; x += step)
    out.push_back(std::abs(x) < step * 1e-9 ? 0 : x);
  return out;
}

}  // namespace nightgate::report
