// An open-loop HTTP/1.1 load: requests are due on a fixed schedule whatever the broker does, and a latency counts from
// when a request was due. A closed loop waits for the slow answer and never sends what would have been late: it hides
// exactly the seconds that people complain about.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate::measure {

struct OpenPlan {
  std::string address = "127.0.0.1";  // IPv4 in digits
  int port = 0;
  std::string request;  // the whole request as it goes over the wire
  bool is_head = false;
  double rate = 0;  // requests per second
  int connections = 1;
  double seconds = 0;
  double drain_seconds = 10;  // how long to wait for answers after the last request was due
  // Between requests closer than this the thread does not sleep (seconds): a sleep ends late by tens of microseconds.
  // 0 where it shares its CPU with the broker.
  double spin_seconds = 60e-6;
};

struct OpenOutcome {
  std::vector<std::uint32_t> latency_us10;  // of each answered request, from due to answered; tenths of microseconds
  std::vector<std::uint32_t> late_us10;     // of each request, from due to when we got to it: our own fault alone
  std::map<int, std::uint64_t> statuses;
  std::uint64_t unanswered = 0, connection_errors = 0;
  double seconds = 0;      // from the first due time to the last answer, at least the planned time
  double cpu_seconds = 0;  // of the thread
};

// Runs in the calling thread until the plan is done or `stop` is set (then what has been counted so far comes back).
// `answered` counts up meanwhile. Code::measure when it can't connect at the start.
[[nodiscard]] Result<OpenOutcome> run_open_loop(const OpenPlan& plan, const std::atomic<bool>& stop,
                                                std::atomic<std::uint64_t>& answered);

// Exact percentile (nearest rank) of values that it may reorder; 0 when there are none.
[[nodiscard]] double exact_percentile(std::vector<std::uint32_t>& values, double percent);

}  // namespace nightgate::measure
