// Processes as /proc shows them: who belongs to us, and what they used.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nightgate::measure {

struct ProcessStat {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  char state = '?';                    // 'T': stopped, 'Z': ended and not waited for
  unsigned long long start_ticks = 0;  // since boot
  double cpu_seconds = 0;              // user and system, of all threads
  double waited_children_seconds = 0;  // of the children it has waited for
  std::string program;
};

// The text of /proc/PID/stat. A program's name may hold spaces and brackets.
[[nodiscard]] std::optional<ProcessStat> parse_stat(std::string_view text);
[[nodiscard]] std::optional<ProcessStat> process_stat(pid_t pid);  // nullopt: no such process
[[nodiscard]] std::vector<pid_t> all_pids();
[[nodiscard]] std::vector<ProcessStat> all_processes();
[[nodiscard]] std::string program_name(pid_t pid);
// Of `all`: the leader's group and session, and the descendants of all of these, in whatever group or session: a
// database gives each of its backends a session of its own.
[[nodiscard]] std::vector<ProcessStat> family_of(pid_t leader, const std::vector<ProcessStat>& all);

// Every process of ours carries NIGHTGATE_RUN=<uuid> in its environment; so do its children, in whatever group.
inline constexpr std::string_view run_variable = "NIGHTGATE_RUN";
// The uuid, or nothing for a process that is not ours (or whose environment we may not read).
[[nodiscard]] std::string run_of(pid_t pid);

// The control group of a process by controller name ("cpuacct", "memory"; "" is the unified tree), as a path below
// the controller's mount point. nullopt: no such process or controller.
[[nodiscard]] std::optional<std::string> cgroup_of(pid_t pid, std::string_view controller);
// What tells a container's processes from others: its group in the unified tree, or for cgroup v1 that of "memory".
[[nodiscard]] std::string container_cgroup(pid_t pid);
[[nodiscard]] std::optional<std::string> parse_cgroup(std::string_view text, std::string_view controller);

}  // namespace nightgate::measure
