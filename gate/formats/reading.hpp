// One number from outside, with what it means. Shared by load results (load.hpp) and histories (history.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nightgate::formats {

enum class Better { higher, lower };

struct Reading {
  std::string name;
  double value = 0;  // finite
  std::string unit;  // as the program wrote it; empty = it gave none
  Better better = Better::higher;
  bool better_known = true;  // false: neither said nor to be told from the unit or the name, so that it can't be gated
  bool operator==(const Reading&) const = default;
};

[[nodiscard]] std::string_view to_text(Better better);  // "higher" or "lower"
[[nodiscard]] std::optional<Better> parse_better(std::string_view text);

// Direction that a unit implies: rates ("requests/s", "MB/sec", "ops") are better high, times and sizes low.
[[nodiscard]] std::optional<Better> better_of_unit(std::string_view unit);
// Direction that a metric's last word implies: "throughput", "latency", "elapsed"; names without such a word tell none.
[[nodiscard]] std::optional<Better> better_of_name(std::string_view name);

// What the end of a name tells: "create_c50_p99us" and "latency_us" are microseconds and better low, "rss_kb" a size.
struct UnitHint {
  std::string unit;
  Better better = Better::lower;
};
[[nodiscard]] std::optional<UnitHint> hint_from_name(std::string_view name);

// The shortest text that reads back as the same double.
[[nodiscard]] std::string number_text(double value);
// The whole of `text` as a finite double; no signs beyond '-', no spaces, no hexadecimal, no overflow.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

// Middle value (mean of the two middle ones when even). Of an empty list: 0.
[[nodiscard]] double median_of(std::vector<double> values);

// Names from outside end up in terminals, pages and a database: control characters become spaces, runs of spaces one,
// invalid UTF-8 becomes '?'.
[[nodiscard]] std::string clean_name(std::string_view name);
[[nodiscard]] bool is_utf8(std::string_view text);

// For messages: at most 60 bytes of outside text, control characters and cut UTF-8 replaced, in single quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace nightgate::formats
