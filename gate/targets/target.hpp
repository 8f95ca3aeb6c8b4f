// Targets: startable versions of the broker, each tied to a commit; and the merges they come from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.hpp"
#include "gate/base/clock.hpp"
#include "gate/base/result.hpp"

namespace nightgate::targets {

// A commit on the first-parent line of the main branch.
struct Merge {
  std::string commit;  // full hex sha
  Instant time;
  std::string title;   // of the pull request where it can be told, else the subject
  std::string author;  // name only, never an address
  std::optional<int> pr;
  std::string reverts;             // sha of the commit this one reverts, when it says so; else empty
  std::vector<std::string> files;  // touched, relative to its first parent; filled by fill_files()
  int number = 0;                  // position counted from the range's start (good end = 0)
};

// Reads merges. Not thread-safe; one object per thread. All failures are sentences with the way out:
// Code::usage: shallow clone, foreign owner, good not an ancestor of bad, good newer than bad, empty range;
// Code::not_found: unknown commit (near matches named).
class History {
 public:
  virtual ~History() = default;
  // Full sha of a commit, tag, branch, abbreviated sha, or RFC 3339 date (last merge at or before it).
  [[nodiscard]] virtual Result<std::string> resolve(std::string_view reference) = 0;
  // Newest merges of the branch first, at most `limit`.
  [[nodiscard]] virtual Result<std::vector<Merge>> newest(int limit) = 0;
  // First-parent line from good (included, number 0) to bad (included, number N).
  [[nodiscard]] virtual Result<std::vector<Merge>> range(std::string_view good, std::string_view bad) = 0;
  [[nodiscard]] virtual Result<Merge> merge(std::string_view reference) = 0;
  [[nodiscard]] virtual Status fill_files(Merge& merge) = 0;
  // The best common ancestor of two commits (for `merge-base`).
  [[nodiscard]] virtual Result<std::string> merge_base(std::string_view a, std::string_view b) = 0;
  // Name of the newest tag below the commit (not on it) that looks like a version (for `last-release`). Pre-releases
  // only where there is nothing else.
  [[nodiscard]] virtual Result<std::string> last_release(std::string_view commit) = 0;
  // Place of the commit on its first-parent line, the first commit being 1 (for `{n}`).
  [[nodiscard]] virtual Result<int> place(std::string_view commit) = 0;
  // Id of the commit's tree: equal for commits with equal files.
  [[nodiscard]] virtual Result<std::string> tree_id(std::string_view commit) = 0;
  // Writes a clean checkout of the commit into an existing empty directory (submodules stay empty).
  [[nodiscard]] virtual Status checkout(std::string_view commit, const fs::path& into) = 0;
  // Brings the branch up to date where a url is configured; a no-op for a plain local path.
  [[nodiscard]] virtual Status fetch() = 0;
};
// Opens (or clones bare into <state>/repository-<hash of the url>) what the config names. Code::usage when it names
// none.
[[nodiscard]] Result<std::unique_ptr<History>> open_history(const config::Config& config);

struct ImageTarget {  // pullable by digest: "host/name@sha256:..."
  std::string reference;
};
struct DirectoryTarget {  // an artifact or a finished build
  fs::path path;
};
struct NoBroker {};  // command-only projects without targets: the load itself is what is measured
struct Target {
  // Full sha of what the broker should report; may be empty for a bare path or image. Of a merge that was published as
  // the unchanged image of an earlier one: the earlier one's.
  std::string commit;
  // Image digest, or "sha256:" + hash of: an artifact's content; a build's inputs (tree and command); without a broker,
  // the load programs. Never empty; equal digests mean that there is nothing to compare.
  std::string digest;
  std::string label;  // what people see: "#123 5d2f01c", "v1.2", a path
  std::variant<DirectoryTarget, ImageTarget, NoBroker> form;
};

// Why a merge has no usable target.
struct Untestable {
  std::string why;
};
using Found = std::variant<Target, Untestable>;

// Finds and prepares targets. Thread-compatible.
class Finder {
 public:
  virtual ~Finder() = default;
  // Does this merge have a target, and with which digest? Asked once per commit and run, then remembered. A merge
  // without one is a value (Untestable), not an error; errors are registries that do not answer.
  [[nodiscard]] virtual Result<Found> find(const Merge& merge) = 0;
  // The same for many, asked in parallel where it is a network question. Same order as given.
  [[nodiscard]] virtual Result<std::vector<Found>> find_all(const std::vector<Merge>& merges) = 0;
  // A target from what a person typed: commit or tag, image reference, directory path, `merge-base` (of the branch and
  // HEAD), `last-release` (before HEAD). Code::not_found with what was tried.
  [[nodiscard]] virtual Result<Target> parse(std::string_view reference) = 0;
  // Makes it startable here: pulls the image, runs the build. Nothing may be pulled during a measurement. A build that
  // fails is Code::measure with the end of its log, and from then on find() calls that merge Untestable.
  [[nodiscard]] virtual Status prepare(const Target& target) = 0;
};
// `history` may be null where the project has no repository; borrowed.
[[nodiscard]] Result<std::unique_ptr<Finder>> make_finder(const config::Config& config, History* history);

}  // namespace nightgate::targets
