// Which format a file has, and the formats that hold one run.
#include "gate/formats/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gate/formats/history_builder.hpp"
#include "gate/formats/load.hpp"
#include "gate/formats/perf_report.hpp"

namespace nightgate::formats {
namespace {

struct Named {
  HistoryFormat format;
  std::string_view name;
};
constexpr std::array<Named, 8> kFormats = {{{HistoryFormat::csv, "csv"},
                                            {HistoryFormat::json_lines, "json-lines"},
                                            {HistoryFormat::data_js, "data.js"},
                                            {HistoryFormat::bencher, "bencher"},
                                            {HistoryFormat::google_benchmark, "google-benchmark"},
                                            {HistoryFormat::hyperfine, "hyperfine"},
                                            {HistoryFormat::k6, "k6"},
                                            {HistoryFormat::yuneta, "yuneta-perf-report"}}};

constexpr std::size_t kLooksAt = std::size_t{64} << 10U;

// Does `text` hold "key" followed by a colon? Spaces between are allowed.
bool has_key(std::string_view text, std::string_view key) {
  const std::string name = fmt::format("\"{}\"", key);
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const auto next = text.find_first_not_of(" \t\r\n", at + name.size());
    if (next != std::string_view::npos && text[next] == ':') return true;
  }
  return false;
}

std::optional<HistoryFormat> detect_json(std::string_view text) {
  const auto line = text.substr(0, text.find('\n'));
  const auto trimmed = line.substr(0, line.find_last_not_of(" \t\r") + 1);
  if (text.find("yuneta-perf-report/") != std::string_view::npos) return HistoryFormat::yuneta;
  if (has_key(text, "entries") && has_key(text, "benches")) return HistoryFormat::data_js;
  if (trimmed.ends_with('}') && (has_key(line, "date") || has_key(line, "time")) && !has_key(line, "benchmarks"))
    return HistoryFormat::json_lines;
  if (has_key(text, "benchmarks") && (has_key(text, "context") || has_key(text, "real_time")))
    return HistoryFormat::google_benchmark;
  if (has_key(text, "results") && has_key(text, "command")) return HistoryFormat::hyperfine;
  if (has_key(text, "metrics") && (has_key(text, "http_reqs") || has_key(text, "iterations") ||
                                   has_key(text, "root_group") || has_key(text, "values")))
    return HistoryFormat::k6;
  if (has_key(text, "value")) return HistoryFormat::bencher;
  return std::nullopt;
}

Result<History> of_program(Result<std::vector<Reading>> readings, const HistoryOptions& options) {
  if (!readings) return tl::unexpected<Error>(std::move(readings).error());
  return history_of_readings(*readings, options);
}

Result<History> of_google_benchmark(std::string_view text, HistoryOptions options) {
  if (!options.night.time) options.night.time = google_benchmark_time(text);
  return of_program(parse_google_benchmark(text), options);
}

// How many requests a run made says nothing about its speed.
Result<History> of_k6(std::string_view text, const HistoryOptions& options) {
  auto readings = parse_k6(text);
  if (readings) std::erase_if(*readings, [](const Reading& reading) { return reading.name == "requests"; });
  return of_program(std::move(readings), options);
}

}  // namespace

std::string_view format_name(HistoryFormat format) {
  for (const auto& known : kFormats) {
    if (known.format == format) return known.name;
  }
  return "unknown";
}

std::optional<HistoryFormat> format_from_name(std::string_view name) {
  for (const auto& known : kFormats) {
    if (known.name == name) return known.format;
  }
  return std::nullopt;
}

std::optional<HistoryFormat> detect_format(std::string_view name, std::string_view text) {
  text = text.substr(0, kLooksAt);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.starts_with("time,commit,")) return HistoryFormat::csv;
  if (text.starts_with('{')) {
    if (const auto format = detect_json(text)) return format;
  } else if (text.substr(0, 200).find("BENCHMARK_DATA") != std::string_view::npos) {
    return HistoryFormat::data_js;
  }
  if (name.ends_with(".csv")) return HistoryFormat::csv;
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson")) return HistoryFormat::json_lines;
  if (name.ends_with("data.js")) return HistoryFormat::data_js;
  return std::nullopt;
}

Result<History> parse_history(HistoryFormat format, std::string_view text, const HistoryOptions& options) {
  NG_CHECK(check_size(text, options.bytes));
  switch (format) {
    case HistoryFormat::csv:
      return parse_csv(text, options);
    case HistoryFormat::json_lines:
      return parse_json_lines(text, options);
    case HistoryFormat::data_js:
      return parse_data_js(text, options);
    case HistoryFormat::bencher:
      return of_program(parse_bencher(text), options);
    case HistoryFormat::google_benchmark:
      return of_google_benchmark(text, options);
    case HistoryFormat::hyperfine:
      return of_program(parse_hyperfine(text), options);
    case HistoryFormat::k6:
      return of_k6(text, options);
    case HistoryFormat::yuneta:
      return parse_yuneta(text, options);
  }
  return fail(Code::internal, "unknown history format");
}

Result<History> history_of_readings(const std::vector<Reading>& readings, const HistoryOptions& options) {
  if (!options.night.time) {
    return fail(Code::usage, "this format does not say when it was measured; give the time of the night");
  }
  HistoryBuilder builder(options, "entry");
  std::size_t entry = 0;
  for (const auto& reading : readings) {
    NG_CHECK(builder.add(++entry, {*options.night.time, options.night.commit, options.night.machine, reading.name,
                                   reading.unit, reading.better, reading.value, options.night.machine_class}));
  }
  return std::move(builder).finish();
}

Result<History> parse_yuneta(std::string_view text, const HistoryOptions& options) {
  NG_CHECK(check_size(text, options.bytes));
  NG_TRY(const auto report, parse_perf_report(text));
  HistoryBuilder builder(options, "entry");
  std::size_t entry = 0;
  const auto add = [&](const std::string& id, const std::string& unit, Better better, double value) {
    return builder.add(++entry, {report.date, clean_name(report.version), clean_name(report.machine), clean_name(id),
                                 clean_name(unit), better, value, clean_name(report.machine_class)});
  };
  for (const auto& figure : report.figures) {
    NG_CHECK(add(figure.id, figure.unit, figure.better, figure.statistics.value()));
  }
  for (const auto& ab : report.comparisons) {
    // An A/B and an absolute figure of the same measure share their id; the absolute one is what joins releases.
    const auto same = [&](const PerfFigure& figure) { return figure.id == ab.id; };
    if (std::any_of(report.figures.begin(), report.figures.end(), same)) continue;
    NG_CHECK(add(ab.id, ab.unit, ab.better, ab.current.value()));
  }
  return std::move(builder).finish();
}

}  // namespace nightgate::formats
