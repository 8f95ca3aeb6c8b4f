// Text of benchmark programs: pgbench, redis-benchmark --csv, go test -bench.
#include <fmt/format.h>

#include <algorithm>

#include "gate/formats/load_internal.hpp"

namespace nightgate::formats {
namespace {

using Readings = Result<std::vector<Reading>>;

template <class Use>
Status for_each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    NG_CHECK(use(line));
  }
  return {};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;
       at = line.find_first_not_of(" \t", at)) {
    const auto end = std::min(line.find_first_of(" \t", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

// "tps = 1234.5 (...)" with key "tps": 1234.5
std::optional<double> value_after(std::string_view line, std::string_view key, std::string_view sign) {
  if (!line.starts_with(key)) return std::nullopt;
  line.remove_prefix(key.size());
  if (!line.starts_with(sign)) return std::nullopt;
  line.remove_prefix(sign.size());
  return parse_number(line.substr(0, line.find_first_of(" /")));
}

// "a","b" or a,b; these programs never put a comma or a quote into a field.
std::vector<std::string_view> csv_fields(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto comma = line.find(',');
    auto field = line.substr(0, comma);
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
    out.push_back(field);
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

struct GoLine {
  std::string_view name;
  std::vector<std::pair<double, std::string_view>> figures;
};

// "BenchmarkName-8  1000  123 ns/op  7 B/op"; anything else gives nothing.
std::optional<GoLine> go_line(std::string_view line) {
  const auto words = words_of(line);
  if (words.size() < 4 || words.size() % 2 != 0 || !words[0].starts_with("Benchmark")) return std::nullopt;
  if (!parse_number(words[1])) return std::nullopt;
  GoLine out{words[0], {}};
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    const auto value = parse_number(words[i]);
    if (!value) return std::nullopt;
    out.figures.emplace_back(*value, words[i + 1]);
  }
  return out;
}

// "-8" of "BenchmarkName-8", or nothing.
std::string_view procs_suffix(std::string_view name) {
  const auto dash = name.rfind('-');
  if (dash == std::string_view::npos || dash + 1 == name.size()) return {};
  const auto digits = name.substr(dash + 1);
  return digits.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(dash) : std::string_view();
}

}  // namespace

Readings parse_pgbench(std::string_view output) {
  std::optional<double> tps, latency, spread;
  NG_CHECK(for_each_line(output, [&](std::string_view line) -> Status {
    if (const auto value = value_after(line, "tps", " = ")) {
      // Before version 14 there are two; the one without the time to connect is what later versions print.
      if (!tps || line.find("excluding") != std::string_view::npos || line.find("without") != std::string_view::npos)
        tps = value;
    }
    if (const auto value = value_after(line, "latency average", " = ")) latency = value;
    if (const auto value = value_after(line, "latency stddev", " = ")) spread = value;
    if (const auto value = value_after(line, "number of failed transactions", ": "); value && *value > 0) {
      return fail(Code::bad_data,
                  fmt::format("pgbench: {} transactions failed; a rate over errors is not a rate", *value));
    }
    return {};
  }));
  if (!tps) return no_result("pgbench", output);
  std::vector<Reading> out = {{"tps", *tps, "transactions/s", Better::higher}};
  if (latency) out.push_back({"latency", *latency, "ms", Better::lower});
  if (spread) out.push_back({"latency_stddev", *spread, "ms", Better::lower});
  return out;
}

Readings parse_redis_benchmark(std::string_view output) {
  MedianOf out;
  std::vector<std::string> columns = {"test", "rps"};
  NG_CHECK(for_each_line(output, [&](std::string_view line) -> Status {
    const auto fields = csv_fields(line);
    if (fields.size() >= 2 && fields[0] == "test") {
      columns.assign(fields.begin(), fields.end());
      return {};
    }
    if (!line.starts_with('"') || fields.size() < 2) return {};
    if (fields.size() != columns.size()) {
      return fail(Code::bad_data, fmt::format("redis-benchmark: {} fields in {}, expected {}", fields.size(),
                                              in_quotes(line), columns.size()));
    }
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const auto value = parse_number(fields[i]);
      if (!value)
        return fail(Code::bad_data,
                    fmt::format("redis-benchmark: {} in {} is not a number", in_quotes(fields[i]), in_quotes(line)));
      const std::string name = clean_name(fields[0]) + ".";
      if (columns[i] == "rps") out.add(name + "rps", *value, "requests/s", Better::higher);
      for (const std::string_view statistic : {"p50", "p95", "p99", "max"}) {
        if (columns[i] == std::string(statistic) + "_latency_ms")
          out.add(name + std::string(statistic), *value, "ms", Better::lower);
      }
    }
    return {};
  }));
  if (out.empty()) return no_result("redis-benchmark", output);
  return out.take();
}

Readings parse_go_benchmark(std::string_view output) {
  std::vector<GoLine> lines;
  NG_CHECK(for_each_line(output, [&](std::string_view line) -> Status {
    if (line.starts_with("FAIL") || line.starts_with("--- FAIL") || line.starts_with("panic:")) {
      return fail(Code::bad_data, fmt::format("go test failed: {}", in_quotes(line)));
    }
    if (auto parsed = go_line(line)) lines.push_back(std::move(*parsed));
    return {};
  }));
  if (lines.empty()) return no_result("go test -bench", output);
  const auto suffix = procs_suffix(lines.front().name);
  const bool same =
      std::all_of(lines.begin(), lines.end(), [&](const GoLine& line) { return procs_suffix(line.name) == suffix; });
  MedianOf out;
  for (const auto& line : lines) {
    const auto name = same ? line.name.substr(0, line.name.size() - suffix.size()) : line.name;
    for (const auto& [value, unit] : line.figures) {
      // The convention of Go's benchmark format: a unit that ends in "/s" is better high, all others low.
      out.add(clean_name(name) + "." + clean_name(unit), value, clean_name(unit),
              unit.ends_with("/s") ? Better::higher : Better::lower);
    }
  }
  return out.take();
}

}  // namespace nightgate::formats
