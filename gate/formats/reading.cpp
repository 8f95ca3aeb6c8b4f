#include "gate/formats/reading.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace nightgate::formats {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Length of the well-formed UTF-8 sequence at the start of `text` (RFC 3629: no overlong forms, no surrogates), or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : (first & 0xF0) == 0xE0         ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const std::uint8_t second = byte(1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

}  // namespace

std::string_view to_text(Better better) { return better == Better::higher ? "higher" : "lower"; }

std::optional<Better> parse_better(std::string_view text) {
  if (text == "higher") return Better::higher;
  if (text == "lower") return Better::lower;
  return std::nullopt;
}

std::optional<Better> better_of_unit(std::string_view unit) {
  const std::string text = lower_case(unit);
  const auto ends_with = [&](std::string_view tail) { return std::string_view(text).ends_with(tail); };
  if (ends_with("/s") || ends_with("/sec") || ends_with("/second") || ends_with("/min") || ends_with("per second") ||
      is_one_of(text, {"ops", "rps", "qps", "tps", "iops", "fps"})) {
    return Better::higher;
  }
  const std::string_view head = std::string_view(text).substr(0, text.find('/'));  // "ns/op", "B/op", "ns/iter"
  if (is_one_of(head, {"ns",          "us",           "\xC2\xB5s",    "\xCE\xBCs", "ms",   "s",
                       "sec",         "second",       "seconds",      "msec",      "usec", "nsec",
                       "nanoseconds", "microseconds", "milliseconds", "min",       "b",    "byte",
                       "bytes",       "kb",           "mb",           "gb",        "kib",  "mib",
                       "gib",         "allocs",       "instructions", "cycles"})) {
    return Better::lower;
  }
  return std::nullopt;
}

std::optional<Better> better_of_name(std::string_view name) {
  const auto cut = name.find_last_of("_.");
  const std::string word = lower_case(cut == std::string_view::npos ? name : name.substr(cut + 1));
  if (is_one_of(word, {"throughput", "rate", "ops", "rps", "qps", "tps", "iops", "bandwidth", "requests"})) {
    return Better::higher;
  }
  if (is_one_of(word, {"latency", "lag", "elapsed", "duration", "time", "wall", "runtime", "rss", "allocs",
                       "allocations", "instructions", "cycles"})) {
    return Better::lower;
  }
  return std::nullopt;
}

std::optional<UnitHint> hint_from_name(std::string_view name) {
  const auto cut = name.find_last_of("_.");
  std::string last = lower_case(cut == std::string_view::npos ? name : name.substr(cut + 1));
  std::string_view word = last;
  if (word.size() > 1 && word[0] == 'p' && word[1] >= '0' && word[1] <= '9') {  // p99us, p50
    word.remove_prefix(std::min(word.find_first_not_of("0123456789", 1), word.size()));
  } else if (cut != std::string_view::npos) {
    for (const std::string_view statistic : {"max", "mean", "median", "avg", "med", "min", "latency"}) {
      if (word.starts_with(statistic) && word.size() > statistic.size()) {
        word.remove_prefix(statistic.size());
        break;
      }
    }
  }
  if (cut == std::string_view::npos && word.size() == last.size()) return std::nullopt;  // a bare word tells nothing
  if (is_one_of(word, {"ns", "us", "ms", "s"})) return UnitHint{std::string(word), Better::lower};
  if (is_one_of(word, {"seconds", "sec"})) return UnitHint{"s", Better::lower};
  if (is_one_of(word, {"bytes", "kb", "mb", "gb", "kib", "mib"})) return UnitHint{std::string(word), Better::lower};
  return std::nullopt;
}

std::string number_text(double value) {
  std::array<char, 40> buffer{};
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), done.ptr};
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, value);
  if (done.ec != std::errc() || done.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : values[half - 1] / 2 + values[half] / 2;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string clean_name(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  while (!name.empty()) {
    const std::size_t length = utf8_length(name);
    const auto first = static_cast<std::uint8_t>(name[0]);
    if (length == 0) {
      out += '?';
    } else if (first <= 0x20 || first == 0x7F) {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += name.substr(0, length);
    }
    name.remove_prefix(std::max<std::size_t>(length, 1));
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string shown = clean_name(text.substr(0, kShown));
  if (text.size() > kShown) shown += "...";
  return "'" + shown + "'";
}

}  // namespace nightgate::formats
