// GitHub's REST interface against a small GitHub: paging, limits, redirects, where the token goes.
#include "tests/component/github_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/http_server.hpp"

namespace nightgate::test {
namespace {

nlohmann::json pull(int number) { return {{"number", number}, {"state", "open"}, {"head", {{"sha", "abc"}}}}; }
nlohmann::json many_comments(int count) {
  nlohmann::json out = nlohmann::json::array();
  for (int i = 0; i < count; ++i) out.push_back({{"issue", 7}, {"login", "ada"}, {"body", std::to_string(i)}});
  return out;
}

}  // namespace

TEST_CASE("every page of a list is read", "[github]") {
  FakeGitHub fake;
  fake.load({{"pulls", {pull(7)}}, {"comments", many_comments(230)}});
  AskGitHub ask(fake);
  const auto all = ask.api.list("/issues/7/comments");
  REQUIRE(all);
  CHECK(all->size() == 230);
  CHECK(all->back()["body"] == "229");
  const auto asked = fake.asked("GET");
  REQUIRE(asked.size() == 3);
  CHECK_THAT(asked[0]["path"].get<std::string>(), Contains("per_page=100"));
  CHECK(asked[0]["headers"]["authorization"] == "Bearer bot");
  CHECK(asked[0]["headers"]["accept"] == "application/vnd.github+json");
  CHECK(asked[0]["headers"]["x-github-api-version"] == "2022-11-28");
}

TEST_CASE("limits are waited for, as long as they ask and no longer than the patience", "[github]") {
  FakeGitHub fake;
  fake.load({{"pulls", {pull(7)}}});
  AskGitHub ask(fake);
  const nlohmann::json get = {{"method", "GET"}, {"path", "comments"}};
  auto rule = get;
  SECTION("429 with Retry-After") {
    rule.update({{"status", 429}, {"headers", {{"Retry-After", "17"}}}, {"times", 2}});
    fake.rule(rule);
    CHECK(ask.api.list("/issues/7/comments"));
    CHECK(ask.clock.slept == std::vector<double>{17, 17});
  }
  SECTION("a secondary limit is a 403 and says so in words only") {
    rule.update({{"status", 403}, {"body", {{"message", "You have exceeded a secondary rate limit."}}}});
    fake.rule(rule);
    CHECK(ask.api.list("/issues/7/comments"));
    CHECK(ask.clock.slept == std::vector<double>{60});
  }
  SECTION("the primary limit gives the time of its reset") {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(ask.clock.now().time_since_epoch()).count();
    rule.update({{"status", 403},
                 {"headers", {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", std::to_string(now + 30)}}}});
    fake.rule(rule);
    CHECK(ask.api.list("/issues/7/comments"));
    CHECK(ask.clock.slept == std::vector<double>{31});
  }
  SECTION("an hour is too long") {
    rule.update({{"status", 429}, {"headers", {{"Retry-After", "3600"}}}});
    fake.rule(rule);
    const auto answer = ask.api.list("/issues/7/comments");
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::away);
    CHECK(ask.clock.slept.empty());
  }
  SECTION("a limited POST was not carried out and is sent again") {
    fake.rule({{"method", "POST"}, {"path", "comments"}, {"status", 429}, {"headers", {{"Retry-After", "2"}}}});
    CHECK(ask.api.post("/issues/7/comments", {{"body", "x"}}));
    CHECK(fake.comments(7).size() == 1);
  }
}

TEST_CASE("reads are tried again after 5xx and a cut connection, POSTs are not", "[github]") {
  FakeGitHub fake;
  fake.load({{"pulls", {pull(7)}}});
  AskGitHub ask(fake);
  fake.rule({{"path", "comments"}, {"status", 502}, {"times", 1}});
  fake.rule({{"path", "comments"}, {"drop", true}, {"times", 1}});
  CHECK(ask.api.list("/issues/7/comments"));
  CHECK_FALSE(ask.clock.slept.empty());  // curl itself tries again where a kept connection was closed
  fake.rule({{"method", "POST"}, {"path", "comments"}, {"status", 503}, {"times", 9}});
  const auto posted = ask.api.post("/issues/7/comments", {{"body", "x"}});
  REQUIRE_FALSE(posted);
  CHECK(posted.error().code == Code::away);
  CHECK(fake.asked("POST").size() == 1);
}

TEST_CASE("refusals say what is wrong", "[github]") {
  FakeGitHub fake;
  fake.load({{"pulls", {pull(7)}}});
  const auto post = [&](const std::string& token, const nlohmann::json& body) {
    AskGitHub ask(fake, token);
    const auto posted = ask.api.post("/issues/7/comments", body);
    REQUIRE_FALSE(posted);
    CHECK(posted.error().text().find("Bearer") == std::string::npos);
    return posted.error();
  };
  CHECK(post("read", {{"body", "x"}}).code == Code::denied);
  CHECK_THAT(post("read", {{"body", "x"}}).text(), Contains("not accessible by integration"));
  CHECK(post("nobody", {{"body", "x"}}).code == Code::denied);
  CHECK(post("bot", {{"body", std::string(70000, 'x')}}).code == Code::bad_data);
  CHECK_THAT(post("bot", {{"body", std::string(70000, 'x')}}).text(), Contains("too long"));
  AskGitHub ask(fake);
  CHECK(ask.api.get("/issues/99").error().code == Code::not_found);
}

TEST_CASE("a renamed repository is followed by the same method", "[github]") {
  FakeGitHub fake;
  fake.load({{"pulls", {pull(7)}}});
  AskGitHub ask(fake, "bot", "o/old");
  CHECK(ask.api.list("/issues/7/comments"));
  CHECK(ask.api.post("/issues/7/comments", {{"body", "x"}}));
  CHECK(fake.comments(7).size() == 1);
}

TEST_CASE("the token never leaves the host it is for", "[github]") {
  HttpServer<> elsewhere;
  elsewhere.server().Get(
      ".*", [](const httplib::Request&, httplib::Response& answer) { answer.set_content("[]", "application/json"); });
  REQUIRE(elsewhere.start());
  FakeGitHub fake;
  fake.load({{"pulls", {pull(7)}}});
  AskGitHub ask(fake);
  SECTION("redirect") {
    fake.rule({{"path", "comments"}, {"status", 302}, {"headers", {{"Location", elsewhere.url("/x")}}}});
  }
  SECTION("next page") {
    fake.rule({{"path", "comments"},
               {"status", 200},
               {"body", nlohmann::json::array()},
               {"headers", {{"Link", "<" + elsewhere.url("/x") + ">; rel=\"next\""}}}});
  }
  SECTION("the same host by another scheme") {
    const auto other = "https" + fake.url().substr(4);
    fake.rule({{"path", "comments"}, {"status", 301}, {"headers", {{"Location", other + "/x"}}}});
  }
  const auto answer = ask.api.list("/issues/7/comments");
  REQUIRE_FALSE(answer);
  CHECK_THAT(answer.error().text(), Contains("another host"));
  CHECK(elsewhere.seen().empty());
}

TEST_CASE("redirects that go round end", "[github]") {
  FakeGitHub fake;
  AskGitHub ask(fake);
  fake.rule(
      {{"path", "/issues/1$"}, {"status", 307}, {"headers", {{"Location", "/repos/o/r/issues/1"}}}, {"times", 50}});
  CHECK_FALSE(ask.api.get("/issues/1"));
  CHECK(fake.asked().size() <= 4);
}

TEST_CASE("writes keep a second's distance", "[github]") {
  FakeGitHub fake;
  fake.load({{"pulls", {pull(7)}}});
  AskGitHub ask(fake);
  for (int i = 0; i < 3; ++i) CHECK(ask.api.post("/issues/7/comments", {{"body", "x"}}));
  CHECK(ask.clock.slept == std::vector<double>{1, 1});
}

TEST_CASE("a token is not sent in the clear", "[github]") {
  CHECK(github::check_api("https://api.github.com"));
  CHECK(github::check_api("https://git.example/api/v3"));
  CHECK(github::check_api("http://127.0.0.1:8080/api"));
  CHECK(github::check_api("http://localhost"));
  CHECK_FALSE(github::check_api("http://api.github.com"));
  CHECK_FALSE(github::check_api("http://127.0.0.1.example.com"));
  CHECK_FALSE(github::check_api("ftp://127.0.0.1"));
}

}  // namespace nightgate::test
