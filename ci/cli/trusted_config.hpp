// The config of a commit: for runs over code of somebody who may not decide what this machine runs.
#pragma once

#include <string>

#include "config/config.hpp"

namespace nightgate::cli {

// Reads `file` and everything it names (scripts, commands, hooks, certificates) as they are in `commit` of the
// repository that `file` lies in, not as they lie there. The repository, the state, pages, credential files and the
// targets' artifacts stay where they are. The commit's files are in a temporary directory until the program ends.
[[nodiscard]] Result<config::Config> load_config_of(const fs::path& file, const std::string& commit);

}  // namespace nightgate::cli
