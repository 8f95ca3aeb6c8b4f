// A small typed SVG writer. Colours are CSS classes of the page (dark, light, print); text is escaped; every picture
// has a title and a description for those who don't see it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nightgate::report {

enum class Anchor { start, middle, end };

class Svg {
 public:
  // Units are user units of the viewBox; the picture scales to the width of its place.
  Svg(double width, double height, std::string_view title, std::string_view description);
  // `style`: a class of the page's style sheet ("line", "band", "bad", "grid", "axis", "dot" ...).
  Svg& line(double x1, double y1, double x2, double y2, std::string_view style);
  Svg& rect(double x, double y, double width, double height, std::string_view style, std::string_view tip = {});
  Svg& circle(double x, double y, double radius, std::string_view style, std::string_view tip = {});
  // A cross: bad points differ by shape, not by colour alone.
  Svg& cross(double x, double y, double size, std::string_view style, std::string_view tip = {});
  Svg& polyline(const std::vector<std::pair<double, double>>& points, std::string_view style);
  Svg& polygon(const std::vector<std::pair<double, double>>& points, std::string_view style);
  Svg& text(double x, double y, std::string_view text, Anchor anchor = Anchor::start, std::string_view style = "label");
  [[nodiscard]] std::string str() const;  // the whole <svg> element

 private:
  void open(std::string_view element, std::string_view style);
  void close(std::string_view element, std::string_view tip);
  std::string out_;
};

// Round values for an axis that covers low..high, about `count` of them.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);

}  // namespace nightgate::report
