// What a bench machine can be told so that it measures quietly, and whether it was: governor, turbo, SMT, CPU sets,
// hardware counters. Nothing here is changed, and none of it keeps a night from being measured.
#pragma once

#include <string>
#include <vector>

#include "gate/measure/placement.hpp"

namespace nightgate::measure {

struct Quietness {
  std::string what;   // "governor", "turbo", "smt", "cpusets", "counters"
  bool done = false;  // also where this machine has no such thing
  std::string said;   // what was found; where it is not done, also what to type
};

// `root` holds the kernel's files as they lie under "/" (sys/..., proc/...). `topology` is the whole machine's.
[[nodiscard]] std::vector<Quietness> look_at_quietness(const Topology& topology, const Placement& placement,
                                                       const fs::path& root = "/");

}  // namespace nightgate::measure
