#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

namespace {

// The complaint about this text; empty when it was taken.
std::string complaint(std::string_view text, const JsonLimits& limits = {}) {
  const auto parsed = parse_json(text, limits);
  if (parsed) return {};
  CHECK(parsed.error().code == Code::bad_data);
  return parsed.error().message;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("good JSON makes the round trip", "[base]") {
  const std::string text = GENERATE("null", "true", "0", "-1", "1.5", "\"\"", "[]", "{}", "[[],{},[{}]]",
                                    R"({"a":{"b":[1,{"c":2}],"d":null},"e":[1.5]})", R"(["\u0000\"\\","ü€😀"])",
                                    "9223372036854775807", "-9223372036854775808", "18446744073709551615");
  const auto parsed = parse_json(text);
  INFO(text);
  REQUIRE(parsed);
  CHECK(parse_json(dump_json(*parsed)).value() == *parsed);
  CHECK(*parsed == nlohmann::json::parse(text));
}

TEST_CASE("complaints about JSON have line and column", "[base]") {
  CHECK(has(complaint(""), "line 1, column 1:"));
  CHECK(has(complaint("{\n  \"a\": 1,\n  \"a\": 2\n}"), "line 3, column 5: the key \"a\" appears twice"));
  CHECK(has(complaint("[1,\n  2,]"), "line 2, column 5:"));
  CHECK(has(complaint("{\"a\": \"x"), "line 1, column 9:"));
  CHECK(has(complaint("[1] x"), "line 1, column 5:"));
}

TEST_CASE("what the library would take silently is refused", "[base]") {
  const std::string text =
      GENERATE("[NaN]", "[Infinity]", "[-Infinity]", "[1e999]", "[-1e999]", R"({"a":{"x":1,"x":1}})",
               R"([{"a":1,"b":2,"a":3}])", "[1,]", "{\"a\":1,}", "['a']", "[01]", "[+1]", "[.5]", "[1.]", "[0x1]",
               "[\"\t\"]", "// c\n1", "/**/1", "1 2", R"(["\ud800"])", R"(["\udc00"])", "\xff\xfe[]");
  INFO(text);
  CHECK(complaint(text) != "");
}

TEST_CASE("UTF-8 that is none is refused, wherever it stands", "[base]") {
  const std::string bytes =
      GENERATE("\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xf8\x88\x80\x80\x80");
  CHECK(complaint("[\"" + bytes + "\"]") != "");
  CHECK(complaint("{\"" + bytes + "\":1}") != "");
  const auto message = complaint("[\"abc" + bytes + "\"]");
  CHECK(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

TEST_CASE("the same key may appear in different objects", "[base]") {
  CHECK(complaint(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})") == "");
}

TEST_CASE("nesting is taken to the limit and refused beyond", "[base]") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(complaint(nested(64)) == "");
  CHECK(has(complaint(nested(65)), "column 65: nested deeper than 64"));
  CHECK(has(complaint(nested(10'000)), "nested deeper than 64"));
  CHECK(has(complaint(std::string(10'000, '[')), "nested deeper than 64"));
  std::string objects;
  for (int i = 0; i < 10'000; ++i) objects += "{\"a\":";
  CHECK(has(complaint(objects), "nested deeper than 64"));
  JsonLimits flat;
  flat.depth = 1;
  CHECK(complaint("[1,2]", flat) == "");
  CHECK(has(complaint("[{}]", flat), "nested deeper than 1"));
}

TEST_CASE("large documents are taken up to the limit in bytes", "[base]") {
  std::string text = "[";
  while (text.size() < 5'000'000) text += R"({"metric":"a.b.c","value":12345.678},)";
  text.back() = ']';
  const auto parsed = parse_json(text);
  REQUIRE(parsed);
  CHECK(parsed->size() > 100'000);
  CHECK(parsed->back().at("value").get<double>() == 12345.678);
  JsonLimits small;
  small.bytes = text.size() - 1;
  CHECK(has(complaint(text, small), "at most"));
}

TEST_CASE("comments only where they are allowed", "[base]") {
  JsonLimits with;
  with.comments = true;
  CHECK(complaint("// one\n{\"a\": 1 /* two */}", with) == "");
  CHECK(complaint("{\"a\": 1 /* open", with) != "");
}

TEST_CASE("writing never throws over outside text", "[base]") {
  CHECK(dump_json(nlohmann::json("a\xff"
                                 "b")) ==
        "\"a\xEF\xBF\xBD"
        "b\"");
  CHECK(dump_json(nlohmann::json{{"a", "x\ny"}}) == R"({"a":"x\ny"})");
  CHECK(dump_json(nlohmann::json{{"a", 1}}, 2) == "{\n  \"a\": 1\n}");
}

TEST_CASE("near matches are the likely typing errors, best first", "[base]") {
  const std::vector<std::string> keys{"repeats", "repository", "report", "seconds", "store"};
  CHECK(near_matches("repeat", keys) == std::vector<std::string>{"repeats", "report"});
  CHECK(near_matches("Repeats", keys).front() == "repeats");
  CHECK(near_matches("sotre", keys) == std::vector<std::string>{"store"});
  CHECK(near_matches("second", keys) == std::vector<std::string>{"seconds"});
  CHECK(near_matches("zebra", keys).empty());
  CHECK(near_matches("", keys).empty());
  CHECK(near_matches(std::string(1'000'000, 'a'), keys).empty());
  CHECK(near_matches("abcdef", {"abcdeg", "abcdeh", "abcdei", "abcdej"}).size() == 3);
}
