// Histories that a project keeps already, found by init, and the command that brings each of them in.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gate/base/files.hpp"

namespace nightgate::cli {

struct FoundHistory {
  std::string path;     // relative to the directory that was searched
  std::string format;   // as import names it
  std::string machine;  // that the file names; empty: none, and import needs to be told
  std::string metric;   // one of them, as an example
  std::size_t nights = 0, metrics = 0;
};

// Looks at files whose names may be histories, three directories deep and not in hidden ones, and reads them: what is
// not read whole by import is not named. At most 20, by path.
[[nodiscard]] std::vector<FoundHistory> find_histories(const fs::path& directory);

// What to type: one line for each file. `host`: this machine's name, for files that name none.
[[nodiscard]] std::string import_command(const FoundHistory& found, const std::string& host);

}  // namespace nightgate::cli
