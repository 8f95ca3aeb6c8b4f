// Directories as targets, told apart by their content (private to gate/targets).
#pragma once

#include <map>
#include <string>

#include "config/config.hpp"
#include "gate/base/files.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::targets {

// "sha256:..." over the relative names, executable bits, link targets and bytes of everything in a directory; times,
// owners and empty directories do not count. Remembered by path, names, sizes and times, so asking again is cheap.
// Code::bad_data for an empty directory or one of more than 100,000 files, Code::not_found when it is none.
class ContentDigests {
 public:
  [[nodiscard]] Result<std::string> of(const fs::path& directory);

 private:
  struct Known {
    std::string listing, digest;
  };
  std::map<fs::path, Known> known_;
};

// {sha} {short} {pr} {n} of a merge, for templates; `extra` may know more names ({out}). `history` may be null.
// Code::not_found when the merge has no pull request number and the template wants it.
[[nodiscard]] Result<std::string> expand_for(std::string_view text, const Merge& merge, History* history,
                                             const std::map<std::string, std::string>& extra = {});

// What people see: "#12 5d2f01c", else "5d2f01c".
[[nodiscard]] std::string label_of(const Merge& merge);

}  // namespace nightgate::targets
