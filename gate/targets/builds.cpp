#include "gate/targets/builds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gate/base/files.hpp"
#include "gate/base/log.hpp"
#include "gate/base/process.hpp"
#include "gate/targets/artifacts.hpp"

namespace nightgate::targets {
namespace {

// What a killed build left behind. Called with the lock held.
void remove_left_overs(const fs::path& root) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    if (entry.path().filename().string().starts_with("tmp-")) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Result<Found> Builds::find(const Merge& merge) {
  if (const auto known = failed_.find(merge.commit); known != failed_.end()) return Untestable{known->second};
  NG_TRY(const std::string tree, history_.tree_id(merge.commit));
  const std::string command = fmt::format("{}", fmt::join(config_.targets.build->command, "\n"));
  const std::string digest = sha256_hex(tree + "\n" + command);
  Target target;
  target.commit = merge.commit;
  target.digest = "sha256:" + digest;
  target.label = label_of(merge);
  target.form = DirectoryTarget{root() / (merge.commit + "-" + sha256_hex(command).substr(0, 8))};
  return target;
}

Status Builds::prepare(const Target& target, const fs::path& directory) {
  if (const auto known = failed_.find(target.commit); known != failed_.end()) return fail(Code::measure, known->second);
  std::error_code error;
  if (fs::is_directory(directory, error)) return {};
  NG_CHECK(make_directories(config_.state, true));
  NG_CHECK(make_directories(root()));
  const auto wait = std::chrono::minutes(config_.targets.build->timeout_minutes);
  NG_TRY(const auto lock, FileLock::take(root() / "lock", "building " + target.label, wait));
  if (fs::is_directory(directory, error)) return {};
  remove_left_overs(root());
  NG_TRY(const auto merge, history_.merge(target.commit));
  NG_TRY(const auto work, TempDir::make("tmp-", root()));
  log::info("building " + target.label);
  const fs::path log_file = directory.string() + ".log";
  const auto why = build(merge, work.path(), log_file);
  if (!why) return tl::unexpected<Error>(why.error());
  if (!why->empty()) {
    failed_[target.commit] = *why;
    return fail(Code::measure, *why);
  }
  fs::rename(work.path() / "out", directory, error);
  if (error) return fail(Code::io, "could not move the build to " + directory.string() + ": " + error.message());
  return {};
}

// Empty: it worked, and work/out holds the result. Else why the build failed, for people.
Result<std::string> Builds::build(const Merge& merge, const fs::path& work, const fs::path& log_file) {
  const fs::path source = work / "source";
  const fs::path out = work / "out";
  NG_CHECK(make_directories(source));
  NG_CHECK(make_directories(out));
  NG_CHECK(history_.checkout(merge.commit, source));
  Command command;
  command.directory = source;
  const std::map<std::string, std::string> names = {{"out", out.string()}, {"state", config_.state.string()}};
  for (const std::string& argument : config_.targets.build->command) {
    NG_TRY(std::string expanded, expand_for(argument, merge, &history_, names));
    command.argv.push_back(std::move(expanded));
  }
  NG_TRY(const Output output, run(command, std::chrono::minutes(config_.targets.build->timeout_minutes)));
  NG_CHECK(write_file(log_file, output.out + output.err));
  if (!output.ok()) {
    return fmt::format("its build failed ({}); the log {} ends:\n{}", ending_text(output.ending), log_file.string(),
                       tail_of(log_file));
  }
  std::error_code ignored;
  if (fs::is_empty(out, ignored)) {
    return fmt::format("its build ended well but left nothing in the directory {{out}}; the log is {}",
                       log_file.string());
  }
  return std::string();
}

}  // namespace nightgate::targets
