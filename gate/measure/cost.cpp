#include "gate/measure/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "gate/measure/cgroup.hpp"

namespace nightgate::measure {
namespace {

using config::Better;

constexpr double mebibyte = 1048576;

// All threads, dead ones too, to the nanosecond; the ticks of /proc/PID/stat would be 10 ms.
std::optional<double> precise_cpu_seconds(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return std::nullopt;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// The number behind "key:" in a file of /proc, for example VmHWM (in kB).
double proc_value(const std::string& text, const std::string& key) {
  const auto at = text.find("\n" + key + ":");
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + key.size() + 2, nullptr);
}

double switches_of(pid_t pid) {
  double sum = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
    const auto text = read_file(entry.path() / "status", 65536);
    if (text) sum += proc_value(*text, "voluntary_ctxt_switches") + proc_value(*text, "nonvoluntary_ctxt_switches");
  }
  return sum;
}

void add_process(const ProcessStat& process, NodeUsage& into) {
  into.cpu_seconds += precise_cpu_seconds(process.pid).value_or(process.cpu_seconds) + process.waited_children_seconds;
  into.context_switches += switches_of(process.pid);
  if (const auto status = read_file(fmt::format("/proc/{}/status", process.pid), 65536)) {
    into.memory_peak_bytes += proc_value(*status, "VmHWM") * 1024;
  }
  if (const auto io = read_file(fmt::format("/proc/{}/io", process.pid), 65536)) {
    into.bytes_written += proc_value(*io, "write_bytes");
  }
}

config::MetricInfo lower(std::string unit, bool gated = true) { return {std::move(unit), Better::lower, gated}; }

}  // namespace

void add_sample(RepeatResult& into, std::string name, double value, config::MetricInfo info) {
  if (!(value > 0) || !std::isfinite(value)) return;
  into.metrics.insert_or_assign(name, std::move(info));
  into.samples.push_back({std::move(name), value});
}

NodeUsage read_usage(const RunningNode& node, const std::vector<ProcessStat>& processes) {
  NodeUsage out;
  for (const auto& process : processes) add_process(process, out);
  if (!node.is_container()) return out;
  const auto counts = cgroup_counts(node.pid());  // these know processes that came and went
  out.cpu_seconds = counts.cpu_seconds.value_or(out.cpu_seconds);
  if (counts.memory_peak_bytes) out.memory_peak_bytes = static_cast<double>(*counts.memory_peak_bytes);
  if (counts.bytes_written) out.bytes_written = static_cast<double>(*counts.bytes_written);
  out.throttled_periods = counts.throttled_periods.value_or(0);
  return out;
}

void CostMeter::begin() {
  before_.clear();
  std::vector<pid_t> pids;
  for (const auto& node : deployment_.nodes()) {
    const auto processes = node.processes();
    before_.push_back(read_usage(node, processes));
    for (const auto& process : processes) pids.push_back(process.pid);
  }
  counters_ = pids.empty() ? std::nullopt : PerfCounters::open(pids);
}

void CostMeter::end(const LoadResult& load, RepeatResult& into) {
  NodeUsage all;
  const auto requests = static_cast<double>(load.requests);
  auto& nodes = deployment_.nodes();
  const auto counts = counters_ ? counters_->read() : std::nullopt;
  counters_.reset();
  for (std::size_t i = 0; i < nodes.size() && i < before_.size(); ++i) {
    const auto now = read_usage(nodes[i], nodes[i].processes());
    const double cpu = now.cpu_seconds - before_[i].cpu_seconds;
    all.cpu_seconds += cpu;
    all.context_switches += now.context_switches - before_[i].context_switches;
    all.bytes_written += now.bytes_written - before_[i].bytes_written;
    all.throttled_periods += now.throttled_periods - before_[i].throttled_periods;
    if (nodes[i].role() == Role::broker) {
      all.memory_peak_bytes += now.memory_peak_bytes;
      continue;
    }
    const auto& name = nodes[i].node().name;
    if (requests > 0) add_sample(into, name + "_cpu_us", cpu / requests * 1e6, lower("us/request", false));
    add_sample(into, name + "_mem_peak_mib", now.memory_peak_bytes / mebibyte, lower("MiB", false));
  }
  cpu_seconds_ = all.cpu_seconds;
  throttled_ = all.throttled_periods;
  add_sample(into, "mem_peak_mib", all.memory_peak_bytes / mebibyte, lower("MiB", memory_tells_));
  if (requests <= 0) {
    // Of a program without a broker it is the whole process, start-up and all: milliseconds that say little. It is
    // kept, and gated where the config asks for that.
    add_sample(into, "cpu_s", nodes.empty() ? load.cpu_seconds : all.cpu_seconds, lower("s", !nodes.empty()));
    return;
  }
  add_sample(into, "cpu_us", all.cpu_seconds / requests * 1e6, lower("us/request"));
  add_sample(into, "switches", all.context_switches / requests, lower("1/request", false));
  add_sample(into, "written_bytes", all.bytes_written / requests, lower("bytes/request", false));
  if (!counts) return;
  add_sample(into, "instructions", counts->instructions / requests, lower("1/request"));
  add_sample(into, "cycles", counts->cycles / requests, lower("1/request", false));
}

bool is_cost_metric(std::string_view name) {
  constexpr std::string_view own[] = {"cpu_s",         "cpu_us",       "mem_peak_mib", "switches",
                                      "written_bytes", "instructions", "cycles"};
  return std::find(std::begin(own), std::end(own), name) != std::end(own);
}

bool is_service_figure(std::string_view figure) {
  constexpr std::string_view own[] = {"cpu_us",      "mem_peak_mib", "calls",    "ms",
                                      "buffers_hit", "buffers_read", "wal_bytes"};
  return std::find(std::begin(own), std::end(own), figure) != std::end(own);
}

}  // namespace nightgate::measure
