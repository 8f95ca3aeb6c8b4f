// Recorded histories, in and out: one row per metric per night.
//
//   NG_TRY(auto history, parse_history(*detect_format(name, text), text, options));
//
// Pure and all or nothing: either every row of the file is good, or an error (Code::bad_data) names the line, what was
// found there and what to do. What is odd but usable is kept and said in `notes`. Rows come back ordered by (time,
// machine, metric), so that two files of the same history give equal rows: parse(print(rows)) == rows for rows in that
// order, by CSV and by JSON lines.
//
// Refused: an empty file or one without rows; a file cut off inside a row; two values for one (machine, time, metric);
// a value that is no finite number above 0 (judging is in logarithms); a series that changes its unit or direction; a
// time outside 1970-2999; text that is not UTF-8 or holds control characters; more than options.bytes.
// Flagged: a last line without line end (the value may be cut); dates out of order within a series (rows are sorted);
// several runs that carry one date (JSON lines with "run": each further run is moved on by a minute).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/base/result.hpp"
#include "gate/formats/reading.hpp"

namespace nightgate::formats {

struct HistoryRow {
  Instant time;
  std::string commit;   // may be empty
  std::string machine;  // may be empty; series of one machine say nothing about another
  std::string metric;   // full name, deployment.scenario.metric
  std::string unit;
  Better better = Better::higher;
  double value = 0;           // > 0
  std::string machine_class;  // CPU model and the like; may be empty
  bool operator==(const HistoryRow&) const = default;
};

struct Note {
  std::size_t line = 0;  // 1-based; 0: the whole file. In JSON documents: the number of the entry
  std::string text;
};

struct History {
  std::vector<HistoryRow> rows;
  std::vector<Note> notes;  // at most 50; `more_notes` counts the rest
  std::size_t more_notes = 0;
};

enum class HistoryFormat { csv, json_lines, data_js, bencher, google_benchmark, hyperfine, k6, yuneta };

// What to do with a value that is not above 0.
enum class BadValues { refuse, leave_out };  // leave_out: the row is dropped and flagged

// The night that a file without a date or a machine of its own belongs to.
struct NightStamp {
  std::optional<Instant> time;
  std::string commit, machine, machine_class;
};

struct HistoryOptions {
  std::size_t bytes = std::size_t{128} << 20U;  // whole file; JSON documents at most 32 MiB, JSON lines 1 MiB each
  BadValues bad_values = BadValues::refuse;
  // For formats that give no unit or direction (JSON lines): first the end of the name is asked (hint_from_name).
  std::string default_unit = "requests/s";
  Better default_better = Better::higher;
  NightStamp night;  // used where the file says nothing
};

[[nodiscard]] std::string_view format_name(HistoryFormat format);  // "csv", "json-lines", "data.js", ...
[[nodiscard]] std::optional<HistoryFormat> format_from_name(std::string_view name);
// By content, the file name only where the content leaves it open. Looks at the first 64 KiB.
[[nodiscard]] std::optional<HistoryFormat> detect_format(std::string_view name, std::string_view text);

[[nodiscard]] Result<History> parse_history(HistoryFormat format, std::string_view text,
                                            const HistoryOptions& options = {});

// time,commit,machine,metric,unit,better,value[,class] with that header line; RFC 4180 quoting; LF or CRLF.
[[nodiscard]] Result<History> parse_csv(std::string_view text, const HistoryOptions& options = {});
// The class column is written when any row has a class.
[[nodiscard]] std::string print_csv(const std::vector<HistoryRow>& rows);

// One object per line: {"db":"d","date":TIME,"sha":"c","NAME":NUMBER,...}. The metric is "d.NAME" ("NAME" without db).
// Further known fields: "machine"; "class" (or "cpu"); "run" (text or number; see Flagged above); "unit" and "better":
// one text for all metrics of the object, or an object by NAME; "values": further metrics by NAME, for names that are
// field names themselves. Other texts, booleans, nulls and lists are ignored (flagged once per field name).
[[nodiscard]] Result<History> parse_json_lines(std::string_view text, const HistoryOptions& options = {});
// The inverse: unit and better are always written, so that importing needs no options.
[[nodiscard]] std::string print_json_lines(const std::vector<HistoryRow>& rows);

// github-action-benchmark: window.BENCHMARK_DATA = {...}; metric "SUITE.NAME", time of the run, commit.id.
[[nodiscard]] Result<History> parse_data_js(std::string_view text, const HistoryOptions& options = {});
// yuneta-perf-report/1: medians (means where there are none) of `version`, from ab[].current and figures[].
[[nodiscard]] Result<History> parse_yuneta(std::string_view text, const HistoryOptions& options = {});
// Results of one run (Bencher, Google Benchmark, hyperfine, k6), stamped with options.night.
[[nodiscard]] Result<History> history_of_readings(const std::vector<Reading>& readings, const HistoryOptions& options);

// Rows into the order that parsing gives.
void sort_rows(std::vector<HistoryRow>& rows);

}  // namespace nightgate::formats
