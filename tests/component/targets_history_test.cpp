// History against repositories made by git itself.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "gate/base/process.hpp"
#include "gate/targets/target.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/git_repo.hpp"

using namespace nightgate;
using namespace nightgate::targets;
using test::GitRepo;

namespace {

std::unique_ptr<History> open(const fs::path& path, const std::string& branch = "main") {
  config::Config config;
  config.repository.path = path;
  config.repository.branch = branch;
  auto history = open_history(config);
  if (!history) FAIL(history.error().text());
  return std::move(*history);
}

template <class T>
std::string error_of(const Result<T>& result, Code code) {
  if (result) FAIL("no error");
  CHECK(result.error().code == code);
  return result.error().text();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::vector<std::string> shas(const std::vector<Merge>& merges) {
  std::vector<std::string> out;
  for (const Merge& merge : merges) out.push_back(merge.commit);
  return out;
}

// a - b(#1) - M(merge of topic, #2) - d - r(revert of d)
struct Sample {
  GitRepo repo;
  std::string a = repo.commit("a.txt", "1", "First");
  std::string b = repo.commit("src/b.txt", "1", "Add b (#1)");
  std::string m = repo.merge("c.txt", "1", "topic work", "Merge pull request #2 from x/topic\n\nAdd c");
  std::string topic = repo.git({"rev-parse", m + "^2"});
  std::string d = repo.commit("d.txt", "1", "Add d");
  std::string r = revert(d);

  std::string revert(const std::string& sha) {
    repo.git({"revert", "--no-edit", sha});
    return repo.git({"rev-parse", "HEAD"});
  }
};

}  // namespace

TEST_CASE("the first-parent line, with titles, authors and pull requests", "[targets]") {
  Sample s;
  const auto history = open(s.repo.path());
  const auto range = history->range(s.a, s.r);
  REQUIRE(range);
  REQUIRE(shas(*range) == std::vector<std::string>{s.a, s.b, s.m, s.d, s.r});
  const Merge& merge = (*range)[2];
  CHECK(merge.number == 2);
  CHECK(merge.pr == 2);
  CHECK(merge.title == "Add c");
  CHECK(merge.author == "Bob");
  CHECK((*range)[1].pr == 1);
  CHECK((*range)[1].title == "Add b");
  CHECK((*range)[1].author == "Ada");
  CHECK((*range)[4].reverts == s.d);
  CHECK(to_rfc3339((*range)[0].time) == "2023-11-14T22:14:20Z");
  CHECK(shas(*history->newest(2)) == std::vector<std::string>{s.r, s.d});
  CHECK(*history->place(s.a) == 1);
  CHECK(*history->place(s.r) == 5);
  CHECK(*history->place(s.m) == 3);
}

TEST_CASE("files touched, relative to the first parent", "[targets]") {
  Sample s;
  const auto history = open(s.repo.path());
  for (const auto& [sha, files] :
       {std::pair(s.m, std::vector<std::string>{"c.txt"}), std::pair(s.r, std::vector<std::string>{"d.txt"}),
        std::pair(s.a, std::vector<std::string>{"a.txt"})}) {
    auto merge = history->merge(sha);
    REQUIRE(merge);
    REQUIRE(history->fill_files(*merge));
    CHECK(merge->files == files);
  }
}

TEST_CASE("a commit may be called by sha, tag, branch, beginning or date", "[targets]") {
  Sample s;
  s.repo.git({"tag", "v1.0", s.b});
  s.repo.git({"tag", "-a", "-m", "two", "v2.0", s.m});
  const auto history = open(s.repo.path());
  CHECK(*history->resolve(s.b) == s.b);
  CHECK(*history->resolve(s.b.substr(0, 9)) == s.b);
  CHECK(*history->resolve("v1.0") == s.b);
  CHECK(*history->resolve("v2.0") == s.m);
  CHECK(*history->resolve("main") == s.r);
  CHECK(*history->resolve("2023-11-14T22:15:30Z") == s.b);
  CHECK(*history->resolve("2023-11-14") == s.r);
  CHECK(contains(error_of(history->resolve("2001-01-01"), Code::not_found), "2001-01-01"));
  CHECK(contains(error_of(history->resolve("v1.00"), Code::not_found), "v1.0"));
  std::string wrong = s.d.substr(0, 10);
  wrong[5] = wrong[5] == 'a' ? 'b' : 'a';
  CHECK(contains(error_of(history->resolve(wrong), Code::not_found), s.d.substr(0, 10)));
  error_of(history->resolve(std::string(40, '0')), Code::not_found);
  CHECK(*history->last_release(s.r) == "v2.0");
  CHECK(*history->last_release(s.m) == "v1.0");
  error_of(history->last_release(s.a), Code::not_found);
}

TEST_CASE("impossible ranges each have their own sentence", "[targets]") {
  Sample s;
  s.repo.git({"checkout", "-q", "-b", "side", s.a});
  const std::string side = s.repo.commit("side.txt", "1", "Side");
  s.repo.git({"checkout", "-q", "--orphan", "other"});
  const std::string orphan = s.repo.commit("o.txt", "1", "Orphan");
  const auto history = open(s.repo.path());
  CHECK(contains(error_of(history->range(s.a, s.a), Code::usage), "empty"));
  CHECK(contains(error_of(history->range(s.d, s.b), Code::usage), "newer"));
  const auto diverged = error_of(history->range(side, s.d), Code::usage);
  CHECK(contains(diverged, "not an ancestor"));
  CHECK(contains(diverged, s.a.substr(0, 8)));
  CHECK(contains(error_of(history->range(orphan, s.d), Code::usage), "none"));
  const auto merged = error_of(history->range(s.topic, s.d), Code::usage);
  CHECK(contains(merged, "first-parent"));
  CHECK(contains(merged, s.m.substr(0, 8)));
  CHECK(*history->merge_base(side, s.d) == s.a);
  error_of(history->merge_base(orphan, s.d), Code::usage);
}

TEST_CASE("a checkout holds files, modes and links of that commit", "[targets]") {
  GitRepo repo;
  fs::create_directories(repo.path() / "bin");
  REQUIRE(write_file(repo.path() / "bin/run", "#!/bin/sh\n", 0755));
  fs::create_symlink("bin/run", repo.path() / "link");
  const std::string first = repo.commit("a.txt", "one", "First");
  repo.commit("a.txt", "two", "Second");
  const auto into = TempDir::make("ng-checkout");
  REQUIRE(into);
  REQUIRE(open(repo.path())->checkout(first, into->path()));
  CHECK(*read_file(into->path() / "a.txt") == "one");
  CHECK(::access((into->path() / "bin/run").c_str(), X_OK) == 0);
  CHECK(fs::read_symlink(into->path() / "link") == "bin/run");
  CHECK_FALSE(fs::exists(into->path() / ".git"));
  CHECK(repo.git({"status", "--porcelain"}).empty());
}

TEST_CASE("a shallow clone and a missing branch say what to do", "[targets]") {
  Sample s;
  const auto clone = TempDir::make("ng-shallow");
  REQUIRE(clone);
  s.repo.git({"clone", "-q", "--depth", "1", "file://" + s.repo.path().string(), (clone->path() / "r").string()});
  const auto history = open(clone->path() / "r");
  CHECK(contains(error_of(history->newest(5), Code::usage), "fetch-depth: 0"));
  CHECK(contains(error_of(history->range(s.a, s.r), Code::usage), "fetch-depth: 0"));
  CHECK(contains(error_of(history->resolve(s.b), Code::not_found), "fetch-depth: 0"));
  CHECK(*history->resolve("HEAD") == s.r);
  CHECK(contains(error_of(open(s.repo.path(), "mian")->newest(1), Code::usage), "main"));
  config::Config config;
  error_of(open_history(config), Code::usage);
  config.repository.path = "/nonexistent";
  error_of(open_history(config), Code::not_found);
}

TEST_CASE("a repository of another user is refused with the way out", "[targets]") {
  if (::geteuid() != 0) NG_SKIP("only root can give files away");
  Sample s;
  fs::permissions(s.repo.path(), fs::perms::all);
  test::run_or_throw({"chown", "-R", "65534:65534", s.repo.path().string()});
  config::Config config;
  config.repository.path = s.repo.path();
  CHECK(contains(error_of(open_history(config), Code::usage), "safe.directory"));
}

TEST_CASE("a repository by url is cloned into the state directory and fetched", "[targets]") {
  Sample s;
  const auto state = TempDir::make("ng-state");
  REQUIRE(state);
  config::Config config;
  config.state = state->path();
  config.repository.url = "file://" + s.repo.path().string();
  const auto history = open_history(config);
  if (!history) FAIL(history.error().text());
  CHECK(shas(*(*history)->newest(1)) == std::vector<std::string>{s.r});
  const std::string next = s.repo.commit("e.txt", "1", "Add e (#9)");
  s.repo.git({"tag", "v3.0"});
  REQUIRE((*history)->fetch());
  CHECK(*(*history)->resolve("v3.0") == next);
  CHECK((*history)->newest(1)->at(0).pr == 9);
  config.repository.url = "file:///nonexistent/repository";
  CHECK(contains(error_of(open_history(config), Code::away), "/nonexistent/repository"));
}

TEST_CASE("a repository by http: the token from the environment, and a bad one fails at once", "[targets]") {
  if (!find_program("python3")) NG_SKIP("there is no python3 to serve git over http");
  Sample s;
  const auto files = TempDir::make("ng-http");
  REQUIRE(files);
  Command command;
  // A pipe keeps its standard input open for as long as the shell lives.
  command.argv = {"sh",
                  "-c",
                  "sleep 120 | exec python3 \"$0\" \"$1\" \"$2\"",
                  NIGHTGATE_SOURCE_DIR "/tests/support/git_http.py",
                  s.repo.path().parent_path().string(),
                  "right-token"};
  auto server = Child::start(command, files->path() / "log");
  REQUIRE(server);
  std::string log;
  for (int i = 0; i < 200 && log.find('\n') == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    log = read_file(files->path() / "log").value_or("");
  }
  config::Config config;
  config.state = files->path();
  config.repository.token_env = "NG_TEST_GIT_TOKEN";
  config.repository.url =
      "http://127.0.0.1:" + log.substr(0, log.find('\n')) + "/" + s.repo.path().filename().string() + "/.git";
  ::setenv("NG_TEST_GIT_TOKEN", "wrong-token", 1);
  const auto refused = error_of(open_history(config), Code::denied);
  CHECK(contains(refused, "token"));
  CHECK_FALSE(contains(refused, "wrong-token"));
  log = *read_file(files->path() / "log");
  CHECK(std::ranges::count(log, '\n') <= 4);  // the port, and at most three requests
  ::setenv("NG_TEST_GIT_TOKEN", "right-token", 1);
  const auto history = open_history(config);
  if (!history) FAIL(history.error().text());
  const auto newest = (*history)->newest(1);
  if (!newest) FAIL(newest.error().text());
  CHECK(shas(*newest) == std::vector<std::string>{s.r});
  ::unsetenv("NG_TEST_GIT_TOKEN");
  error_of(open_history(config), Code::denied);
}
