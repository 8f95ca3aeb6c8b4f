#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

namespace {

nlohmann::json document() {
  return parse_json(R"({"text":"three","whole":3,"real":2.5,"huge":18446744073709551615,"min":-9223372036854775808,
                        "yes":true,"none":null,"list":["a","b"],"mixed":["a",1],"object":{"odd key":{"x":1}},
                        "long":"äääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää"})")
      .value();
}

template <class T>
std::string message(const Result<T>& result) {
  if (result) return "no error";
  CHECK(result.error().code == Code::bad_data);
  return result.error().message;
}

constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
constexpr auto highest = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("fields of the right type are read", "[base]") {
  const auto json = document();
  const JsonReader reader(json, "config: $");
  CHECK(reader.string("text").value() == "three");
  CHECK(reader.integer("whole", 1, 3).value() == 3);
  CHECK(reader.integer("min", lowest, highest).value() == lowest);
  CHECK(reader.number("real", 0, 10).value() == 2.5);
  CHECK(reader.number("whole", 3, 3).value() == 3.0);
  CHECK(reader.boolean("yes").value());
  CHECK(reader.strings("list").value() == std::vector<std::string>{"a", "b"});
  CHECK(reader.child("object").value().child("odd key").value().integer("x", 0, 1).value() == 1);
  CHECK(reader.choice_or("text", {"two", "three"}, "two").value() == "three");
}

TEST_CASE("a complaint says where, what was found and what was expected", "[base]") {
  const auto json = document();
  const JsonReader reader(json, "config: $");
  CHECK(message(reader.integer("text", 1, 1000)) ==
        "config: $.text: found \"three\", expected an integer from 1 to 1000");
  CHECK(message(reader.integer("whole", 4, highest)) == "config: $.whole: found 3, expected an integer of at least 4");
  CHECK(message(reader.integer("whole", lowest, 2)) == "config: $.whole: found 3, expected an integer of at most 2");
  CHECK(message(reader.integer("real", lowest, highest)) == "config: $.real: found 2.5, expected an integer");
  CHECK(message(reader.integer("huge", lowest, highest)) ==
        "config: $.huge: found 18446744073709551615, expected an integer");
  CHECK(message(reader.number("real", 3, 4)) == "config: $.real: found 2.5, expected a number from 3 to 4");
  CHECK(message(reader.string("none")) == "config: $.none: found null, expected a string");
  CHECK(message(reader.string("list")) == "config: $.list: found an array of 2, expected a string");
  CHECK(message(reader.boolean("object")) == "config: $.object: found an object, expected true or false");
  CHECK(message(reader.strings("text")) == "config: $.text: found \"three\", expected an array of strings");
  CHECK(message(reader.strings("mixed")) == "config: $.mixed[1]: found 1, expected a string");
  CHECK(message(reader.string("nowhere")) == "config: $.nowhere: missing");
  CHECK(message(reader.child("object").value().child("odd key").value().string("x")) ==
        "config: $.object[\"odd key\"].x: found 1, expected a string");
  CHECK(message(reader.choice_or("text", {"two", "threee"}, "two")) ==
        "config: $.text: found \"three\", expected one of two, threee (did you mean threee?)");
  CHECK(message(JsonReader(json.at("whole"), "x").string("y")) == "x: found 3, expected an object");
}

TEST_CASE("a long value is cut, but not inside a character", "[base]") {
  const auto json = document();
  const auto text = message(JsonReader(json, "$").boolean("long"));
  CHECK(text.size() < 130);
  CHECK(parse_json(dump_json(nlohmann::json(text))).value().get<std::string>() == text);  // still UTF-8
  CHECK(text.find("\xEF\xBF\xBD") == std::string::npos);
}

TEST_CASE("a default counts only when the key is absent", "[base]") {
  const auto json = document();
  const JsonReader reader(json, "$");
  CHECK(reader.string_or("nowhere", "x").value() == "x");
  CHECK(reader.integer_or("nowhere", 1, 2, 99).value() == 99);
  CHECK(reader.number_or("nowhere", 1, 2, 0.5).value() == 0.5);
  CHECK(reader.boolean_or("nowhere", true).value());
  CHECK(reader.strings_or_empty("nowhere").value().empty());
  CHECK(reader.choice_or("nowhere", {"a"}, "a").value() == "a");
  CHECK(message(reader.string_or("none", "x")) == "$.none: found null, expected a string");
  CHECK(message(reader.integer_or("none", 1, 2, 1)) == "$.none: found null, expected an integer from 1 to 2");
  CHECK(message(JsonReader(json.at("list"), "$.list").string_or("a", "x")) ==
        "$.list: found an array of 2, expected an object");
}

TEST_CASE("unknown keys are named, with what was probably meant", "[base]") {
  const auto json = parse_json(R"({"repeat":3})").value();
  const JsonReader reader(json, "$.scenarios.create");
  CHECK(reader.only({"repeat", "store"}));
  const auto status = reader.only({"repeats", "store"});
  REQUIRE_FALSE(status);
  CHECK(status.error().message ==
        "$.scenarios.create.repeat: unknown key, did you mean repeats?; allowed here: repeats, store");
  CHECK_FALSE(JsonReader(json.at("repeat"), "$").only({"repeats"}));
}

TEST_CASE("numbers that JSON can't hold are no numbers", "[base]") {
  const nlohmann::json json{{"x", std::nan("")}, {"y", HUGE_VAL}};
  const JsonReader reader(json, "$");
  CHECK_FALSE(reader.number("x", -1e308, 1e308));
  CHECK_FALSE(reader.number("y", -1e308, HUGE_VAL));
}

TEST_CASE("members and elements carry their own path", "[base]") {
  const auto json = document();
  const JsonReader reader(json, "$");
  const auto elements = reader.child("list").value().elements();
  REQUIRE(elements.size() == 2);
  CHECK(elements[1].path() == "$.list[1]");
  const auto members = reader.child("object").value().members();
  REQUIRE(members.size() == 1);
  CHECK(members[0].first == "odd key");
  CHECK(members[0].second.path() == "$.object[\"odd key\"]");
  CHECK(reader.child("text").value().members().empty());
  CHECK(reader.child("text").value().elements().empty());
}
