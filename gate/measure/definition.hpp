// The fingerprint of everything that shapes a number but isn't the broker's code.
#pragma once

#include <map>
#include <string>

#include "config/config.hpp"
#include "gate/base/result.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/measure/placement.hpp"

namespace nightgate::measure {

// What the config alone does not say.
struct DefinitionParts {
  std::map<std::string, std::string> files;     // path as written in the config -> SHA-256 of its content
  std::map<std::string, std::string> services;  // service name -> digest of its image
  std::string load_tool;                        // "wrk 4.1.0", "nightgate open 1"
  std::string placement;                        // Placement::text()
};

// Files whose content belongs to the definition: the Lua script, and every word of the load's and fixture's commands
// that names a regular file (relative ones are looked up in `directory`). Code::io when the script can't be read.
[[nodiscard]] Result<std::map<std::string, std::string>> hash_files(const config::Scenario& scenario,
                                                                    const fs::path& directory);

// Pure. What does not shape a number stays out, so that it doesn't begin a new level: names of the scenario and the
// deployment (a rename is an alias), the number of repeats, metric overrides, extra metrics, readiness and identity.
[[nodiscard]] Definition make_definition(const config::Deployment& deployment, const config::Scenario& scenario,
                                         const DefinitionParts& parts);

}  // namespace nightgate::measure
