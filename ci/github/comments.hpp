// Comments and issues that nightgate keeps up to date by a marker on their first line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ci/github/api.hpp"

namespace nightgate::github {

inline constexpr std::size_t comment_bytes = 60000;  // GitHub takes 65,536 characters

// At most the first `most` bytes of UTF-8 text, whole characters only.
[[nodiscard]] std::string_view cut(std::string_view text, std::size_t most);

// "<!-- nightgate v1 key=... -->"; `key` is reduced to letters, digits, dot, dash and underscore.
[[nodiscard]] std::string marker(std::string_view key);

enum class Written { created, changed, same };
struct Comment {
  std::int64_t id = 0;
  Written written = Written::same;
};
// The one comment of ours with this marker on an issue or pull request: created, changed only when the text differs,
// and our own later duplicates of a race removed. Comments of others are never touched, marker or not.
[[nodiscard]] Result<Comment> upsert_comment(Api& api, std::int64_t issue, std::string_view key,
                                             const std::string& markdown);

// Whether upsert_comment would find one.
[[nodiscard]] Result<bool> has_comment(Api& api, std::int64_t issue, std::string_view key);

struct Issue {
  std::int64_t number = 0;  // 0: there is none
  bool open = true;
  std::string reason;  // why it is closed: "completed", "not_planned"
  std::string title, body;
  Written written = Written::same;
};
// The issue of ours with this marker, whatever its state; number 0 when there is none.
[[nodiscard]] Result<Issue> find_issue(Api& api, std::string_view key);
// The issue with this number; number 0 when it is gone or does not carry the marker (somebody replaced its text).
[[nodiscard]] Result<Issue> get_issue(Api& api, std::int64_t number, std::string_view key);
// Finds it (`known`: the number it had last time, 0 when there is none) or opens it; brings title and text up to date.
// Leaves open or closed as it is.
[[nodiscard]] Result<Issue> upsert_issue(Api& api, std::string_view key, const std::string& title,
                                         const std::string& markdown, std::int64_t known = 0);
enum class IssueState { open, completed, not_planned };
[[nodiscard]] Status set_issue_open(Api& api, std::int64_t number, IssueState state);

enum class StatusState { success, failure, error, pending };
// A commit status; the description is cut to 140 characters.
[[nodiscard]] Status set_status(Api& api, const std::string& commit, StatusState state, std::string_view context,
                                std::string_view description, const std::string& url);

// The number of the open pull request whose head is this commit, asked from GitHub and never taken from an artifact;
// 0 when there is none. Where the event names the head's repository and branch, those must be its too: anybody can open
// another pull request with the same commit.
struct HeadBranch {
  std::string repository, name;  // empty: not known
};
[[nodiscard]] Result<std::int64_t> pull_request_of(Api& api, const std::string& head_commit,
                                                   const HeadBranch& branch = {});
// The number of the merged pull request that this merge came from; 0 when GitHub knows none.
[[nodiscard]] Result<std::int64_t> merged_by(Api& api, const std::string& merge);

}  // namespace nightgate::github
