#include "store/medians.hpp"

#include <cmath>

#include "store/names.hpp"
#include "store/postgres_connection.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

TEST_CASE("medians of odd, even and no values", "[store]") {
  CHECK(store::median_of({3, 1, 2}) == 2);
  CHECK(store::median_of({4, 1, 3, 2}) == 2.5);
  CHECK(store::median_of({1.7e308, 1.7e308}) == 1.7e308);  // the mean does not overflow
  CHECK(std::isnan(store::median_of({})));
}

TEST_CASE("voided repeats take no part in a median", "[store]") {
  std::vector<store::Repeat> repeats(3);
  repeats[0].samples = {{"rate", 10}};
  repeats[1].samples = {{"rate", 99}};
  repeats[1].voided = true;
  repeats[2].samples = {{"rate", 20}, {"p99", 1}};
  const auto out = store::medians_of(repeats);
  CHECK(out.at("rate").median == 15);
  CHECK(out.at("rate").high == 20);
  CHECK(out.at("p99").repeats == 1);
}

TEST_CASE("text becomes valid UTF-8 without changing what is valid", "[store]") {
  const std::string good = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
  CHECK(store::clean_utf8(good) == good);
  CHECK(store::clean_utf8("\xC0\xAF") == "\xEF\xBF\xBD\xEF\xBF\xBD");    // overlong
  CHECK(store::clean_utf8("\xED\xA0\x80").size() == 9);                  // a surrogate
  CHECK(store::clean_utf8("\xF4\x90\x80\x80").size() == 12);             // beyond U+10FFFF
  CHECK(store::clean_utf8("x\xE2\x82") == "x\xEF\xBF\xBD\xEF\xBF\xBD");  // cut off
  CHECK(store::clean_utf8(std::string_view("a\0b", 3)) ==
        "a\xEF\xBF\xBD"
        "b");
}

TEST_CASE("what kind of failure a SQLSTATE is", "[store]") {
  for (const char* state : {"", "08006", "57P01", "57014", "53300", "53100", "40001", "40P01", "25006", "55P03"}) {
    INFO(state);
    CHECK(store::code_of_sqlstate(state) == Code::away);
  }
  CHECK(store::code_of_sqlstate("28P01") == Code::denied);
  CHECK(store::code_of_sqlstate("42501") == Code::denied);
  CHECK(store::code_of_sqlstate("42P01") == Code::usage);
  CHECK(store::code_of_sqlstate("23503") == Code::not_found);
  CHECK(store::code_of_sqlstate("22P02") == Code::bad_data);
  CHECK(store::code_of_sqlstate("42601") == Code::internal);
}

TEST_CASE("names of stored values come back as they went", "[store]") {
  for (const auto name : store::Names<store::NightState>::all) {
    CHECK(store::name_of(store::value_of<store::NightState>(name)) == name);
  }
  for (const auto name : store::Names<search::Phase>::all) {
    CHECK(store::name_of(store::value_of<search::Phase>(name)) == name);
  }
  CHECK(store::value_of<store::Role>("probe") == store::Role::probe);
}
