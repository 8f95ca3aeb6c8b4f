// What a step says to the runner: workflow commands, outputs, the event.
#include "ci/github/workflow.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace nightgate::test {
namespace {

using github::Annotation;
using github::Level;

TempDir directory() {
  auto made = TempDir::make("ng-workflow");
  REQUIRE(made);
  return std::move(*made);
}
github::Runner with_event(const fs::path& file, const std::string& name, const std::string& payload) {
  REQUIRE(write_file(file, payload));
  github::Runner runner;
  runner.event = file;
  runner.event_name = name;
  return runner;
}

}  // namespace

TEST_CASE("workflow commands are escaped", "[github]") {
  CHECK(github::workflow_command({Level::error, "a: b, c", "100 %\r\n::error::x, y: z"}) ==
        "::error title=a%3A b%2C c::100 %25%0D%0A::error::x, y: z\n");
  CHECK(github::workflow_command({Level::warning, "t", std::string(5000, 'x')}).size() < 1100);
}

TEST_CASE("nine annotations, and how many more", "[github]") {
  const auto lines = [](std::size_t count) {
    const auto text = github::annotations_text(std::vector<Annotation>(count, {Level::error, "t", "m"}));
    return std::pair{std::count(text.begin(), text.end(), '\n'), text};
  };
  CHECK(lines(0).first == 0);
  CHECK(lines(9).first == 9);
  CHECK(lines(9).second.find("more") == std::string::npos);
  CHECK(lines(10).first == 10);
  CHECK_THAT(lines(10).second, Contains("and 1 more"));
  CHECK(lines(500).first == 10);
  CHECK_THAT(lines(500).second, Contains("and 491 more"));
}

TEST_CASE("outputs keep what they are given, line ends too", "[github]") {
  const auto dir = directory();
  const auto file = dir.path() / "output";
  REQUIRE(github::write_outputs(file, {{"a", "1"}, {"b", "two\nverdict=pass\nEOF"}}));
  REQUIRE(github::write_outputs(file, {{"c", ""}}));
  const auto text = *read_file(file);
  CHECK(text.rfind("a<<nightgate_", 0) == 0);
  CHECK_THAT(text, Contains("\ntwo\nverdict=pass\nEOF\nnightgate_"));
  const auto delimiter = text.substr(3, text.find('\n') - 3);
  CHECK(delimiter.size() > 30);
  CHECK(text.find(delimiter, text.find("\nb<<")) == std::string::npos);  // another one for each
}

TEST_CASE("the summary's room counts what is there already", "[github]") {
  const auto dir = directory();
  CHECK(github::summary_room(dir.path() / "none") == github::summary_bytes);
  REQUIRE(github::append_to(dir.path() / "s", std::string(1000, 'x')));
  CHECK(github::summary_room(dir.path() / "s") == github::summary_bytes - 1000);
  REQUIRE(github::append_to(dir.path() / "s", std::string(github::summary_bytes, 'x')));
  CHECK(github::summary_room(dir.path() / "s") == 0);
}

TEST_CASE("the pull request's number comes from the event that is about one", "[github]") {
  const auto dir = directory();
  const auto file = dir.path() / "event.json";
  const std::string pull =
      R"({"number":7,"pull_request":{"number":7,"head":{"sha":"abc","repo":{"full_name":"fork/r"}},"base":{"repo":{"full_name":"o/r"}}}})";
  const auto event = github::read_event(with_event(file, "pull_request", pull));
  REQUIRE(event);
  CHECK(event->pull_request == 7);
  CHECK(event->fork);
  CHECK(event->head_sha == "abc");
  CHECK(github::read_event(with_event(file, "push", pull))->pull_request == 0);
  const std::string run =
      R"({"workflow_run":{"id":5,"head_sha":"def","head_branch":"topic","head_repository":{"full_name":"fork/r"},"pull_requests":[{"number":99}]}})";
  const auto other = github::read_event(with_event(file, "workflow_run", run));
  CHECK(other->pull_request == 0);  // never from there
  CHECK(other->head_sha == "def");
  CHECK(other->head.repository == "fork/r");
  CHECK(other->head.name == "topic");
  CHECK(other->run == 5);
  CHECK_FALSE(github::read_event(with_event(file, "pull_request", "{")));
  CHECK(github::read_event(with_event(file, "pull_request", "[]"))->pull_request == 0);
  CHECK(github::read_event(with_event(file, "pull_request", R"({"pull_request":{"number":"7","head":null}})"))
            ->pull_request == 0);
  CHECK(github::read_event({})->pull_request == 0);
}

}  // namespace nightgate::test
