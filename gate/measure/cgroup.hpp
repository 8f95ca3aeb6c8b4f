// What a container's control group counts, under cgroup v1, v2 or both side by side.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gate/base/files.hpp"

namespace nightgate::measure {

// Cumulative since the group was made; what the kernel does not count is absent.
struct CgroupCounts {
  std::optional<double> cpu_seconds;
  std::optional<std::int64_t> memory_peak_bytes;
  std::optional<std::int64_t> bytes_written;
  std::optional<std::int64_t> throttled_periods;
};

// Of the control groups that the process is in. `root` is where the hierarchies are mounted.
[[nodiscard]] CgroupCounts cgroup_counts(pid_t pid, const fs::path& root = "/sys/fs/cgroup");
// The same from the text of /proc/PID/cgroup.
[[nodiscard]] CgroupCounts cgroup_counts_of(std::string_view proc_cgroup, const fs::path& root);

// "key value" lines (cpu.stat, memory.events): the value of a key.
[[nodiscard]] std::optional<std::int64_t> keyed_value(std::string_view text, std::string_view key);

}  // namespace nightgate::measure
