#include "gate/measure/answers.hpp"

#include "tests/support/catch.hpp"

using namespace nightgate::measure;

TEST_CASE("answers are compared by what they say, not by how it is written", "[measure]") {
  CHECK(answer_hash(200, R"({"a": 1, "b": [1, 2]})", {}) == answer_hash(200, R"({ "b":[1,2],"a":1 })", {}));
  CHECK(answer_hash(200, R"({"a": 1})", {}) != answer_hash(200, R"({"a": 2})", {}));
  CHECK(answer_hash(200, R"([1, 2])", {}) != answer_hash(200, R"([2, 1])", {}));
  CHECK(answer_hash(200, "{}", {}) != answer_hash(201, "{}", {}));
  CHECK(answer_hash(200, "plain", {}) != answer_hash(200, "other", {}));
}

TEST_CASE("ignored pointers don't count, and only they", "[measure]") {
  const std::string one = R"({"time": 1, "rows": [{"id": "x", "at": 5}, {"id": "y", "at": 6}], "a/b": 1})";
  const std::string two = R"({"time": 2, "rows": [{"id": "x", "at": 7}, {"id": "y", "at": 8}], "a/b": 1})";
  CHECK(answer_hash(200, one, {"/time", "/rows/*/at"}) == answer_hash(200, two, {"/time", "/rows/*/at"}));
  CHECK(answer_hash(200, one, {"/time"}) != answer_hash(200, two, {"/time"}));
  CHECK(answer_hash(200, one, {"/time", "/rows/0/at"}) != answer_hash(200, two, {"/time", "/rows/0/at"}));
  CHECK(answer_hash(200, R"({"a/b": 1})", {"/a~1b"}) == answer_hash(200, R"({"a/b": 2})", {"/a~1b"}));
  CHECK(answer_hash(200, one, {"/no/such", "nonsense", ""}) == answer_hash(200, one, {}));
}

TEST_CASE("an answer that holds nothing can't tell two programs apart", "[measure]") {
  for (const auto* body : {"", " \n", "[]", "{}", "null", "\"\"", R"({"time": 5})"}) {
    INFO(body);
    CHECK(says_nothing(body, {"/time"}));
  }
  for (const auto* body : {"0", "false", "[0]", R"({"time": 5, "a": null})", "text"}) {
    INFO(body);
    CHECK_FALSE(says_nothing(body, {"/time"}));
  }
}
