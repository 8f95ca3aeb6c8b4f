// Words and numbers as people read them, and the escaping of everything that came from outside. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nightgate::report {

// For HTML text and attribute values, SVG included. Invalid UTF-8 and control characters become U+FFFD; bidirectional
// controls are dropped, so that a title can't reorder the text around it.
[[nodiscard]] std::string escape_html(std::string_view text);
// For a terminal: one line, no control characters, nothing that reorders text.
[[nodiscard]] std::string plain(std::string_view text);
// For GitHub Markdown table cells and paragraphs: no markup, no mention, no reference, no HTML comes alive.
[[nodiscard]] std::string escape_markdown(std::string_view text);
// At most `most` code points, the rest as an ellipsis.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t most);

// Three significant digits, thousands separated: 12345.6 -> "12,346", 0.01234 -> "0.0123". NaN -> "–".
[[nodiscard]] std::string number(double value);
// Beside an axis: as number(), without zeros that say nothing.
[[nodiscard]] std::string tick_text(double value);
// "1 metric", "2 metrics".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view thing);
// "2026-10-02 21:04 UTC".
[[nodiscard]] std::string minute_of(std::string_view rfc3339);
// A change, negative is worse: "-34.1 %" for -0.341; NaN -> "–". From 100 % on as a factor, which only a figure that
// grew can reach: "5.20 times as bad" for -4.2 (low is better), "3.00 times as good" for 2 (high is better).
[[nodiscard]] std::string percent(double share);
// Of two changes, the worse one first: "-3.1 % to +2.0 %", "5.41 to 5.00 times as bad"; "–" where one is not known.
[[nodiscard]] std::string percent_range(double low, double high);
// A unit chosen once for a row: 1234567 B -> {1.23, "MB"}; most units stay as they are.
struct Scaled {
  double factor = 1;
  std::string unit;
};
[[nodiscard]] Scaled scale_for(double largest, std::string_view unit);
// "0.993" -> "99.3 %"; never "100 %" for less than certainty.
[[nodiscard]] std::string probability(double p);

// A file name from a metric or trip name: letters, digits, dot, dash, underscore; the rest becomes a dash. Names that
// would collide or be too long get a short hash.
[[nodiscard]] std::string slug(std::string_view name);

}  // namespace nightgate::report
