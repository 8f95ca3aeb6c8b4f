// Which CPUs the broker, the services and the load generator get. Pure, but for read_topology().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/process.hpp"
#include "gate/base/result.hpp"

namespace nightgate::measure {

// The logical CPUs that may be used, ascending by number. SMT siblings share a core.
struct Topology {
  struct Cpu {
    int number = 0;
    int core = 0;  // number of the core's lowest logical CPU
    bool operator==(const Cpu&) const = default;
  };
  std::vector<Cpu> cpus;

  [[nodiscard]] int cores() const;
  [[nodiscard]] bool smt() const { return cores() < static_cast<int>(cpus.size()); }
};

// Online CPUs with their siblings, from `root` as the kernel lays it out under /sys/devices/system/cpu.
[[nodiscard]] Result<Topology> read_topology(const fs::path& root = "/sys/devices/system/cpu");
// Only what this process may run on (its affinity, which follows its cpuset).
[[nodiscard]] Topology restrict_to(const Topology& topology, const CpuSet& allowed);
[[nodiscard]] CpuSet own_affinity();

struct Placement {
  CpuSet broker, load;                // the broker's are those of all brokers and services that have none of their own
  std::map<std::string, CpuSet> own;  // by node name
  bool shared = false;                // some core is used by two of them; only where the config says so

  [[nodiscard]] const CpuSet& of(const config::Node& node) const;
  // All CPUs on which foreign work would disturb: those of brokers, services and load.
  [[nodiscard]] CpuSet all() const;
  [[nodiscard]] std::string text() const;  // "broker 0, load 1"
};

// Follows the config where it names CPUs and chooses the rest: one logical CPU per physical core, never two parties on
// siblings of one core, half of the cores for the load. Code::measure when there are too few cores and the config does
// not say `"cpus": "shared"`; Code::usage when it names CPUs that are not there or overlap.
[[nodiscard]] Result<Placement> place(const Topology& topology, const config::Machine& machine,
                                      const config::Deployment& deployment);

}  // namespace nightgate::measure
