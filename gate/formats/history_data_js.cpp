// github-action-benchmark's data.js: window.BENCHMARK_DATA =
// {"entries":{SUITE:[{"commit":{"id":..},"date":MS,"tool":.., "benches":[{"name":..,"value":..,"unit":..}]}]}}
#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gate/base/json.hpp"
#include "gate/formats/history_builder.hpp"

namespace nightgate::formats {
namespace {

constexpr JsonLimits kLimits{std::size_t{32} << 20U, 16, false};

// Seconds in a unit of time, also in front of a slash ("ns/iter", "us/op"); 0 for anything else.
double seconds_in(std::string_view unit) {
  const auto word = unit.substr(0, unit.find('/'));
  if (word == "ns") return 1e-9;
  if (word == "us" || word == "\xC2\xB5s" || word == "\xCE\xBCs") return 1e-6;
  if (word == "ms") return 1e-3;
  return word == "s" ? 1 : 0;
}

// The tool says the direction, unless the unit is plainly a rate.
Better direction(std::string_view tool, std::string_view unit) {
  if (tool == "customBiggerIsBetter") return Better::higher;
  if (tool == "customSmallerIsBetter") return Better::lower;
  if (const auto by_unit = better_of_unit(unit)) return *by_unit;
  return tool == "benchmarkjs" || tool == "pytest" ? Better::higher : Better::lower;
}

class DataParser {
 public:
  explicit DataParser(const HistoryOptions& options) : options_(options), builder_(options, "entry") {}

  [[nodiscard]] Status suite(const std::string& name, const JsonReader& runs) {
    if (!runs.value().is_array()) return runs.wrong("a list");
    for (const auto& run : runs.elements()) {
      NG_CHECK(this->run(clean_name(name), run));
    }
    return {};
  }
  [[nodiscard]] Result<History> finish() && { return std::move(builder_).finish(); }

 private:
  [[nodiscard]] Status run(const std::string& suite, const JsonReader& run) {
    NG_CHECK(run.is_object());
    HistoryRow row;
    NG_TRY(const auto milliseconds, run.integer("date", 0, 32'503'680'000'000));  // up to the year 3000
    row.time = Instant{std::chrono::milliseconds{milliseconds}};
    NG_TRY(const auto commit, run.child("commit"));
    NG_TRY(const auto id, commit.string_or("id", ""));
    row.commit = clean_name(id);
    row.machine = options_.night.machine;
    row.machine_class = options_.night.machine_class;
    NG_TRY(const auto tool, run.string_or("tool", ""));
    NG_TRY(const auto benches, run.child("benches"));
    if (!benches.value().is_array()) return benches.wrong("a list");
    std::map<std::string, std::vector<double>> values;  // a benchmark run several times stands there several times
    std::map<std::string, std::string> units;
    for (const auto& bench : benches.elements()) {
      NG_CHECK(bench.is_object());
      NG_TRY(const auto name, bench.string("name"));
      NG_TRY(const auto unit, bench.string_or("unit", ""));
      NG_TRY(const auto value, number(bench));
      const std::string metric = suite + "." + clean_name(name);
      const auto known = units.try_emplace(metric, clean_name(unit)).first;
      values[metric].push_back(in_unit(value, clean_name(unit), known->second));
    }
    for (auto& [metric, numbers] : values) {
      ++entry_;
      if (numbers.size() > 1)
        note_once(metric,
                  fmt::format("{} has {} values in one run; their median is taken", in_quotes(metric), numbers.size()));
      NG_CHECK(add(row, metric, units[metric], tool, median_of(numbers), run.path()));
    }
    return {};
  }

  [[nodiscard]] Status add(HistoryRow row, const std::string& metric, const std::string& unit, const std::string& tool,
                           double value, const std::string& path) {
    // Some tools choose ns, us or ms by size: all of a series in the unit of its first night.
    const auto first = first_unit_.try_emplace(metric, unit).first;
    const bool convert = first->second != unit && seconds_in(unit) > 0 && seconds_in(first->second) > 0;
    if (convert)
      note_once(metric, fmt::format("{} changes from {} to {}; converted", in_quotes(metric), first->second, unit));
    row.metric = metric;
    row.unit = convert ? first->second : unit;
    row.value = convert ? in_unit(value, unit, first->second) : value;
    row.better = direction(tool, row.unit);
    auto added = builder_.add(entry_, std::move(row));
    if (!added) return with_context(added.error(), "reading " + path);
    return {};
  }

  [[nodiscard]] static double in_unit(double value, std::string_view from, std::string_view to) {
    if (from == to || seconds_in(from) == 0 || seconds_in(to) == 0) return value;
    return value * seconds_in(from) / seconds_in(to);
  }

  // A number, a number in quotes, or null (what JavaScript writes for NaN).
  [[nodiscard]] static Result<double> number(const JsonReader& bench) {
    if (!bench.has("value")) return bench.wrong("value", "a number");
    const auto& value = bench.value().at("value");
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (value.is_string()) {
      if (const auto parsed = parse_number(value.get_ref<const std::string&>())) return *parsed;
    }
    if (!value.is_number()) return bench.wrong("value", "a number");
    return value.get<double>();
  }

  void note_once(const std::string& metric, std::string text) {
    if (noted_.insert(metric).second) builder_.note(entry_, std::move(text));
  }

  const HistoryOptions& options_;
  HistoryBuilder builder_;
  std::size_t entry_ = 0;
  std::map<std::string, std::string> first_unit_;
  std::set<std::string> noted_;
};

// What stands between the first '{' and the last '}', when around it is only the assignment.
Result<std::string_view> object_of(std::string_view text) {
  const auto from = text.find('{'), to = text.rfind('}');
  if (from == std::string_view::npos || to == std::string_view::npos || to < from) {
    return fail(Code::bad_data, "data.js: found no object; the file was cut off or is something else");
  }
  const auto before = text.substr(0, from), after = text.substr(to + 1);
  const bool assignment =
      before.find_first_not_of(" \t\r\n") == std::string_view::npos ||
      (before.find("BENCHMARK_DATA") != std::string_view::npos && before.find('=') != std::string_view::npos);
  if (!assignment || after.find_first_not_of("; \t\r\n") != std::string_view::npos) {
    return fail(Code::bad_data, "data.js: expected window.BENCHMARK_DATA = {...} and nothing else");
  }
  return text.substr(from, to - from + 1);
}

}  // namespace

Result<History> parse_data_js(std::string_view text, const HistoryOptions& options) {
  NG_CHECK(check_size(text, options.bytes));
  NG_TRY(const auto object, object_of(text));
  NG_TRY(const auto json, parse_json(object, kLimits));
  const JsonReader root(json, "data.js: $");
  NG_TRY(const auto entries, root.child("entries"));
  NG_CHECK(entries.is_object());
  DataParser parser(options);
  for (const auto& [name, runs] : entries.members()) {
    NG_CHECK(parser.suite(name, runs));
  }
  return std::move(parser).finish();
}

}  // namespace nightgate::formats
