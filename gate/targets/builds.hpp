// Builds of commits by a command, kept under <state>/builds (private to gate/targets).
#pragma once

#include <map>
#include <string>

#include "config/config.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::targets {

// Not thread-safe. Two processes that want the same build wait for each other.
class Builds {
 public:
  // `history` is borrowed.
  Builds(const config::Config& config, History& history) : config_(config), history_(history) {}

  // The target that building this merge gives, whether it has been built or not: its place and its digest (of tree and
  // command) are known before. Untestable with the reason once its build has failed in this run.
  [[nodiscard]] Result<Found> find(const Merge& merge);
  // Is this directory one of ours?
  [[nodiscard]] bool owns(const fs::path& directory) const { return directory.parent_path() == root(); }
  // Builds into target.form's directory unless it is there. Code::measure with the log's end.
  [[nodiscard]] Status prepare(const Target& target, const fs::path& directory);

 private:
  [[nodiscard]] fs::path root() const { return config_.state / "builds"; }
  [[nodiscard]] Result<std::string> build(const Merge& merge, const fs::path& work, const fs::path& log);
  const config::Config& config_;
  History& history_;
  std::map<std::string, std::string> failed_;  // commit -> why
};

}  // namespace nightgate::targets
