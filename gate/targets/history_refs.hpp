// Questions about branches, tags, dates and graphs that history.cpp asks of libgit2 (private to gate/targets).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/targets/git.hpp"

namespace nightgate::targets::history {

// Newest commit of the branch, local or else of origin. Code::usage with near matches when there is none.
[[nodiscard]] Result<git::Commit> branch_tip(git_repository* repository, const std::string& branch);
// RFC 3339, or a day (its last moment, UTC); nullopt for anything else.
[[nodiscard]] std::optional<Instant> read_date(std::string_view text);
// Branches, tags and commits of the branch whose name looks like `text`.
[[nodiscard]] std::vector<std::string> near_references(git_repository* repository, const std::string& branch,
                                                       const std::string& text);
// Paths touched, relative to the first parent.
[[nodiscard]] Status files_of(git_repository* repository, git_commit* commit, std::vector<std::string>& files);
[[nodiscard]] Result<std::string> last_release(git_repository* repository, const git_oid& commit);
// Does a tag look like a version? "v1.2", "1.2.3", "server-2.0.1"; `pre` tells "-rc1" and the like.
struct Version {
  std::vector<long> numbers;
  bool pre = false;
};
[[nodiscard]] std::optional<Version> read_version(std::string_view tag);
// Where `good` is an ancestor of `tip` but not on its first-parent line: the oldest commit of that line with `good` in
// it.
[[nodiscard]] std::string first_with(git_repository* repository, const git_oid& tip, const git_oid& good);

}  // namespace nightgate::targets::history
