#include "gate/formats/history_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace nightgate::formats {
namespace {

constexpr std::size_t kMaxNotes = 50;
constexpr std::size_t kMaxMetric = 1024;  // the longest name that Bencher allows
constexpr std::size_t kMaxField = 256;

using std::chrono::day;
using std::chrono::month;
using std::chrono::sys_days;
using std::chrono::year;
constexpr Instant kEarliest = sys_days{year{1970} / month{1} / day{1}};
constexpr Instant kLatest = sys_days{year{3000} / month{1} / day{1}};

// Tab and line feed may stand in a quoted CSV field; the rest would only serve to fool a terminal.
bool is_plain_text(std::string_view text) {
  bool ascii = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7F) return false;
    ascii = ascii && byte < 0x80;
  }
  return ascii || is_utf8(text);
}

bool row_before(const HistoryRow& a, const HistoryRow& b) {
  if (a.time != b.time) return a.time < b.time;
  if (const int order = a.machine.compare(b.machine); order != 0) return order < 0;
  return a.metric < b.metric;
}

// Digits text[from, from+count) as a number, or -1.
int digits(std::string_view text, std::size_t from, std::size_t count) {
  int value = 0;
  for (std::size_t i = from; i < from + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

std::optional<sys_days> parse_date(std::string_view text) {  // "2026-11-30"
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int y = digits(text, 0, 4), m = digits(text, 5, 2), d = digits(text, 8, 2);
  if (y < 0 || m < 0 || d < 0) return std::nullopt;
  const auto date = year{y} / month{static_cast<unsigned>(m)} / day{static_cast<unsigned>(d)};
  if (!date.ok()) return std::nullopt;
  return sys_days{date};
}

}  // namespace

std::string at_line(std::size_t line) { return fmt::format("line {}: ", line); }

Status check_size(std::string_view text, std::size_t cap) {
  if (text.size() > cap) {
    return fail(Code::bad_data,
                fmt::format("the file has {} bytes, more than the {} allowed; split it by time", text.size(), cap));
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fail(Code::bad_data, "the file is empty");
  }
  return {};
}

Result<Instant> parse_time(std::string_view text, DateOnly date_only) {
  if (text.size() == 20 && text[10] == 'T' && text[13] == ':' && text[16] == ':' && text[19] == 'Z') {
    const auto date = parse_date(text);
    const int h = digits(text, 11, 2), m = digits(text, 14, 2), s = digits(text, 17, 2);
    if (date && h >= 0 && h < 24 && m >= 0 && m < 60 && s >= 0 && s < 60) {
      return Instant{*date + std::chrono::hours{h} + std::chrono::minutes{m} + std::chrono::seconds{s}};
    }
  }
  if (date_only == DateOnly::yes && text.size() == 10) {
    if (const auto date = parse_date(text)) return Instant{*date};
  }
  if (auto time = parse_rfc3339(text)) return time;
  return fail(Code::bad_data, fmt::format("{} is not an RFC 3339 time such as 2026-11-30T16:38:36Z", in_quotes(text)));
}

std::string HistoryBuilder::at(std::size_t line) const { return fmt::format("{} {}: ", place_, line); }

tl::unexpected<Error> HistoryBuilder::second_value(std::size_t line, std::size_t first, const HistoryRow& row) const {
  return fail(
      Code::bad_data,
      fmt::format("{}second value for {} on machine {} at {} (the first is at {} {}); keep one of them", at(line),
                  in_quotes(row.metric), in_quotes(row.machine), to_rfc3339(row.time), place_, first));
}

Status HistoryBuilder::check_text(std::size_t line, const HistoryRow& row) const {
  if (row.metric.empty()) return fail(Code::bad_data, at(line) + "the metric has no name");
  const auto check = [&](std::string_view what, const std::string& text, std::size_t cap) -> Status {
    if (text.size() > cap) {
      return fail(Code::bad_data, fmt::format("{}{} has {} bytes, more than {}", at(line), what, text.size(), cap));
    }
    if (!is_plain_text(text)) {
      return fail(Code::bad_data,
                  fmt::format("{}{} {} holds control characters or is not UTF-8", at(line), what, in_quotes(text)));
    }
    return {};
  };
  NG_CHECK(check("metric", row.metric, kMaxMetric));
  NG_CHECK(check("commit", row.commit, kMaxField));
  NG_CHECK(check("machine", row.machine, kMaxField));
  NG_CHECK(check("unit", row.unit, kMaxField));
  return check("class", row.machine_class, kMaxField);
}

Status HistoryBuilder::check_series(std::size_t line, const HistoryRow& row, Series& series, bool fresh) {
  // A metric is the same thing on every machine.
  const auto [first_of_all, is_new] = first_rows_.try_emplace(row.metric, history_.rows.size());
  if (fresh) series = {row.time, line, false};
  if (is_new) return {};
  const HistoryRow& first = history_.rows[first_of_all->second];
  if (first.unit != row.unit || first.better != row.better) {
    return fail(
        Code::bad_data,
        fmt::format("{}{} is in {} ({} is better) here but in {} ({}) at {} {}; give the new figure another name",
                    at(line), in_quotes(row.metric), in_quotes(row.unit), to_text(row.better), in_quotes(first.unit),
                    to_text(first.better), place_, lines_[first_of_all->second]));
  }
  if (fresh) return {};
  if (row.time == series.latest) {
    return second_value(line, series.latest_line, row);
  }
  if (row.time < series.latest) {
    if (!series.unordered) {
      note(line,
           fmt::format("{} goes back in time to {}; rows are sorted", in_quotes(row.metric), to_rfc3339(row.time)));
    }
    series.unordered = true;
  } else {
    series.latest = row.time;
    series.latest_line = line;
  }
  return {};
}

Status HistoryBuilder::add(std::size_t line, HistoryRow row) {
  if (!(std::isfinite(row.value) && row.value > 0)) {
    const auto text =
        fmt::format("value {} of {} is not a number above 0", number_text(row.value), in_quotes(row.metric));
    if (options_.bad_values == BadValues::leave_out) {
      note(line, text + "; left out");
      return {};
    }
    return fail(Code::bad_data, at(line) + text + "; correct it, or leave such rows out");
  }
  if (row.time < kEarliest || row.time >= kLatest) {
    return fail(Code::bad_data, fmt::format("{}the year of the time is not within 1970-2999", at(line)));
  }
  NG_CHECK(check_text(line, row));
  key_.assign(row.machine).append(1, '\0').append(row.metric);
  const auto [place, fresh] = series_.try_emplace(key_);
  NG_CHECK(check_series(line, row, place->second, fresh));
  history_.rows.push_back(std::move(row));
  lines_.push_back(static_cast<std::uint32_t>(line));
  return {};
}

void HistoryBuilder::note(std::size_t line, std::string text) {
  if (history_.notes.size() < kMaxNotes) {
    history_.notes.push_back({line, std::move(text)});
  } else {
    ++history_.more_notes;
  }
}

// Duplicates in series that went back in time; the ordered ones were checked row by row.
Status HistoryBuilder::check_unordered() const {
  if (std::none_of(series_.begin(), series_.end(), [](const auto& s) { return s.second.unordered; })) return {};
  std::vector<std::size_t> order(history_.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) { return row_before(history_.rows[a], history_.rows[b]); };
  std::stable_sort(order.begin(), order.end(), before);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (before(order[i - 1], order[i])) continue;
    return second_value(lines_[order[i]], lines_[order[i - 1]], history_.rows[order[i]]);
  }
  return {};
}

Result<History> HistoryBuilder::finish() && {
  if (history_.rows.empty()) {
    return fail(Code::bad_data, "the file has no rows; nothing to import");
  }
  NG_CHECK(check_unordered());
  sort_rows(history_.rows);
  return std::move(history_);
}

void sort_rows(std::vector<HistoryRow>& rows) {
  if (!std::is_sorted(rows.begin(), rows.end(), row_before)) std::stable_sort(rows.begin(), rows.end(), row_before);
}

}  // namespace nightgate::formats
