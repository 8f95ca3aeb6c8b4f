#include "gate/formats/perf_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/formats/history_builder.hpp"

namespace nightgate::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMost = 1e300;
constexpr JsonLimits kLimits{std::size_t{16} << 20U, 32, false};

Result<std::optional<double>> optional_number(const JsonReader& from, std::string_view key) {
  if (!from.has(key)) return std::optional<double>();
  NG_TRY(const double value, from.number(key, -kMost, kMost));
  return std::optional<double>(value);
}

Result<PerfStatistics> statistics(const JsonReader& from) {
  PerfStatistics out;
  NG_TRY(out.mean, from.number("mean", -kMost, kMost));
  NG_TRY(out.sd, optional_number(from, "sd"));
  NG_TRY(out.median, optional_number(from, "median"));
  NG_TRY(out.min, optional_number(from, "min"));
  NG_TRY(out.max, optional_number(from, "max"));
  return out;
}

Result<Better> direction(const JsonReader& from) {
  NG_TRY(const auto text, from.string("better"));
  const auto better = parse_better(text);
  if (!better) return from.wrong("better", "\"higher\" or \"lower\"");
  return *better;
}

Result<int> rounds(const JsonReader& from) {
  NG_TRY(const auto n, from.integer_or("n", 0, 1'000'000'000, 0));
  return static_cast<int>(n);
}

Result<PerfComparison> comparison(const JsonReader& from) {
  PerfComparison out;
  NG_CHECK(from.is_object());
  NG_TRY(out.id, from.string("id"));
  NG_TRY(out.unit, from.string("unit"));
  NG_TRY(out.better, direction(from));
  NG_TRY(const auto previous, from.child("previous"));
  NG_TRY(out.previous, statistics(previous));
  NG_TRY(const auto current, from.child("current"));
  NG_TRY(out.current, statistics(current));
  NG_TRY(out.n, rounds(from));
  NG_TRY(out.verdict, from.string_or("verdict", ""));
  NG_TRY(out.reason, from.string_or("reason", ""));
  NG_TRY(out.change_pct, optional_number(from, "change_pct"));
  return out;
}

Result<PerfFigure> figure(const JsonReader& from) {
  PerfFigure out;
  NG_CHECK(from.is_object());
  NG_TRY(out.id, from.string("id"));
  NG_TRY(out.unit, from.string("unit"));
  NG_TRY(out.better, direction(from));
  NG_TRY(out.statistics, statistics(from));
  NG_TRY(out.n, rounds(from));
  return out;
}

// The machine is an object of descriptions, or just a name.
Status read_machine(const JsonReader& root, PerfReport& out) {
  if (!root.has("machine")) return {};
  NG_TRY(const auto machine, root.child("machine"));
  if (machine.value().is_string()) {
    out.machine = machine.value().get<std::string>();
    return {};
  }
  NG_CHECK(machine.is_object());
  NG_TRY(const auto kind, machine.string_or("kind", ""));
  NG_TRY(out.machine, machine.string_or("model", kind));
  NG_TRY(out.machine_class, machine.string_or("cpu", ""));
  NG_TRY(const auto cores, machine.integer_or("cores", 0, 1'000'000, 0));
  NG_TRY(const auto threads, machine.integer_or("threads", 0, 1'000'000, 0));
  if (cores > 0 && !out.machine_class.empty())
    out.machine_class += fmt::format(", {} cores, {} threads", cores, threads);
  return {};
}

template <class Item, class Read>
Status read_list(const JsonReader& root, std::string_view key, std::vector<Item>& out, Read read) {
  if (!root.has(key)) return {};
  NG_TRY(const auto list, root.child(key));
  if (!list.value().is_array()) return list.wrong("a list");
  for (const auto& element : list.elements()) {
    NG_TRY(auto item, read(element));
    out.push_back(std::move(item));
  }
  return {};
}

}  // namespace

Result<PerfReport> parse_perf_report(std::string_view text) {
  NG_TRY(const auto json, parse_json(text, kLimits));
  const JsonReader root(json, "perf-report: $");
  NG_CHECK(root.is_object());
  NG_TRY(const auto schema, root.string("schema"));
  if (schema != "yuneta-perf-report/1") return root.wrong("schema", "\"yuneta-perf-report/1\"");
  PerfReport out;
  NG_TRY(out.version, root.string("version"));
  NG_TRY(out.previous, root.string_or("previous", ""));
  NG_TRY(const auto date, root.string("date"));
  const auto time = parse_time(date, DateOnly::yes);
  if (!time) return root.wrong("date", "a date such as 2026-11-30");
  out.date = *time;
  NG_CHECK(read_machine(root, out));
  NG_CHECK(read_list(root, "ab", out.comparisons, comparison));
  NG_CHECK(read_list(root, "figures", out.figures, figure));
  return out;
}

namespace {

Json statistics_json(const PerfStatistics& s) {
  Json out = {{"mean", s.mean}};
  if (s.sd) out["sd"] = *s.sd;
  if (s.median) out["median"] = *s.median;
  if (s.min) out["min"] = *s.min;
  if (s.max) out["max"] = *s.max;
  return out;
}

const char* word(Better better) { return better == Better::higher ? "higher" : "lower"; }

}  // namespace

std::string print_perf_report(const PerfReport& report) {
  Json out;
  out["schema"] = "yuneta-perf-report/1";
  out["version"] = report.version;
  if (!report.previous.empty()) out["previous"] = report.previous;
  out["date"] = to_rfc3339(report.date);
  out["machine"] = {{"model", report.machine}, {"cpu", report.machine_class}};
  out["ab"] = Json::array();
  for (const auto& c : report.comparisons) {
    Json row = {{"id", c.id},
                {"unit", c.unit},
                {"better", word(c.better)},
                {"previous", statistics_json(c.previous)},
                {"current", statistics_json(c.current)},
                {"n", c.n},
                {"verdict", c.verdict},
                {"reason", c.reason}};
    if (c.change_pct) row["change_pct"] = *c.change_pct;
    out["ab"].push_back(std::move(row));
  }
  out["figures"] = Json::array();
  for (const auto& f : report.figures) {
    auto row = statistics_json(f.statistics);
    row["id"] = f.id;
    row["unit"] = f.unit;
    row["better"] = word(f.better);
    row["n"] = f.n;
    out["figures"].push_back(std::move(row));
  }
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace nightgate::formats
