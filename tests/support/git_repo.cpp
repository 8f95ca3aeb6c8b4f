#include "tests/support/git_repo.hpp"

#include <stdexcept>

#include "gate/base/process.hpp"

namespace nightgate::test {
namespace {

TempDir make_directory() {
  auto made = TempDir::make("ng-git");
  if (!made) throw std::runtime_error(made.error().text());
  return std::move(*made);
}

std::string run_command(const Command& command) {
  const auto output = run(command, std::chrono::seconds(60));
  if (!output) throw std::runtime_error(output.error().text());
  if (!output->ok())
    throw std::runtime_error(command.argv[0] + ": " + ending_text(output->ending) + ": " + output->err);
  std::string text = output->out;
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::string run_or_throw(const std::vector<std::string>& argv, const fs::path& directory) {
  Command command;
  command.argv = argv;
  command.directory = directory;
  return run_command(command);
}

GitRepo::GitRepo() : directory_(make_directory()) { git({"init", "-q", "-b", "main", "."}); }

std::string GitRepo::git(const std::vector<std::string>& arguments) {
  Command command;
  command.argv = {"git", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.directory = path();
  const std::string date = std::to_string(now_) + " +0000";
  command.environment = {{"GIT_AUTHOR_NAME", author_},       {"GIT_AUTHOR_EMAIL", "-"},
                         {"GIT_AUTHOR_DATE", date},          {"GIT_COMMITTER_NAME", "Merger"},
                         {"GIT_COMMITTER_EMAIL", "-"},       {"GIT_COMMITTER_DATE", date},
                         {"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_SYSTEM", "/dev/null"}};
  return run_command(command);
}

std::string GitRepo::commit(const std::string& file, const std::string& text, const std::string& message) {
  now_ += 60;
  const fs::path whole = path() / file;
  fs::create_directories(whole.parent_path());
  if (const auto written = write_file(whole, text); !written) throw std::runtime_error(written.error().text());
  git({"add", "-A"});
  git({"commit", "-q", "-m", message});
  return git({"rev-parse", "HEAD"});
}

std::string GitRepo::merge(const std::string& file, const std::string& text, const std::string& topic_message,
                           const std::string& message) {
  git({"checkout", "-q", "-b", "topic"});
  author_ = "Bob";
  commit(file, text, topic_message);
  author_ = "Ada";
  git({"checkout", "-q", "main"});
  now_ += 60;
  git({"merge", "-q", "--no-ff", "-m", message, "topic"});
  git({"branch", "-q", "-D", "topic"});
  return git({"rev-parse", "HEAD"});
}

}  // namespace nightgate::test
