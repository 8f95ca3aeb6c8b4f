// Artifacts and builds as targets of merges.
#include "gate/targets/target.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/git_repo.hpp"

using namespace nightgate;
using namespace nightgate::targets;
using test::GitRepo;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  return std::move(*result);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

struct Project {
  GitRepo repo;
  TempDir files = must(TempDir::make("ng-finder"));
  config::Config config;
  std::unique_ptr<History> history;
  std::unique_ptr<Finder> finder;

  explicit Project(const std::string& targets) {
    const std::string text =
        R"({"project": "p", "state": "state", "repository": {"path": ")" + repo.path().string() + R"("}, "targets": )" +
        targets + R"(, "scenarios": {"s": {"load": {"command": ["true"]}, "metrics": {"t": {"unit": "ms"}}}}})";
    config = must(config::parse(text, files.path(), "test"));
    reopen();
  }
  void reopen() {
    finder.reset();
    history = must(open_history(config));
    finder = must(make_finder(config, history.get()));
  }
  void artifact(const std::string& sha, const std::string& text, unsigned mode = 0755) {
    REQUIRE(make_directories(files.path() / "builds" / sha / "bin"));
    REQUIRE(write_file(files.path() / "builds" / sha / "bin/broker", text, mode));
  }
  Found find(const std::string& sha) { return must(finder->find(must(history->merge(sha)))); }
  Target target(const std::string& sha) {
    const Found found = find(sha);
    if (const auto* why = std::get_if<Untestable>(&found)) FAIL(why->why);
    return std::get<Target>(found);
  }
  std::string why(const std::string& sha) {
    const Found found = find(sha);
    if (!std::holds_alternative<Untestable>(found)) FAIL("it has a target");
    return std::get<Untestable>(found).why;
  }
};

}  // namespace

TEST_CASE("artifacts: one content, one digest", "[targets]") {
  Project p(R"({"artifact": "builds/{sha}"})");
  const auto a = p.repo.commit("a", "1", "A (#1)");
  const auto b = p.repo.commit("README", "1", "Docs (#2)");
  const auto c = p.repo.commit("a", "2", "C");
  const auto d = p.repo.commit("a", "3", "D");
  const auto e = p.repo.commit("a", "4", "E");
  p.artifact(a, "one");
  p.artifact(b, "one");
  p.artifact(c, "two");
  p.artifact(d, "one", 0644);
  REQUIRE(make_directories(p.files.path() / "builds" / e));
  p.reopen();
  const Target first = p.target(a);
  CHECK(first.commit == a);
  CHECK(first.label == "#1 " + a.substr(0, 7));
  CHECK(first.digest.starts_with("sha256:"));
  CHECK(std::get<DirectoryTarget>(first.form).path == p.files.path() / "builds" / a);
  CHECK(p.target(b).digest == first.digest);
  CHECK(p.target(c).digest != first.digest);
  CHECK(p.target(d).digest != first.digest);  // no longer a program
  CHECK(contains(p.why(e), "empty"));
  REQUIRE(p.finder->prepare(first));
  fs::remove_all(p.files.path() / "builds" / a);
  CHECK_FALSE(p.finder->prepare(first));
}

TEST_CASE("artifacts: names in the path", "[targets]") {
  Project p(R"({"artifact": "b/{n}-{pr}-{short}"})");
  const auto a = p.repo.commit("a", "1", "A");
  const auto b = p.repo.commit("a", "2", "B (#7)");
  REQUIRE(make_directories(p.files.path() / "b" / ("2-7-" + b.substr(0, 7))));
  REQUIRE(write_file(p.files.path() / "b" / ("2-7-" + b.substr(0, 7)) / "x", "x"));
  p.reopen();
  CHECK(p.target(b).commit == b);
  CHECK(contains(p.why(a), "pull request"));
}

TEST_CASE("what a person may type for a target", "[targets]") {
  Project p(R"({"artifact": "builds/{sha}"})");
  const auto a = p.repo.commit("a", "1", "A");
  const auto b = p.repo.commit("a", "2", "B");
  const auto c = p.repo.commit("a", "3", "C");
  p.repo.git({"tag", "v1.0", a});
  p.artifact(a, "one");
  p.artifact(b, "two");
  p.reopen();
  CHECK(must(p.finder->parse("v1.0")).label == "v1.0 " + a.substr(0, 7));
  CHECK(must(p.finder->parse(b.substr(0, 8))).commit == b);
  CHECK(must(p.finder->parse("last-release")).commit == a);
  const Target path = must(p.finder->parse((p.files.path() / "builds" / a).string()));
  CHECK(path.commit.empty());
  CHECK(path.digest == must(p.finder->parse("v1.0")).digest);
  CHECK(must(p.finder->parse("builds/" + a)).digest == path.digest);  // relative to the config
  p.repo.git({"checkout", "-q", "-b", "side", b});
  p.repo.commit("s", "1", "S");
  CHECK(must(p.finder->parse("merge-base")).commit == b);
  const auto nothing = p.finder->parse("v9.9");
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().code == Code::not_found);
  const auto untestable = p.finder->parse(c);
  REQUIRE_FALSE(untestable);
  CHECK(untestable.error().code == Code::measure);
  CHECK(contains(untestable.error().text(), "no directory"));
  CHECK_FALSE(p.finder->parse("./nowhere"));
  CHECK_FALSE(p.finder->parse(""));
}

TEST_CASE("builds: in a clean checkout, once for each commit", "[targets]") {
  Project p(
      R"({"build": ["sh", "-c", "cp source.txt {out}/broker && echo x >> {state}/count && test ! -e left && touch left"]})");
  const auto a = p.repo.commit("source.txt", "one", "A");
  const auto b = p.repo.commit("source.txt", "two", "B");
  const auto c = p.repo.commit("source.txt", "one", "C");
  p.reopen();
  const Target first = p.target(a);
  REQUIRE(p.finder->prepare(first));
  REQUIRE(p.finder->prepare(first));
  REQUIRE(p.finder->prepare(p.target(b)));
  CHECK(*read_file(std::get<DirectoryTarget>(first.form).path / "broker") == "one");
  CHECK(*read_file(p.config.state / "count") == "x\nx\n");
  CHECK(p.target(c).digest == first.digest);  // the same tree
  CHECK(p.target(b).digest != first.digest);
  p.reopen();
  REQUIRE(p.finder->prepare(p.target(a)));
  CHECK(*read_file(p.config.state / "count") == "x\nx\n");
}

TEST_CASE("builds: a failed one is remembered with the end of its log", "[targets]") {
  Project p(R"({"build": ["sh", "-c", "echo trying; test -e good || { echo no such thing >&2; exit 3; }"]})");
  const auto a = p.repo.commit("bad", "1", "A");
  const auto b = p.repo.commit("good", "1", "B");
  p.reopen();
  const Target target = p.target(a);
  const auto failed = p.finder->prepare(target);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Code::measure);
  CHECK(contains(failed.error().text(), "exit code 3"));
  CHECK(contains(failed.error().text(), "no such thing"));
  CHECK(contains(p.why(a), "no such thing"));
  const auto empty = p.finder->prepare(p.target(b));
  REQUIRE_FALSE(empty);
  CHECK(contains(empty.error().text(), "{out}"));
  for (const auto& entry : fs::directory_iterator(p.config.state / "builds")) {
    CHECK_FALSE(entry.path().filename().string().starts_with("tmp-"));
  }
}

TEST_CASE("builds stand in for merges without an artifact", "[targets]") {
  Project p(R"({"artifact": "builds/{sha}", "build": ["cp", "a", "{out}/broker"]})");
  const auto a = p.repo.commit("a", "1", "A");
  const auto b = p.repo.commit("a", "2", "B");
  p.artifact(a, "one");
  p.reopen();
  CHECK(std::get<DirectoryTarget>(p.target(a).form).path == p.files.path() / "builds" / a);
  const Target built = p.target(b);
  REQUIRE(p.finder->prepare(built));
  CHECK(*read_file(std::get<DirectoryTarget>(built.form).path / "broker") == "2");
}

TEST_CASE("a project without targets measures its programs", "[targets]") {
  config::Config config = must(config::parse(
      R"({"project": "p", "scenarios": {"s": {"load": {"command": ["true"]}, "metrics": {"t": {"unit": "ms"}}}}})", "/",
      "test"));
  const auto finder = must(make_finder(config, nullptr));
  Merge merge;
  merge.commit = std::string(40, 'a');
  const auto found = must(finder->find(merge));
  const Target target = std::get<Target>(found);
  CHECK(std::holds_alternative<NoBroker>(target.form));
  CHECK(target.digest.starts_with("sha256:"));
  REQUIRE(finder->prepare(target));
  CHECK_FALSE(finder->parse("v1.0"));
}
