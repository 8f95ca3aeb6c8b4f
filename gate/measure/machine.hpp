// Where a measurement was made: what the kernel says about this machine.
#pragma once

#include <string>
#include <string_view>

#include "config/config.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/measure/placement.hpp"

namespace nightgate::measure {

// "AMD EPYC, 2 cores" or "..., 8 cores, SMT": machines of one class may share a series.
[[nodiscard]] std::string machine_class_text(std::string_view cpu_model, int cores, bool smt);
// The CPU's name from the text of /proc/cpuinfo, spaces tidied; "unknown CPU" when it has none.
[[nodiscard]] std::string cpu_model_of(std::string_view cpuinfo);
// "v2", "v1" or "hybrid" (v1 controllers with a v2 tree beside them) from the text of /proc/self/mountinfo.
[[nodiscard]] std::string cgroup_version_of(std::string_view mountinfo);

// Everything but the engine's version. `topology` is the whole machine's, not what this process may use.
[[nodiscard]] Result<MachineInfo> read_machine(const config::Machine& machine, const Topology& topology,
                                               const Placement& placement);

}  // namespace nightgate::measure
