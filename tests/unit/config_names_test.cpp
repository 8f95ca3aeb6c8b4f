#include "config/names.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::config;

namespace {
std::optional<std::string> lookup(std::string_view name) {
  if (name == "sha") return "abc";
  if (name == "my-db.url") return "http://h:1";
  return std::nullopt;
}
}  // namespace

TEST_CASE("names are replaced, everything else stays", "[config]") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"plain", "plain"},
      {"{sha}", "abc"},
      {"x{sha}y{my-db.url}/z", "xabcyhttp://h:1/z"},
      {"{{sha}}", "{sha}"},
      {"${{HOME}}", "${HOME}"},
      {R"({"a": {"b": {}}})", R"({"a": {"b": {}}})"},
      {R"({"id": "{sha}"})", R"({"id": "abc"})"},
      {R"({"id":{"v":"{sha}"}})", R"({"id":{"v":"abc"}})"},
      {"{{{sha}}}", "{{sha}}"},
      {"a{2,3}b{2}", "a{2,3}b{2}"},
      {R"(m_total{method="GET"})", R"(m_total{method="GET"})"},
      {"{sha", "{sha"},
      {"{}{", "{}{"},
      {"{a.b.c}", "{a.b.c}"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const auto found = expand_names(text, lookup);
    REQUIRE(found);
    CHECK(*found == expected);
  }
}

TEST_CASE("an unknown name is an error that says how to write the text itself", "[config]") {
  const auto found = expand_names("a{nope}", lookup);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::usage);
  CHECK(found.error().text().find("{{nope}}") != std::string::npos);
  CHECK(names_in("{b.url} {{c}} {sha}") == std::vector<std::string>{"b.url", "sha"});
}
