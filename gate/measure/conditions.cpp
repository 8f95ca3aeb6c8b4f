#include "gate/measure/conditions.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

#include "gate/measure/cgroup.hpp"
#include "gate/measure/processes.hpp"

namespace nightgate::measure {
namespace {

constexpr double clock_step_limit = 0.02;    // seconds; slewing by NTP moves 0.5 ms a second at most
constexpr double swapped_pages_limit = 256;  // a mebibyte
constexpr double gibibyte = 1073741824;

double ticks_per_second() {
  static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ticks;
}

std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> out;
  for (std::size_t at = text.find_first_not_of(' '); at < text.size(); at = text.find_first_not_of(' ', at)) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc()) break;
    out.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
  }
  return out;
}

double load1() {
  const auto text = read_file("/proc/loadavg", 256);
  return text ? std::strtod(text->c_str(), nullptr) : 0;
}

std::optional<double> memory_pressure() {
  const auto text = read_file("/proc/pressure/memory", 4096);
  return text ? parse_pressure(*text) : std::nullopt;
}

std::optional<double> free_memory_gb() {
  const auto text = read_file("/proc/meminfo", 65536);
  const auto at = text ? text->find("MemAvailable:") : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(text->c_str() + at + 13, nullptr) * 1024 / gibibyte;
}

// The lowest frequency of the broker's CPUs now; absent where the kernel does not show it (virtual machines).
std::optional<double> slowest_mhz(const CpuSet& cpus) {
  std::optional<double> slowest;
  for (const int cpu : cpus) {
    const auto text = read_file(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu), 64);
    if (!text) continue;
    const double mhz = std::strtod(text->c_str(), nullptr) / 1000;
    slowest = std::min(slowest.value_or(mhz), mhz);
  }
  return slowest;
}

void keep_worst(Conditions& seen, const std::string& name, double value) {
  const auto [it, fresh] = seen.emplace(name, value);
  if (!fresh) it->second = std::max(it->second, value);
}

void keep_least(Conditions& seen, const std::string& name, std::optional<double> value) {
  if (!value) return;
  const auto [it, fresh] = seen.emplace(name, *value);
  if (!fresh) it->second = std::min(it->second, *value);
}

double steal_share(const MachineState& before, const MachineState& after, const CpuSet& cpus) {
  double stolen = 0;
  double total = 0;
  for (const int cpu : cpus) {
    const auto a = before.cpus.find(cpu);
    const auto b = after.cpus.find(cpu);
    if (a == before.cpus.end() || b == after.cpus.end()) continue;
    stolen += b->second.stolen - a->second.stolen;
    total += b->second.total - a->second.total;
  }
  return total > 0 ? std::max(0.0, stolen / total) : 0;
}

double wall_minus_monotonic(const Clock& clock) {
  const auto wall = std::chrono::duration<double>(clock.now().time_since_epoch());
  return (wall - std::chrono::duration<double>(clock.monotonic())).count();
}

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The conditions that can be read at one moment.
void read_moment(Conditions& seen) {
  keep_worst(seen, "load1", load1());
  if (const auto pressure = memory_pressure()) keep_worst(seen, "memory_pressure", *pressure);
  keep_least(seen, "free_memory_gb", free_memory_gb());
}

void read_disk(const Surroundings& around, Conditions& seen) {
  if (const auto free = free_bytes(around.config.state)) {
    keep_least(seen, "free_disk_gb", static_cast<double>(*free) / gibibyte);
  }
}

std::string blame(const std::string& who) { return who.empty() ? "" : ", most of it " + who; }

}  // namespace

std::map<int, CpuTimes> parse_proc_stat(std::string_view text) {
  std::map<int, CpuTimes> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("cpu") || line.size() < 5 || line[3] == ' ') continue;  // "cpu " is the sum of all
    const auto numbers = numbers_in(line.substr(3));
    if (numbers.size() < 9) continue;  // number, user nice system idle iowait irq softirq steal
    CpuTimes times;
    times.busy = (numbers[1] + numbers[2] + numbers[3] + numbers[6] + numbers[7]) / ticks_per_second();
    times.stolen = numbers[8] / ticks_per_second();
    times.total = times.busy + times.stolen + (numbers[4] + numbers[5]) / ticks_per_second();
    out.emplace(static_cast<int>(numbers[0]), times);
  }
  return out;
}

std::optional<double> parse_pressure(std::string_view text) {
  const auto at = text.find("some avg10=");
  if (at == std::string_view::npos) return std::nullopt;
  const auto numbers = numbers_in(text.substr(at + 11));
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

MachineState read_machine_state(const std::vector<pid_t>& ours, const Clock& clock) {
  MachineState out;
  if (const auto text = read_file("/proc/stat")) out.cpus = parse_proc_stat(*text);
  std::set<pid_t> skip(ours.begin(), ours.end());
  skip.insert(::getpid());
  for (const auto& process : all_processes()) {
    if (skip.contains(process.pid)) continue;
    const double seconds = process.cpu_seconds + process.waited_children_seconds;
    out.by_process[process.pid] = seconds;
    out.foreign_processes += seconds;
  }
  out.own_seconds = own_cpu_seconds();
  if (const auto text = read_file("/proc/vmstat", 1U << 20U)) {
    out.swapped_pages =
        static_cast<double>(keyed_value(*text, "pswpin").value_or(0) + keyed_value(*text, "pswpout").value_or(0));
    out.oom_kills = static_cast<double>(keyed_value(*text, "oom_kill").value_or(0));
  }
  out.wall_minus_monotonic = wall_minus_monotonic(clock);
  out.monotonic = std::chrono::duration<double>(clock.monotonic()).count();
  out.own_throttled = cgroup_counts(::getpid()).throttled_periods.value_or(0);
  return out;
}

double foreign_cpu(const MachineState& before, const MachineState& after, const CpuSet& cpus, double our_seconds) {
  const double seconds = after.monotonic - before.monotonic;
  if (seconds <= 0) return 0;
  double busy = 0;
  for (const int cpu : cpus) {
    const auto a = before.cpus.find(cpu);
    const auto b = after.cpus.find(cpu);
    if (a != before.cpus.end() && b != after.cpus.end()) busy += b->second.busy - a->second.busy;
  }
  const double on_these = busy - our_seconds - (after.own_seconds - before.own_seconds);
  const double by_others = after.foreign_processes - before.foreign_processes;
  return std::max(0.0, std::min(on_these, by_others) / seconds);
}

std::string most_foreign(const MachineState& before, const MachineState& after) {
  pid_t who = 0;
  double most = 0;
  for (const auto& [pid, seconds] : after.by_process) {
    const auto it = before.by_process.find(pid);
    const double used = seconds - (it == before.by_process.end() ? 0 : it->second);
    if (used > most) {
      most = used;
      who = pid;
    }
  }
  const double all = after.foreign_processes - before.foreign_processes;
  if (who == 0 || most < all / 2) return {};
  return fmt::format("by process {} ({})", who, program_name(who));
}

std::string out_of_bounds(const Conditions& conditions, const config::Machine& limits) {
  const auto value = [&](const char* name, double otherwise) {
    const auto it = conditions.find(name);
    return it == conditions.end() ? otherwise : it->second;
  };
  const auto seen = [&](const char* name) { return value(name, 0); };
  if (seen("oom_kills") > 0) return "the kernel killed a process for want of memory";
  if (seen("stopped") > 0) return "the broker or a service was stopped (SIGSTOP) for a while";
  if (seen("throttled") > 0) {
    return fmt::format("a CPU quota throttled the deployment in {:.0f} periods", seen("throttled"));
  }
  if (seen("clock_step_s") > clock_step_limit) {
    return fmt::format("the clock was set by {:.3f} s", seen("clock_step_s"));
  }
  if (seen("foreign_cpu") > limits.max_foreign_cpu) {
    return fmt::format("other processes used {:.2f} CPUs, beyond max_foreign_cpu {}", seen("foreign_cpu"),
                       limits.max_foreign_cpu);
  }
  if (seen("steal") > limits.max_steal) {
    return fmt::format("{:.3f} of the time was stolen by the host, beyond max_steal {}", seen("steal"),
                       limits.max_steal);
  }
  if (limits.max_load > 0 && seen("load1") > limits.max_load) {
    return fmt::format("the load average is {:.1f}, beyond max_load {}", seen("load1"), limits.max_load);
  }
  if (seen("memory_pressure") > limits.max_memory_pressure) {
    return fmt::format("memory pressure is {:.0f} %, beyond max_memory_pressure {}", seen("memory_pressure"),
                       limits.max_memory_pressure);
  }
  if (seen("swapped_pages") > swapped_pages_limit) {
    return fmt::format("{:.0f} pages were swapped", seen("swapped_pages"));
  }
  if (const double free = value("free_memory_gb", limits.min_free_memory_gb); free < limits.min_free_memory_gb) {
    return fmt::format("{:.2f} GiB of memory are free, below min_free_memory_gb {}", free, limits.min_free_memory_gb);
  }
  if (const double free = value("free_disk_gb", limits.min_free_disk_gb); free < limits.min_free_disk_gb) {
    return fmt::format("{:.2f} GiB of disk are free, below min_free_disk_gb {}", free, limits.min_free_disk_gb);
  }
  return {};
}

std::vector<pid_t> ConditionWatch::our_pids() const {
  std::vector<pid_t> out;
  for (const auto& node : deployment_.nodes()) {
    for (const auto& process : node.processes()) out.push_back(process.pid);
  }
  return out;
}

void ConditionWatch::begin() {
  seen_.clear();
  read_disk(around_, seen_);
  read_moment(seen_);
  before_ = read_machine_state(our_pids(), around_.clock);
}

void ConditionWatch::tick() {
  read_moment(seen_);
  keep_least(seen_, "mhz", slowest_mhz(around_.placement.broker));
  keep_worst(seen_, "clock_step_s", std::abs(wall_minus_monotonic(around_.clock) - before_.wall_minus_monotonic));
  for (const auto& node : deployment_.nodes()) {
    const auto stat = process_stat(node.pid());
    if (stat && (stat->state == 'T' || stat->state == 't')) keep_worst(seen_, "stopped", 1);
  }
}

std::string ConditionWatch::excuse() const {
  return seen_.contains("stopped") ? out_of_bounds({{"stopped", 1}}, around_.config.machine) : std::string();
}

ConditionWatch::Verdict ConditionWatch::end(double our_seconds, std::int64_t throttled_periods) {
  const auto after = read_machine_state(our_pids(), around_.clock);
  tick();
  read_disk(around_, seen_);
  const auto cpus = around_.placement.all();
  Verdict out;
  out.conditions = seen_;
  out.conditions["foreign_cpu"] = foreign_cpu(before_, after, cpus, our_seconds);
  out.conditions["steal"] = steal_share(before_, after, cpus);
  out.conditions["swapped_pages"] = after.swapped_pages - before_.swapped_pages;
  out.conditions["oom_kills"] = after.oom_kills - before_.oom_kills;
  out.conditions["throttled"] = static_cast<double>(throttled_periods + after.own_throttled - before_.own_throttled);
  out.void_reason = out_of_bounds(out.conditions, around_.config.machine);
  if (out.void_reason.starts_with("other processes")) out.void_reason += blame(most_foreign(before_, after));
  return out;
}

Result<std::string> wait_until_quiet(const Surroundings& around, Progress& progress) {
  const auto& limits = around.config.machine;
  if (limits.wait_minutes <= 0) return std::string();
  const auto cpus = around.placement.all();
  const auto deadline = around.clock.monotonic() + std::chrono::minutes(limits.wait_minutes);
  for (auto look = std::chrono::milliseconds(200);; look = std::chrono::milliseconds(2000)) {
    const auto before = read_machine_state({}, around.clock);
    around.clock.sleep_for(look);
    const auto after = read_machine_state({}, around.clock);
    Conditions now;
    read_moment(now);
    read_disk(around, now);
    now["foreign_cpu"] = foreign_cpu(before, after, cpus, 0);
    now["steal"] = steal_share(before, after, cpus);
    auto why = out_of_bounds(now, limits);
    if (why.empty()) return why;
    if (why.starts_with("other processes")) why += blame(most_foreign(before, after));
    if (around.clock.monotonic() > deadline) return why;
    if (around.stopped()) return fail(Code::measure, "stopped on request while waiting for a quiet machine");
    progress.step("waiting for a quiet machine: " + why);
  }
}

}  // namespace nightgate::measure
