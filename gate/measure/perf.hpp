// Instructions and cycles by perf_event_open(2), where the machine counts them and lets us look.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "gate/base/files.hpp"

namespace nightgate::measure {

struct HardwareCounts {
  double instructions = 0, cycles = 0;
};

// Counts in every thread of the given processes and in what they start later, until it is destroyed.
class PerfCounters {
 public:
  // Absent (virtual machines, containers, perf_event_paranoid) is said once in the log, and is no error.
  [[nodiscard]] static std::optional<PerfCounters> open(const std::vector<pid_t>& pids);
  // Since open(), scaled up where the kernel had to share the counters. nullopt when they never ran.
  [[nodiscard]] std::optional<HardwareCounts> read() const;

 private:
  std::vector<Fd> instructions_, cycles_;
};

}  // namespace nightgate::measure
