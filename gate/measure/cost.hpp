// What brokers and services used during a repeat, per request.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "gate/measure/deployment.hpp"
#include "gate/measure/load.hpp"
#include "gate/measure/perf.hpp"
#include "gate/measure/repeats.hpp"

namespace nightgate::measure {

// Of one node, children counted. Cumulative but for the peak, which is since its start.
struct NodeUsage {
  double cpu_seconds = 0;
  double memory_peak_bytes = 0;
  double context_switches = 0;
  double bytes_written = 0;  // to storage
  std::int64_t throttled_periods = 0;
};
// `processes`: the node's own, as it gives them.
[[nodiscard]] NodeUsage read_usage(const RunningNode& node, const std::vector<ProcessStat>& processes);

// Adds one sample, with its unit and direction, unless it is zero or less: such figures say nothing and have no
// logarithm.
void add_sample(RepeatResult& into, std::string name, double value, config::MetricInfo info);

// begin() just before the load, end() just after it.
class CostMeter {
 public:
  // memory_tells: the same work is done in every repeat. Where it isn't (a store that grows for as long as the load
  // runs), a faster broker needs more memory: the peak is then recorded and not gated.
  CostMeter(RunningDeployment& deployment, bool memory_tells) : deployment_(deployment), memory_tells_(memory_tells) {}
  void begin();
  // Adds cpu_us (brokers and services together), mem_peak_mib, switches, written_bytes, instructions and cycles per
  // request; with services also <service>_cpu_us and <service>_mem_peak_mib. Where the load counts no requests: cpu_s
  // of the whole repeat (of the load program itself where there is nothing else).
  void end(const LoadResult& load, RepeatResult& into);
  [[nodiscard]] double cpu_seconds() const { return cpu_seconds_; }            // of the last repeat, of all nodes
  [[nodiscard]] std::int64_t throttled_periods() const { return throttled_; }  // of the last repeat

 private:
  RunningDeployment& deployment_;
  bool memory_tells_;
  std::vector<NodeUsage> before_;
  std::optional<PerfCounters> counters_;
  double cpu_seconds_ = 0;
  std::int64_t throttled_ = 0;
};

// One of the figures that CostMeter adds by itself, not the load: the config may change how it is gated.
[[nodiscard]] bool is_cost_metric(std::string_view name);
// The same for what is read of every service, without the service's name: "cpu_us", "wal_bytes" (postgres.hpp).
[[nodiscard]] bool is_service_figure(std::string_view figure);

}  // namespace nightgate::measure
