// wrk (4.1 and 4.2): the Lua hook that makes it print numbers instead of a page for people, and the reader of them.
//
//   write wrk_script(options) to a file; run: wrk -t T -c C -d S -s FILE URL; parse_wrk(its stdout)
//
// What the hook adds: a user's script goes on working (its setup, init, request, response, delay and done are called as
// before); a script with an error stops the measurement, where wrk itself would go on with plain GETs of the URL; every
// status is counted when asked for. wrk calls response() for every answer and builds a table of its headers first:
// measured here, an answer with four headers costs wrk 8.5 us of CPU instead of 7.1. Without counting, wrk still counts
// statuses above 399 at no cost. Where wrk is the bottleneck: count in the warm-up, not in the repeats.
// Percentiles are wrk's, corrected by it for pauses of the closed loop and cut at its time-out (2 s unless --timeout).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/result.hpp"
#include "gate/formats/reading.hpp"

namespace nightgate::formats {

struct WrkOptions {
  std::string script;          // the user's Lua file; empty: none
  std::vector<int> expect;     // statuses that count as an answer; empty: 200-299
  bool count_statuses = true;  // also true on its own when the user's script has a response()
};

// The hook alone, which expects the table nightgate_wrk to be set before it (wrk_script does).
[[nodiscard]] std::string_view wrk_hook_source();
// The whole Lua file for wrk -s.
[[nodiscard]] std::string wrk_script(const WrkOptions& options);

struct WrkErrors {
  std::uint64_t connect = 0, read = 0, write = 0, timeout = 0;
  std::uint64_t status = 0;  // answers above 399, counted by wrk
};

// Of the whole run. Latencies in microseconds.
struct WrkResult {
  std::uint64_t requests = 0, bytes = 0;
  std::uint64_t duration_us = 0;  // really used: up to wrk.thread:stop() where the script ended every thread by it
  WrkErrors errors;
  bool counted = false;                   // every status was counted
  std::map<int, std::uint64_t> statuses;  // only when counted
  std::uint64_t unexpected = 0;           // answers with a status that is not expected; not counted: above 399
  double p50 = 0, p75 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0, max = 0, mean = 0, stdev = 0;

  [[nodiscard]] double rate() const;  // requests per second
};

// From wrk's stdout: the last line that the hook printed. Code::bad_data when there is none, when it is not what the
// hook prints, or when the user's script failed (with Lua's message).
[[nodiscard]] Result<WrkResult> parse_wrk(std::string_view output);

// Why this result must not be used as a rate ("3,201 of 40,000 answers were 409"), or nothing.
[[nodiscard]] std::optional<std::string> wrk_complaint(const WrkResult& result);

// rate (requests/s, higher) and p50, p95, p99, max (us, lower), all of this run.
[[nodiscard]] std::vector<Reading> wrk_readings(const WrkResult& result);

}  // namespace nightgate::formats
