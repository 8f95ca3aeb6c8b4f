// What the runner of a workflow gives to a step and takes from it: its environment, the event, outputs, the summary and
// annotations. Formats and limits: docs.github.com "Workflow commands", and the runner's own sources.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ci/github/comments.hpp"
#include "gate/base/files.hpp"

namespace nightgate::github {

inline constexpr std::size_t summary_bytes = 900U << 10U;  // over 1 MiB GitHub drops the whole summary
inline constexpr std::size_t most_annotations = 9;         // ten of a kind are shown; the last says how many more

struct Runner {
  bool actions = false;             // inside GitHub Actions at all
  fs::path output, summary, event;  // empty: not given
  std::string event_name, repository, api, server, run_id;
  std::string token;  // registered with the log, so that it is never printed
};
// From GITHUB_* ; the token from NIGHTGATE_TOKEN, else GITHUB_TOKEN.
[[nodiscard]] Runner runner_from_environment();

enum class Level { error, warning, notice };
struct Annotation {
  Level level = Level::error;
  std::string title, message;  // plain text
};
// One workflow command, escaped, with its newline; the message is cut to what is shown.
[[nodiscard]] std::string workflow_command(const Annotation& annotation);
// At most most_annotations of them, and one that says how many more there are.
[[nodiscard]] std::string annotations_text(const std::vector<Annotation>& annotations);

// Appends name=value pairs to the GITHUB_OUTPUT file, each behind a random delimiter that is not in the value.
[[nodiscard]] Status write_outputs(const fs::path& file,
                                   const std::vector<std::pair<std::string, std::string>>& values);
// Room left in the summary of this step, within our budget.
[[nodiscard]] std::size_t summary_room(const fs::path& file);
[[nodiscard]] Status append_to(const fs::path& file, std::string_view text);

// Of the event's payload, which GitHub writes: the only source of a pull request's number besides GitHub's answers.
struct Event {
  std::int64_t pull_request = 0;  // pull_request and pull_request_target events
  bool fork = false;              // its head is in another repository
  std::string head_sha;           // of the pull request, or of the run that workflow_run tells of
  HeadBranch head;                // workflow_run only
  std::int64_t run = 0;           // workflow_run: the id of that run
};
// Code::bad_data when the file is no payload. An absent path is an empty event.
[[nodiscard]] Result<Event> read_event(const Runner& runner);

}  // namespace nightgate::github
