// A throw-away git repository made by the git program, with times a minute apart and no dependence on the user's
// settings.
#pragma once

#include <string>
#include <vector>

#include "gate/base/files.hpp"

namespace nightgate::test {

class GitRepo {
 public:
  GitRepo();  // empty, with the branch "main"; throws when git is missing
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }
  // Runs git here and gives its output without the last newline; throws with what git said.
  std::string git(const std::vector<std::string>& arguments);
  // Writes a file, commits it and gives the sha. The author is "Ada".
  std::string commit(const std::string& file, const std::string& text, const std::string& message);
  // A branch with one commit by "Bob", merged by a merge commit with this message; gives the merge's sha.
  std::string merge(const std::string& file, const std::string& text, const std::string& topic_message,
                    const std::string& message);

 private:
  TempDir directory_;
  long now_ = 1700000000;  // 2023-11-14T22:13:20Z, a minute on for every commit
  std::string author_ = "Ada";
};

// Runs a program; gives its output, throws when it fails.
std::string run_or_throw(const std::vector<std::string>& argv, const fs::path& directory = {});

}  // namespace nightgate::test
