// Inside of history.hpp: collects rows, checks each one and the whole. Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "gate/formats/history.hpp"

namespace nightgate::formats {

class HistoryBuilder {
 public:
  // `place` is what the numbers given to add() count: lines of a file, or entries of a JSON document.
  explicit HistoryBuilder(const HistoryOptions& options, std::string place = "line")
      : options_(options), place_(std::move(place)) {}

  // `line` is where the row came from (counted from 1). The error names it.
  [[nodiscard]] Status add(std::size_t line, HistoryRow row);
  void note(std::size_t line, std::string text);
  // Checks what can only be seen at the end, sorts, and hands everything over.
  [[nodiscard]] Result<History> finish() &&;

 private:
  struct Series {
    Instant latest;
    std::size_t latest_line = 0;
    bool unordered = false;
  };
  [[nodiscard]] std::string at(std::size_t line) const;
  [[nodiscard]] Status check_text(std::size_t line, const HistoryRow& row) const;
  [[nodiscard]] Status check_series(std::size_t line, const HistoryRow& row, Series& series, bool fresh);
  [[nodiscard]] Status check_unordered() const;

  [[nodiscard]] tl::unexpected<Error> second_value(std::size_t line, std::size_t first, const HistoryRow& row) const;

  const HistoryOptions& options_;
  std::string place_;
  History history_;
  std::vector<std::uint32_t> lines_;                         // of each row
  std::unordered_map<std::string, Series> series_;           // by machine and metric
  std::unordered_map<std::string, std::size_t> first_rows_;  // by metric
  std::string key_;
};

// "line 7: ".
[[nodiscard]] std::string at_line(std::size_t line);
// Code::bad_data when the text is larger than allowed or has nothing in it.
[[nodiscard]] Status check_size(std::string_view text, std::size_t cap);
// parse_rfc3339 with a fast path for the usual form; also "2026-11-30" (midnight UTC) when `date_only` is allowed.
enum class DateOnly { no, yes };
[[nodiscard]] Result<Instant> parse_time(std::string_view text, DateOnly date_only = DateOnly::no);

}  // namespace nightgate::formats
