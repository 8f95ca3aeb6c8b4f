// What a commit's message says about its pull request (private to gate/targets).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nightgate::targets {

struct CommitTitle {
  std::string title;      // of the pull request where it can be told, else the subject
  std::optional<int> pr;  // from "Title (#12)", "Merge pull request #12 from ...", "Merged PR 12: ...", "... !12"
  std::string reverts;    // sha from "This reverts commit SHA", else empty
};
[[nodiscard]] CommitTitle read_commit_title(std::string_view message);

}  // namespace nightgate::targets
