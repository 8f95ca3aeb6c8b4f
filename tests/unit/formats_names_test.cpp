// Image names, HTTP headers and commit titles.
#include "gate/formats/git_title.hpp"
#include "gate/formats/http_headers.hpp"
#include "gate/formats/image_ref.hpp"
#include "gate/formats/reading.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::formats;
using nightgate::test::Contains;

namespace {
const std::string kHex(64, 'a');
const std::string kDigest = "sha256:" + kHex;
}  // namespace

TEST_CASE("image names: domain, path, tag, digest, and the defaults of docker.io", "[formats]") {
  const std::pair<std::string, ImageRef> cases[] = {
      {"postgres", {"docker.io", "library/postgres", "", ""}},
      {"postgres:17", {"docker.io", "library/postgres", "17", ""}},
      {"a/b", {"docker.io", "a/b", "", ""}},
      {"docker.io/postgres", {"docker.io", "library/postgres", "", ""}},
      {"index.docker.io/a/b:c", {"docker.io", "a/b", "c", ""}},
      {"ghcr.io/seamware/coraine:abc-1.2_3", {"ghcr.io", "seamware/coraine", "abc-1.2_3", ""}},
      {"localhost/x", {"localhost", "x", "", ""}},
      {"127.0.0.1:5000/x/y-z__w.v:t@" + kDigest, {"127.0.0.1:5000", "x/y-z__w.v", "t", kDigest}},
      {"[::1]:5000/x", {"[::1]:5000", "x", "", ""}},
      {"Host/x", {"Host", "x", "", ""}},
      {"host:5000/x@" + kDigest, {"host:5000", "x", "", kDigest}},
      {"a---b", {"docker.io", "library/a---b", "", ""}},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const auto parsed = parse_image_ref(text);
    REQUIRE(parsed.has_value());
    CHECK(*parsed == expected);
    CHECK(parse_image_ref(parsed->text()).value() == expected);  // the full form means the same
  }
  CHECK(parse_image_ref("x:t@" + kDigest)->reference() == kDigest);
  CHECK(parse_image_ref("x:t")->reference() == "t");
  CHECK(parse_image_ref("x")->reference() == "latest");
  CHECK(parse_image_ref("x")->api_host() == "registry-1.docker.io");
  CHECK(parse_image_ref("ghcr.io/a/b")->api_host() == "ghcr.io");
}

TEST_CASE("image names that are none", "[formats]") {
  for (const std::string& text : {std::string(),
                                  std::string(":t"),
                                  std::string("/x"),
                                  std::string("x/"),
                                  std::string("a//b"),
                                  std::string("A"),
                                  std::string("a/B"),
                                  std::string("a..b"),
                                  std::string("a___b"),
                                  std::string("-a"),
                                  std::string("a-"),
                                  std::string("x:"),
                                  std::string("x:-t"),
                                  std::string("x: t"),
                                  "x:" + std::string(129, 't'),
                                  std::string("x@"),
                                  std::string("x@sha256:aa"),
                                  "x@sha256:" + std::string(64, 'A'),
                                  "x@" + kDigest + "a",
                                  "x@" + kDigest + "@" + kDigest,
                                  kHex,
                                  std::string("host:/x"),
                                  std::string("host:5o/x"),
                                  std::string("ho_st.x/x"),
                                  std::string("h..o/x"),
                                  std::string("[::1/x"),
                                  std::string("[g::1]/x"),
                                  std::string("http://x.y/z"),
                                  std::string("x\n"),
                                  std::string("x/../y"),
                                  std::string(300, 'a'),
                                  std::string("a\0b", 3)}) {
    INFO(text);
    const auto parsed = parse_image_ref(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == Code::usage);
  }
}

TEST_CASE("image names: what counts as this machine", "[formats]") {
  for (const char* text : {"localhost:5000/x", "localhost/x", "127.0.0.1:5000/x", "127.8.8.8/x", "[::1]/x"})
    CHECK(parse_image_ref(text)->is_loopback());
  for (const char* text : {"x", "ghcr.io/x", "127.0.0.1.evil.example/x", "127.evil/x", "localhost.evil/x"})
    CHECK_FALSE(parse_image_ref(text)->is_loopback());
}

TEST_CASE("Link: the next page", "[formats]") {
  CHECK(next_link("</v2/x/tags/list?last=b&n=2>; rel=\"next\"").value() == "/v2/x/tags/list?last=b&n=2");
  CHECK(
      next_link(
          "<https://a/?page=1>; rel=\"prev\", <https://a/?q=a,b;c&page=3>; title=\"a, \\\"b\\\"; rel=next\" ; REL=Next")
          .value() == "https://a/?q=a,b;c&page=3");
  CHECK(next_link("<x>; rel=\"prev  next\"").value() == "x");
  CHECK(next_link("<x>; rel=last, , <y>;; rel=next").value() == "y");
  CHECK_FALSE(next_link("<x>; rel=\"nextish\"; rel=next").value().has_value());
  CHECK_FALSE(next_link("").value().has_value());
  CHECK_FALSE(next_link("<x>").value().has_value());
  for (const char* text : {"x", "<x", "<x> y", "<x>; rel=\"next", "<x>; =a", "<x>; rel=next <y>", "<x>; rel=\"a\"b"}) {
    INFO(text);
    CHECK_FALSE(next_link(text).has_value());
  }
  CHECK_FALSE(next_link("<x>; rel=next\r\nEvil: 1").has_value());
  CHECK_FALSE(next_link(std::string(kMaxHeader + 1, ',')).has_value());
}

TEST_CASE("WWW-Authenticate: bearer and basic challenges", "[formats]") {
  const auto one = parse_challenges(
      "Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\", "
      "scope=\"repository:a/b:pull,push\"");
  REQUIRE(one.has_value());
  REQUIRE(one->size() == 1);
  CHECK(one->front().scheme == "bearer");
  CHECK(one->front().parameters.at("realm") == "https://auth.docker.io/token");
  CHECK(one->front().parameters.at("scope") == "repository:a/b:pull,push");

  const auto several =
      parse_challenges("Negotiate, NTLM YWJj==, Basic Realm=\"a \\\"b\\\"\", charset=UTF-8 , bearer error = \"x\"");
  REQUIRE(several.has_value());
  REQUIRE(several->size() == 4);
  CHECK((*several)[0].scheme == "negotiate");
  CHECK((*several)[1].token == "YWJj==");
  CHECK((*several)[2].parameters.at("realm") == "a \"b\"");
  CHECK((*several)[2].parameters.at("charset") == "UTF-8");
  CHECK((*several)[3].parameters.at("error") == "x");
  CHECK(parse_challenges("")->empty());
  for (const char* text : {"Bearer realm=\"a", "Bearer a=\"b\",c=", "Bearer realm=\"a\" service=\"b\"", "=x",
                           "Bearer realm=\"a\",realm=\"b\"", "\"x\"", "Bearer \"x\"", "Bearer a=b=c"}) {
    INFO(text);
    CHECK_FALSE(parse_challenges(text).has_value());
  }
}

TEST_CASE("commit titles: the request and what it was called", "[formats]") {
  struct Case {
    std::string message, title;
    std::optional<long> number;
  };
  const Case cases[] = {
      {"Merge pull request #12 from a/b\n\nFaster create\n\nlonger text\n", "Faster create", 12},
      {"Merge pull request #12 from a/b\r\n\r\nFaster create (#12)\r\n", "Faster create", 12},
      {"Merge pull request #12 from a/b\n", "Merge pull request #12 from a/b", 12},
      {"Merge pull request #7 in P/R from x to master\n\n* commit 'abc':\n", "* commit 'abc':", 7},
      {"Merged in feature/x (pull request #9)\n\nAdd x\n", "Add x", 9},
      {"Faster create (#12)\n\nbody #99\n", "Faster create", 12},
      {"Fix (a) thing (see #3)", "Fix (a) thing (see #3)", std::nullopt},
      {"Fix #3", "Fix #3", std::nullopt},
      {"(#3)", "(#3)", 3},
      {"Title (#0)", "Title (#0)", std::nullopt},
      {"Title (#99999999999)", "Title (#99999999999)", std::nullopt},
      {"Merged PR 34: Do it well\n\nRelated work items: #5", "Do it well", 34},
      {"Merge branch 'x' into 'main'\n\nQuicker queries\n\nSee merge request group/sub/project!56", "Quicker queries",
       56},
      {"Quicker queries\n\nbody\n\nSee merge request group/project!56\n", "Quicker queries", 56},
      {"Merge branch 'x'\n\nbody", "Merge branch 'x'", std::nullopt},
      {"Auto merge of #1234 - a:b, r=c\n\nTitle here\n\nbody", "Title here", 1234},
      {"Merge #77\n\n77: Better locks r=bob a=al\n\nbody", "Better locks", 77},
      {"Merge #77: Better locks", "Better locks", 77},
      {"Merge #77 #78\n\n76: x\n", "Merge #77 #78", 77},
      {"Merge pull request #x", "Merge pull request #x", std::nullopt},
      {"Merge pull request #12x from y", "Merge pull request #12x from y", std::nullopt},
      {"\n\n  plain\ttitle \x1b[31m\n", "plain title [31m", std::nullopt},
      {"", "", std::nullopt},
  };
  for (const auto& c : cases) {
    INFO(c.message);
    const auto parsed = parse_git_title(c.message);
    CHECK(parsed.title == c.title);
    CHECK(parsed.number == c.number);
    CHECK_FALSE(parsed.revert);
  }
}

TEST_CASE("commit titles: reverts name what they take back", "[formats]") {
  const auto squash = parse_git_title("Revert \"Faster create (#12)\" (#15)\n\nThis reverts commit c7a97b9c1f.\n");
  CHECK(squash == GitTitle{"Revert \"Faster create (#12)\"", 15, true, "Faster create", 12, "c7a97b9c1f"});
  const auto merge =
      parse_git_title("Merge pull request #15 from a/revert-12-b\n\nRevert \"Faster \"create\"\"\n\nReverts a/b#12\n");
  CHECK(merge == GitTitle{"Revert \"Faster \"create\"\"", 15, true, "Faster \"create\"", 12, ""});
  const auto gitlab = parse_git_title(
      "Merge branch 'r' into 'main'\n\nRevert \"x\"\n\nThis reverts merge request !8\n\nSee merge request g/p!9");
  CHECK(gitlab == GitTitle{"Revert \"x\"", 9, true, "x", 8, ""});
  CHECK_FALSE(parse_git_title("Revert the thing").revert);
  CHECK_FALSE(parse_git_title("Revert \"unfinished").revert);
}

TEST_CASE("commit titles: long and broken text is cut between characters", "[formats]") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\xC3\xA9";
  const auto parsed = parse_git_title(text);
  CHECK(parsed.title.size() <= 200);
  CHECK(is_utf8(parsed.title));
  CHECK(is_utf8(parse_git_title("\xff\xfe (#3)").title));
  CHECK(parse_git_title(std::string(1000000, 'x')).title.size() == 200);
}
