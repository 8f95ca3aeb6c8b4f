#include "ci/cli/trusted_config.hpp"

#include <fmt/format.h>

#include <optional>

#include "gate/base/files.hpp"
#include "gate/base/log.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::cli {
namespace {

// The work tree that a file lies in.
Result<fs::path> work_tree_of(const fs::path& file) {
  std::error_code error;
  for (fs::path at = file.parent_path(); !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / ".git", error)) return at;
    if (at == at.root_path()) break;
  }
  return fail(Code::usage,
              fmt::format("--config-from names a commit, and {} is not in a git work tree", file.string()));
}

// A path inside `copy` becomes the same path inside `original`.
fs::path moved_back(const fs::path& path, const fs::path& copy, const fs::path& original) {
  const auto relative = path.lexically_relative(copy);
  if (relative.empty() || *relative.begin() == "..") return path;
  return (original / relative).lexically_normal();
}

}  // namespace

Result<config::Config> load_config_of(const fs::path& file, const std::string& commit) {
  std::error_code error;
  const fs::path here = fs::weakly_canonical(fs::absolute(file), error);
  NG_TRY(const fs::path top, work_tree_of(here));
  config::Config only_repository;
  only_repository.repository.path = top;
  NG_TRY(const auto history, targets::open_history(only_repository));
  NG_TRY(const std::string sha, history->resolve(commit));

  static std::optional<TempDir> kept;
  NG_TRY(kept, TempDir::make("nightgate-config"));
  const fs::path copy = fs::weakly_canonical(kept->path(), error);
  NG_CHECK(history->checkout(sha, copy));
  const fs::path there = copy / here.lexically_relative(top);
  if (!fs::exists(there, error)) {
    return fail(Code::usage,
                fmt::format("commit {} ({}) has no {}: the configuration is not read from the code that is measured "
                            "unless told so (in the action: config-from: head)",
                            sha.substr(0, 10), commit, here.lexically_relative(top).string()));
  }
  auto config = config::load(there);
  if (!config) return with_context(std::move(config).error(), "reading the config of commit " + sha.substr(0, 10));
  for (fs::path* path : {&config->state, &config->repository.path, &config->report.directory, &config->report.site}) {
    *path = moved_back(*path, copy, top);
  }
  if (config->report.github) {
    auto& token = config->report.github->token_file;
    token = moved_back(token, copy, top);
  }
  if (config->targets.artifact && fs::path(config->targets.artifact->path).is_relative()) {
    config->targets.artifact->path = (here.parent_path() / config->targets.artifact->path).string();
  }
  log::info(fmt::format("configuration and its files: as in commit {} ({})", sha.substr(0, 10), commit));
  return config;
}

}  // namespace nightgate::cli
