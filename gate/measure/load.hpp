// What produces the load of a scenario, and what it brings back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/process.hpp"
#include "gate/measure/deployment.hpp"
#include "gate/measure/measurement.hpp"

namespace nightgate::measure {

// Called a few times a second while the load runs, with the seconds since its start and the requests answered so far
// (0: not known). An error ends the load at once and becomes its result.
using Tick = std::function<Status(double seconds, std::uint64_t requests)>;

enum class Purpose { warm_up, repeat };

struct LoadResult {
  std::vector<Sample> samples;                        // all of this one run
  std::map<std::string, config::MetricInfo> metrics;  // of `samples`
  std::uint64_t requests = 0;                         // answered as expected; 0: the tool doesn't count requests
  double seconds = 0;                                 // really used
  double cpu_seconds = 0;                             // of the load generator itself
  bool inside_this_process = false;                   // then nightgate's own CPU time holds cpu_seconds already
  std::string void_reason;  // the load generator's own fault: the repeat must not be used; else empty
};

// One object per scenario. run() may be called many times.
class Load {
 public:
  virtual ~Load() = default;
  [[nodiscard]] virtual std::string tool() const = 0;  // with its version: "wrk debian/4.1.0-3"
  // Runs pinned to `cpus`. `seconds` replaces the scenario's (a fixed amount of work ignores it). Code::measure when
  // an answer was unexpected, or there was none: a rate over errors is not a rate.
  [[nodiscard]] virtual Result<LoadResult> run(RunningDeployment& deployment, const CpuSet& cpus, double seconds,
                                               Purpose purpose, const Tick& tick) = 0;
  [[nodiscard]] virtual double seconds() const = 0;  // how long a repeat is; 0: not known before
};

// Code::measure with what to install when a tool is missing.
[[nodiscard]] Result<std::unique_ptr<Load>> make_load(const config::Config& config, const config::Scenario& scenario);
[[nodiscard]] Result<std::unique_ptr<Load>> make_wrk_load(const config::WrkLoad& load, std::vector<int> expect);
[[nodiscard]] Result<std::unique_ptr<Load>> make_command_load(const config::CommandLoad& load,
                                                              const config::Scenario& scenario,
                                                              const fs::path& directory);
[[nodiscard]] Result<std::unique_ptr<Load>> make_open_load(const config::OpenLoad& load, std::vector<int> expect);

// The installed wrk: "wrk debian/4.1.0-3+b2". Code::measure with what to install when there is none.
[[nodiscard]] Result<std::string> wrk_version();

}  // namespace nightgate::measure
