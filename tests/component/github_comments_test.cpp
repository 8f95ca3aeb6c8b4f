// The one comment and the one issue, kept by a marker, whoever else is writing.
#include "ci/github/comments.hpp"

#include "tests/component/github_support.hpp"
#include "tests/support/catch.hpp"

namespace nightgate::test {
namespace {

using github::marker;
using github::Written;
using nlohmann::json;

json pull(int number, const std::string& sha = "abc", const std::string& repository = "o/r",
          const std::string& state = "open") {
  return {{"number", number},
          {"state", state},
          {"head", {{"sha", sha}, {"ref", "topic"}, {"repo", {{"full_name", repository}}}}}};
}
FakeGitHub& with_pull(FakeGitHub& fake) {
  fake.load({{"pulls", {pull(7)}}});
  return fake;
}

}  // namespace

TEST_CASE("markers hold nothing that could end them", "[github]") {
  CHECK(marker("gate") == "<!-- nightgate v1 key=gate -->");
  CHECK(marker("a-->b") == "<!-- nightgate v1 key=a-__b -->");
  CHECK(marker("x y\n@z") == "<!-- nightgate v1 key=x_y__z -->");
}

TEST_CASE("one comment: made, kept, changed", "[github]") {
  FakeGitHub fake;
  with_pull(fake);
  AskGitHub ask(fake);
  auto made = github::upsert_comment(ask.api, 7, "gate", "one\ntwo");
  REQUIRE(made);
  CHECK(made->written == Written::created);
  CHECK(fake.comments(7).at(0)["body"] == marker("gate") + "\none\ntwo");
  CHECK(github::upsert_comment(ask.api, 7, "gate", "one\ntwo")->written == Written::same);
  CHECK(fake.asked("PATCH").empty());
  CHECK(github::upsert_comment(ask.api, 7, "gate", "three")->written == Written::changed);
  CHECK(github::upsert_comment(ask.api, 7, "other", "three")->written == Written::created);
  CHECK(fake.comments(7).size() == 2);
  CHECK(*github::has_comment(ask.api, 7, "other"));
  CHECK_FALSE(*github::has_comment(ask.api, 7, "nothing"));
}

TEST_CASE("ours is found on a later page", "[github]") {
  FakeGitHub fake;
  json comments = json::array();
  for (int i = 0; i < 140; ++i) comments.push_back({{"issue", 7}, {"login", "ada"}, {"body", "talk"}});
  comments.push_back({{"issue", 7}, {"login", "github-actions[bot]"}, {"body", marker("gate") + "\nold"}});
  with_pull(fake).load({{"comments", comments}});
  AskGitHub ask(fake);
  CHECK(github::upsert_comment(ask.api, 7, "gate", "new")->written == Written::changed);
  CHECK(fake.comments(7).size() == 141);
}

TEST_CASE("a comment of somebody else is never touched, marker or not", "[github]") {
  FakeGitHub fake;
  const auto foreign = marker("gate") + "\nnot ours";
  with_pull(fake).load({{"comments", {{{"issue", 7}, {"login", "mallory"}, {"body", foreign}}}}});
  AskGitHub ask(fake);
  CHECK(github::upsert_comment(ask.api, 7, "gate", "ours")->written == Written::created);
  CHECK(fake.comments(7).at(0)["body"] == foreign);
  CHECK(fake.comments(7).size() == 2);
}

TEST_CASE("a marker further down is no marker", "[github]") {
  FakeGitHub fake;
  with_pull(fake).load(
      {{"comments", {{{"issue", 7}, {"login", "github-actions[bot]"}, {"body", "quoted:\n" + marker("gate")}}}}});
  AskGitHub ask(fake);
  CHECK(github::upsert_comment(ask.api, 7, "gate", "ours")->written == Written::created);
}

TEST_CASE("two runs that raced leave one comment, with the later text", "[github]") {
  FakeGitHub fake;
  with_pull(fake).rule({{"method", "POST"},
                        {"path", "comments"},
                        {"rival", {{"login", "github-actions[bot]"}, {"body", marker("gate") + "\nrival"}}}});
  AskGitHub ask(fake);
  REQUIRE(github::upsert_comment(ask.api, 7, "gate", "mine"));
  const auto left = fake.comments(7);
  REQUIRE(left.size() == 1);
  CHECK(left[0]["body"] == marker("gate") + "\nmine");
}

TEST_CASE("a POST that failed after it was carried out is not made twice", "[github]") {
  FakeGitHub fake;
  with_pull(fake);
  AskGitHub ask(fake);
  SECTION("5xx") { fake.rule({{"method", "POST"}, {"path", "comments"}, {"status", 502}, {"carry_out", true}}); }
  SECTION("cut off") { fake.rule({{"method", "POST"}, {"path", "comments"}, {"drop", true}, {"carry_out", true}}); }
  SECTION("not carried out") { fake.rule({{"method", "POST"}, {"path", "comments"}, {"status", 502}}); }
  REQUIRE(github::upsert_comment(ask.api, 7, "gate", "mine"));
  CHECK(fake.comments(7).size() == 1);
}

TEST_CASE("the token of an app that may not ask its name keeps one comment too", "[github]") {
  FakeGitHub fake;
  with_pull(fake);
  for (const char* text : {"one", "two", "three"}) {
    AskGitHub ask(fake, "app");
    REQUIRE(github::upsert_comment(ask.api, 7, "gate", text));
    const auto left = fake.comments(7);
    REQUIRE(left.size() == 1);
    CHECK(left[0]["body"] == marker("gate") + "\n" + text);
    CHECK(left[0]["user"]["login"] == "bench-app[bot]");
  }
  CHECK(fake.comments(7)[0]["edits"] == 2);  // the first one stayed
}

TEST_CASE("a denied comment is Code::denied", "[github]") {
  FakeGitHub fake;
  with_pull(fake);
  AskGitHub ask(fake, "read");
  CHECK(github::upsert_comment(ask.api, 7, "gate", "x").error().code == Code::denied);
}

TEST_CASE("one issue, found by its marker or its number", "[github]") {
  FakeGitHub fake;
  AskGitHub ask(fake, "user");
  const auto made = github::upsert_issue(ask.api, "trip-1", "slow", "numbers");
  REQUIRE(made);
  CHECK(made->written == Written::created);
  CHECK(github::upsert_issue(ask.api, "trip-1", "slow", "numbers")->written == Written::same);
  CHECK(github::upsert_issue(ask.api, "trip-1", "slow", "more", made->number)->written == Written::changed);
  CHECK(fake.state()["issues"].size() == 1);
  REQUIRE(github::set_issue_open(ask.api, made->number, github::IssueState::not_planned));
  const auto found = github::find_issue(ask.api, "trip-1");
  CHECK(found->number == made->number);
  CHECK_FALSE(found->open);
  CHECK(found->reason == "not_planned");
  CHECK(github::find_issue(ask.api, "trip-2")->number == 0);
  // A number that is wrong by now: looked for by the marker.
  CHECK(github::upsert_issue(ask.api, "trip-1", "slow", "again", 99)->number == made->number);
  fake.rule({{"method", "POST"}, {"path", "issues$"}, {"status", 500}, {"carry_out", true}});
  REQUIRE(github::upsert_issue(ask.api, "trip-3", "slow", "numbers"));
  CHECK(fake.state()["issues"].size() == 2);
}

TEST_CASE("a status fits into GitHub's limit, whole characters kept", "[github]") {
  FakeGitHub fake;
  AskGitHub ask(fake);
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "\u00e9\u2013";
  REQUIRE(github::set_status(ask.api, "abc", github::StatusState::failure, "nightgate", wide, ""));
  const auto said = fake.state()["statuses"][0]["description"].get<std::string>();
  CHECK(said.size() > 100);
  CHECK(wide.rfind(said, 0) == 0);
}

TEST_CASE("the pull request of a head", "[github]") {
  FakeGitHub fake;
  fake.load(
      {{"pulls",
        {pull(3, "abc", "o/r", "closed"), pull(4, "abc", "mallory/r"), pull(5, "abc", "fork/r"), pull(6, "def")}}});
  AskGitHub ask(fake);
  CHECK(*github::pull_request_of(ask.api, "def") == 6);
  CHECK(*github::pull_request_of(ask.api, "abc", {"fork/r", "topic"}) == 5);
  CHECK(*github::pull_request_of(ask.api, "abc", {"fork/r", "other"}) == 0);
  CHECK(*github::pull_request_of(ask.api, "fff") == 0);
}

TEST_CASE("the pull request that a merge came from", "[github]") {
  FakeGitHub fake;
  auto merged = pull(9, "abc", "o/r", "closed");
  merged["merge_commit_sha"] = "fee";
  merged["merged_at"] = "2026-01-01T00:00:00Z";
  fake.load({{"pulls", {merged}}});
  AskGitHub ask(fake);
  CHECK(*github::merged_by(ask.api, "fee") == 9);
  CHECK(*github::merged_by(ask.api, "bad") == 0);
}

}  // namespace nightgate::test
