// What programs print about themselves -> readings. wrk has a header of its own (wrk.hpp), Prometheus too.
//
// All are pure and refuse what they do not fully understand: a program that reports errors, an empty list, a result
// without a number. Values are finite and as the program gave them (0 is possible); units are the program's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/base/result.hpp"
#include "gate/formats/reading.hpp"

namespace nightgate::formats {

constexpr std::size_t kMaxProgramOutput = std::size_t{16} << 20U;

using Picks = std::map<std::string, std::string>;  // metric -> JSON pointer or regular expression

// By name, as `load.command.format` in the config. Code::usage for a name that is not in program_formats().
//   json              {"metric": number, ...} or {"metric": {"value": .., "unit": .., "better": ..}}; deeper objects
//                     give "a.b"; texts, booleans, nulls and lists are passed over. With picks: as json-pointer
//   json-pointer      picks: metric -> RFC 6901 pointer to a number
//   regex             picks: metric -> regular expression (pattern.hpp); the number of the last line that matches
//   bencher, google-benchmark, hyperfine, k6, pgbench, redis-benchmark, go-benchmark
// JSON may follow other output: the whole text, else its last line that begins with '{' or '[', is read.
[[nodiscard]] Result<std::vector<Reading>> parse_program(std::string_view format, std::string_view output,
                                                         const Picks& picks = {});
[[nodiscard]] const std::vector<std::string>& program_formats();

[[nodiscard]] Result<std::vector<Reading>> parse_metric_json(std::string_view output);
[[nodiscard]] Result<std::vector<Reading>> parse_json_pointers(std::string_view output, const Picks& picks);
[[nodiscard]] Result<std::vector<Reading>> parse_patterns(std::string_view output, const Picks& picks);

// Bencher Metric Format: "BENCHMARK.MEASURE". Units of Bencher's own measures are known, others by name.
[[nodiscard]] Result<std::vector<Reading>> parse_bencher(std::string_view output);
// "NAME" (real time), "NAME.cpu" and, where there, "NAME.items", "NAME.bytes" per second. Of repetitions: the median
// aggregate, else the median of the rows. A benchmark that reports an error fails the whole.
[[nodiscard]] Result<std::vector<Reading>> parse_google_benchmark(std::string_view output);
[[nodiscard]] std::optional<Instant> google_benchmark_time(std::string_view output);  // context.date
// "COMMAND" (median, s), "COMMAND.user", "COMMAND.system". An exit code other than 0 fails the whole.
[[nodiscard]] Result<std::vector<Reading>> parse_hyperfine(std::string_view output);
// Both forms of summary (handleSummary and --summary-export). Trends: "NAME.med", ".p(95)", ... in ms when times;
// counters: "NAME.rate" per second; "requests": how many there were; rates of failures and gauges by name. Figures that
// say nothing about speed (checks, vus, iterations as counts) are passed over.
[[nodiscard]] Result<std::vector<Reading>> parse_k6(std::string_view output);

// "tps", "latency" (average, ms) and "latency_stddev" where there. Failed transactions fail the whole.
[[nodiscard]] Result<std::vector<Reading>> parse_pgbench(std::string_view output);
// redis-benchmark --csv, with (since 6.2) or without its header line: "TEST.rps", "TEST.p50", ".p95", ".p99", ".max".
[[nodiscard]] Result<std::vector<Reading>> parse_redis_benchmark(std::string_view output);
// go test -bench: "NAME.ns/op", "NAME.B/op", ...; medians of repeated lines. The -N of GOMAXPROCS is dropped when all
// lines have the same one. A FAIL line fails the whole.
[[nodiscard]] Result<std::vector<Reading>> parse_go_benchmark(std::string_view output);

}  // namespace nightgate::formats
