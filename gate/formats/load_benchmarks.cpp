// JSON of benchmark programs: Bencher, Google Benchmark, hyperfine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/formats/load_internal.hpp"

namespace nightgate::formats {
namespace {

using Readings = Result<std::vector<Reading>>;

constexpr double kMost = 1e300;

struct Measure {
  std::string_view slug, unit;
  Better better;
};
// Bencher's own measures (its documentation, "Measures"); others are judged by name.
constexpr std::array<Measure, 10> kMeasures = {{{"latency", "ns", Better::lower},
                                                {"throughput", "operations/s", Better::higher},
                                                {"build-time", "s", Better::lower},
                                                {"file-size", "bytes", Better::lower},
                                                {"instructions", "instructions", Better::lower},
                                                {"estimated-cycles", "cycles", Better::lower},
                                                {"total-read-write", "reads and writes", Better::lower},
                                                {"ram-hits", "hits", Better::lower},
                                                {"l2-hits", "hits", Better::lower},
                                                {"l1-hits", "hits", Better::higher}}};

Reading bencher_reading(std::string_view benchmark, std::string_view measure, double value) {
  constexpr std::string_view kIgnore = "-bencher-ignore";  // suppresses their alerts; not part of the name
  if (benchmark.ends_with(kIgnore) && benchmark.size() > kIgnore.size()) benchmark.remove_suffix(kIgnore.size());
  Reading out{clean_name(benchmark) + "." + clean_name(measure), value, "", Better::higher};
  for (const auto& known : kMeasures) {
    if (known.slug != measure) continue;
    out.unit = known.unit;
    out.better = known.better;
    return out;
  }
  if (const auto hint = hint_from_name(out.name)) {
    out.unit = hint->unit;
    out.better = hint->better;
  }
  return out;
}

// Rows of one benchmark: repetitions, or their aggregates.
class GoogleRows {
 public:
  [[nodiscard]] Status add(const JsonReader& row) {
    NG_TRY(const auto name, row.string("name"));
    NG_TRY(const auto run_name, row.string_or("run_name", name));
    NG_TRY(const bool failed, row.boolean_or("error_occurred", false));
    if (failed) {
      NG_TRY(const auto why, row.string_or("error_message", ""));
      return fail(Code::bad_data, fmt::format("benchmark {} reports an error: {}", in_quotes(name), in_quotes(why)));
    }
    NG_TRY(const bool skipped, row.boolean_or("skipped", false));
    if (skipped) return {};
    NG_TRY(const auto type, row.string_or("run_type", "iteration"));
    NG_TRY(const auto aggregate, row.string_or("aggregate_name", old_aggregate(name, row.has("run_type"))));
    if (type == "iteration" && aggregate.empty()) return add_figures(repetitions_, clean_name(run_name), row);
    if (aggregate != "median") return {};
    const auto base = row.has("run_name") ? run_name : name.substr(0, name.size() - std::string_view("_median").size());
    return add_figures(medians_, clean_name(base), row);
  }

  // The program's own medians where it gave them.
  [[nodiscard]] std::vector<Reading> take() const {
    auto out = repetitions_.take();
    for (const auto& reading : medians_.take()) {
      const auto same =
          std::find_if(out.begin(), out.end(), [&](const Reading& other) { return other.name == reading.name; });
      if (same == out.end()) {
        out.push_back(reading);
      } else {
        same->value = reading.value;
      }
    }
    return out;
  }

 private:
  // Before 1.5 there was no run_type: aggregates are told by the end of their name.
  static std::string old_aggregate(const std::string& name, bool has_type) {
    if (has_type) return "";
    for (const std::string_view end : {"mean", "median", "stddev", "cv", "BigO", "RMS"}) {
      if (name.size() > end.size() && name.ends_with(end) && name[name.size() - end.size() - 1] == '_')
        return std::string(end);
    }
    return "";
  }

  static Status add_figures(MedianOf& out, const std::string& name, const JsonReader& row) {
    NG_TRY(const auto unit, row.string_or("time_unit", "ns"));
    NG_TRY(const auto real, row.number("real_time", 0, kMost));
    NG_TRY(const auto cpu, row.number("cpu_time", 0, kMost));
    out.add(name, real, clean_name(unit), Better::lower);
    out.add(name + ".cpu", cpu, clean_name(unit), Better::lower);
    if (row.has("items_per_second")) {
      NG_TRY(const auto items, row.number("items_per_second", 0, kMost));
      out.add(name + ".items", items, "items/s", Better::higher);
    }
    if (row.has("bytes_per_second")) {
      NG_TRY(const auto bytes, row.number("bytes_per_second", 0, kMost));
      out.add(name + ".bytes", bytes, "bytes/s", Better::higher);
    }
    return {};
  }

  MedianOf repetitions_, medians_;
};

Status add_hyperfine(const JsonReader& result, std::vector<Reading>& out) {
  NG_TRY(const auto text, result.string("command"));
  const std::string name = clean_name(text);
  for (const auto& code : result.has("exit_codes") ? result.value().at("exit_codes") : nlohmann::json::array()) {
    if (code.is_number_integer() && code.get<std::int64_t>() == 0) continue;
    return fail(Code::bad_data,
                fmt::format("command {} did not always succeed (an exit code is {}); a time over failures is none",
                            in_quotes(name), dump_json(code).substr(0, 20)));
  }
  NG_TRY(const auto median, result.number("median", 0, kMost));
  out.push_back({name, median, "s", Better::lower});
  NG_TRY(const auto user, result.number("user", 0, kMost));
  out.push_back({name + ".user", user, "s", Better::lower});
  NG_TRY(const auto system, result.number("system", 0, kMost));
  out.push_back({name + ".system", system, "s", Better::lower});
  return {};
}

}  // namespace

Readings parse_bencher(std::string_view output) {
  NG_TRY(const auto json, json_of_output(output, "the benchmark"));
  const JsonReader root(json, "bencher: $");
  NG_CHECK(root.is_object());
  std::vector<Reading> out;
  for (const auto& [benchmark, measures] : root.members()) {
    NG_CHECK(measures.is_object());
    for (const auto& [measure, metric] : measures.members()) {
      NG_CHECK(metric.is_object());
      NG_TRY(const auto value, metric.number("value", -kMost, kMost));
      out.push_back(bencher_reading(benchmark, measure, value));
    }
  }
  if (out.empty()) return no_result("Bencher", output);
  return out;
}

Readings parse_google_benchmark(std::string_view output) {
  NG_TRY(const auto json, json_of_output(output, "Google Benchmark"));
  const JsonReader root(json, "google-benchmark: $");
  NG_TRY(const auto rows, root.child("benchmarks"));
  if (!rows.value().is_array()) return rows.wrong("a list");
  GoogleRows collected;
  for (const auto& row : rows.elements()) {
    NG_CHECK(row.is_object());
    NG_CHECK(collected.add(row));
  }
  auto out = collected.take();
  if (out.empty()) return no_result("Google Benchmark", output);
  return out;
}

std::optional<Instant> google_benchmark_time(std::string_view output) {
  const auto json = json_of_output(output, "Google Benchmark");
  if (!json) return std::nullopt;
  const auto context = JsonReader(*json, "$").child("context");
  if (!context) return std::nullopt;
  const auto date = context->string("date");
  if (!date) return std::nullopt;
  const auto time = parse_rfc3339(*date);
  return time ? std::optional<Instant>(*time) : std::nullopt;
}

Readings parse_hyperfine(std::string_view output) {
  NG_TRY(const auto json, json_of_output(output, "hyperfine"));
  const JsonReader root(json, "hyperfine: $");
  NG_TRY(const auto results, root.child("results"));
  if (!results.value().is_array()) return results.wrong("a list");
  std::vector<Reading> out;
  for (const auto& result : results.elements()) {
    NG_CHECK(result.is_object());
    NG_CHECK(add_hyperfine(result, out));
  }
  if (out.empty()) return no_result("hyperfine", output);
  return out;
}

}  // namespace nightgate::formats
