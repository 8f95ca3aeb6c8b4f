// Which pull request a merge came from, and its title, read from the commit message alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nightgate::formats {

// Forms that are recognised:
//   "Merge pull request #12 from a/b" + body     GitHub's merge; the title is the first line of the body
//   "Merge pull request #12 in P/R from x to y"  Bitbucket's
//   "Merged in branch (pull request #12)"        Bitbucket Cloud's
//   "Title (#12)"                                squash and rebase merges of GitHub, Gitea and others
//   "Merged PR 12: Title"                        Azure DevOps
//   "... See merge request group/project!12"     GitLab, anywhere in the body; title from the body before it
//   "Auto merge of #12 - a:b, r=c" + body        bors and homu; also "Merge #12" with "12: Title" in the body (bors-ng)
//   'Revert "Title"', 'Revert "Title (#12)" (#15)'   the number is the revert's own (15)
struct GitTitle {
  std::string title;           // never empty unless the message is; control characters become spaces; at most 200 bytes
  std::optional<long> number;  // pull or merge request
  bool revert = false;         // takes something back
  std::string reverted_title;  // with revert: the title inside the quotes, without its number
  std::optional<long> reverted_number;  // with revert: the request taken back, where the message says it
  std::string reverted_commit;          // with revert: hexadecimal id from "This reverts commit ...", or empty
  bool operator==(const GitTitle&) const = default;
};

// Never fails: text that has none of the forms gives its first line as the title. Looks at the first 64 KiB.
[[nodiscard]] GitTitle parse_git_title(std::string_view message);

}  // namespace nightgate::formats
