#include "gate/formats/wrk.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"

namespace nightgate::formats {
namespace {

constexpr std::string_view kMark = "nightgate-wrk/1 ";
constexpr std::int64_t kMost = std::int64_t{1} << 53;
constexpr JsonLimits kLimits{std::size_t{64} << 10U, 4, false};

std::string_view last_marked_line(std::string_view output) {
  for (auto at = output.rfind(kMark); at != std::string_view::npos; at = output.rfind(kMark, at - 1)) {
    if (at == 0 || output[at - 1] == '\n') {
      const auto line = output.substr(at + kMark.size());
      return line.substr(0, line.find('\n'));
    }
  }
  return {};
}

Result<std::uint64_t> count(const JsonReader& reader, std::string_view key) {
  NG_TRY(const auto value, reader.integer(key, 0, kMost));
  return static_cast<std::uint64_t>(value);
}

Status read_errors(const JsonReader& root, WrkErrors& out) {
  NG_TRY(const auto errors, root.child("errors"));
  NG_TRY(out.connect, count(errors, "connect"));
  NG_TRY(out.read, count(errors, "read"));
  NG_TRY(out.write, count(errors, "write"));
  NG_TRY(out.timeout, count(errors, "timeout"));
  NG_TRY(out.status, count(errors, "status"));
  return {};
}

Status read_latency(const JsonReader& root, WrkResult& out) {
  NG_TRY(const auto latency, root.child("latency_us"));
  const auto most = static_cast<double>(kMost);
  NG_TRY(out.p50, latency.number("p50", 0, most));
  NG_TRY(out.p75, latency.number("p75", 0, most));
  NG_TRY(out.p90, latency.number("p90", 0, most));
  NG_TRY(out.p95, latency.number("p95", 0, most));
  NG_TRY(out.p99, latency.number("p99", 0, most));
  NG_TRY(out.p999, latency.number("p999", 0, most));
  NG_TRY(out.max, latency.number("max", 0, most));
  NG_TRY(out.mean, latency.number("mean", 0, most));
  NG_TRY(out.stdev, latency.number("stdev", 0, most));
  return {};
}

Status read_statuses(const JsonReader& root, WrkResult& out) {
  NG_TRY(out.counted, root.boolean("counted"));
  NG_TRY(out.unexpected, count(root, "unexpected"));
  NG_TRY(const auto statuses, root.child("statuses"));
  for (const auto& [name, value] : statuses.members()) {
    const auto status = parse_number(name);
    if (!status || *status < 0 || *status > 65535) return statuses.wrong("statuses by number");
    NG_TRY(const auto number, count(statuses, name));
    out.statuses[static_cast<int>(*status)] += number;
  }
  return {};
}

std::string status_list(const WrkResult& result) {
  std::string out;
  for (const auto& [status, number] : result.statuses)
    out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", number, status);
  return out;
}

}  // namespace

double WrkResult::rate() const {
  return duration_us == 0 ? 0 : static_cast<double>(requests) * 1e6 / static_cast<double>(duration_us);
}

Result<WrkResult> parse_wrk(std::string_view output) {
  const auto line = last_marked_line(output);
  if (line.empty()) {
    return fail(Code::bad_data,
                fmt::format("wrk printed no result of the hook; it ended early, or ran without it. Its "
                            "output ends with {}",
                            in_quotes(output.substr(output.size() - std::min<std::size_t>(output.size(), 60)))));
  }
  NG_TRY(const auto json, parse_json(line, kLimits));
  const JsonReader root(json, "wrk: $");
  NG_CHECK(root.is_object());
  if (root.has("fault")) {
    NG_TRY(const auto fault, root.string("fault"));
    return fail(Code::bad_data,
                "the wrk script failed: " + clean_name(fault) + "; correct it, no figure of this run counts");
  }
  WrkResult out;
  NG_TRY(out.requests, count(root, "requests"));
  NG_TRY(out.duration_us, count(root, "duration_us"));
  NG_TRY(out.bytes, count(root, "bytes"));
  NG_CHECK(read_errors(root, out.errors));
  NG_CHECK(read_latency(root, out));
  NG_CHECK(read_statuses(root, out));
  return out;
}

std::optional<std::string> wrk_complaint(const WrkResult& result) {
  if (result.requests == 0 || result.duration_us == 0) return "not one request was answered";
  if (result.unexpected > 0) {
    return result.counted ? fmt::format("{} of {} answers had an unexpected status ({})", result.unexpected,
                                        result.requests, status_list(result))
                          : fmt::format("{} of {} answers had a status above 399", result.unexpected, result.requests);
  }
  const auto& e = result.errors;
  if (e.connect + e.read + e.write + e.timeout > 0) {
    return fmt::format("socket errors: {} connect, {} read, {} write, {} timeout, with {} answers", e.connect, e.read,
                       e.write, e.timeout, result.requests);
  }
  return std::nullopt;
}

std::vector<Reading> wrk_readings(const WrkResult& result) {
  return {{"rate", result.rate(), "requests/s", Better::higher},
          {"p50", result.p50, "us", Better::lower},
          {"p95", result.p95, "us", Better::lower},
          {"p99", result.p99, "us", Better::lower},
          {"max", result.max, "us", Better::lower}};
}

}  // namespace nightgate::formats
