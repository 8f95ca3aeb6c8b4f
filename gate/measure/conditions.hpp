// The conditions of a repeat: what else happened on the machine, and whether that is within the config's limits.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/base/process.hpp"
#include "gate/measure/deployment.hpp"
#include "gate/measure/measurement.hpp"

namespace nightgate::measure {

// Of one CPU, in seconds since boot (/proc/stat).
struct CpuTimes {
  double busy = 0;    // user, nice, system, irq, softirq
  double stolen = 0;  // by the hypervisor
  double total = 0;   // with idle, iowait and stolen
};
[[nodiscard]] std::map<int, CpuTimes> parse_proc_stat(std::string_view text);
// "some avg10" of a /proc/pressure file; nullopt where the kernel has none.
[[nodiscard]] std::optional<double> parse_pressure(std::string_view text);

// Everything that is read at both ends of a stretch of time.
struct MachineState {
  std::map<int, CpuTimes> cpus;
  double foreign_processes = 0;             // CPU seconds of all processes that are not ours
  std::map<pid_t, double> by_process;       // the same one by one, to name the one to blame
  double own_seconds = 0;                   // nightgate itself
  double swapped_pages = 0, oom_kills = 0;  // since boot
  double wall_minus_monotonic = 0, monotonic = 0;
  std::int64_t own_throttled = 0;  // periods in which our own control group was throttled
};
// `ours`: processes of brokers and services. The load generator must not run yet, or not any more.
[[nodiscard]] MachineState read_machine_state(const std::vector<pid_t>& ours, const Clock& clock);

// CPU used by others on `cpus` between two states, in CPUs. Two estimates, each of which can only be too high: what
// those CPUs did beyond `our_seconds` (counts interrupts as foreign), and what all other processes did (counts other
// CPUs too). The lower one is taken.
[[nodiscard]] double foreign_cpu(const MachineState& before, const MachineState& after, const CpuSet& cpus,
                                 double our_seconds);
// "process 123 (stress)": who did most of it; empty when nobody stands out.
[[nodiscard]] std::string most_foreign(const MachineState& before, const MachineState& after);

// First limit that the conditions break, as a sentence; empty when all is well. Names as recorded:
// load1, foreign_cpu, steal, memory_pressure, free_memory_gb, free_disk_gb, swapped_pages, oom_kills, clock_step_s,
// throttled, stopped, mhz.
[[nodiscard]] std::string out_of_bounds(const Conditions& conditions, const config::Machine& limits);

// Watches one repeat.
class ConditionWatch {
 public:
  ConditionWatch(RunningDeployment& deployment, const Surroundings& around)
      : deployment_(deployment), around_(around) {}
  void begin();
  void tick();  // cheap: a handful of small files
  // Why errors of the load may not be the broker's fault (it was stopped by somebody); empty: no such reason.
  [[nodiscard]] std::string excuse() const;
  struct Verdict {
    Conditions conditions;
    std::string void_reason;
  };
  // `our_seconds`: CPU that brokers, services and the load generator used meanwhile.
  [[nodiscard]] Verdict end(double our_seconds, std::int64_t throttled_periods);

 private:
  [[nodiscard]] std::vector<pid_t> our_pids() const;
  RunningDeployment& deployment_;
  const Surroundings& around_;
  MachineState before_;
  Conditions seen_;  // worst of the ticks
};

// Waits until the machine is within the limits, at most limits.wait_minutes (0: doesn't look at all). Returns why it is
// not, or an empty text. Code::measure when asked to stop.
[[nodiscard]] Result<std::string> wait_until_quiet(const Surroundings& around, Progress& progress);

}  // namespace nightgate::measure
