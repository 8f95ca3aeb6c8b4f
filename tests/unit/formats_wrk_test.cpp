#include "gate/formats/wrk.hpp"

#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::formats;
using nightgate::test::Contains;

namespace {
const std::string kLine =
    R"(nightgate-wrk/1 {"requests":4000,"duration_us":2000000,"bytes":99,"errors":{"connect":0,"read":0,"write":0,"status":0,"timeout":0},)"
    R"("latency_us":{"p50":10,"p75":11,"p90":12,"p95":13,"p99":14,"p999":15,"max":16,"mean":10.5,"stdev":1.25},)"
    R"("counted":true,"statuses":{"200":4000},"unexpected":0})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}
}  // namespace

TEST_CASE("wrk: the hook's line is read as numbers, the last one counts", "[formats]") {
  const auto result = parse_wrk("Running 2s test\nnightgate-wrk/1 {\"old\":1}\nuser text\n" + kLine + "\nmore\n");
  REQUIRE(result.has_value());
  CHECK(result->rate() == 2000);
  CHECK(result->p99 == 14);
  CHECK(result->mean == 10.5);
  CHECK(result->statuses.at(200) == 4000);
  CHECK_FALSE(wrk_complaint(*result).has_value());
  const auto readings = wrk_readings(*result);
  REQUIRE(readings.size() == 5);
  CHECK(readings[0] == Reading{"rate", 2000, "requests/s", Better::higher});
  CHECK(readings[3] == Reading{"p99", 14, "us", Better::lower});
}

TEST_CASE("wrk: what is no result is refused", "[formats]") {
  CHECK_THAT(parse_wrk("").error().message, Contains("no result"));
  CHECK_THAT(parse_wrk("unable to connect\nx nightgate-wrk/1 {}").error().message, Contains("no result"));
  CHECK_FALSE(parse_wrk(kLine.substr(0, kLine.size() - 9)).has_value());  // cut off
  for (const auto* number : {"-1", "1e99", "\"4000\"", "null", "1.5"}) {
    INFO(number);
    CHECK_FALSE(parse_wrk(with(kLine, "4000", number)).has_value());
  }
  CHECK_FALSE(parse_wrk(with(kLine, "\"200\"", "\"2x\"")).has_value());
  CHECK_THAT(parse_wrk(with(kLine, "{\"req", "{\"fault\":\"a.lua:1: bad\\u001b\",\"req")).error().message,
             Contains("a.lua:1: bad"));
}

TEST_CASE("wrk: a run over errors is not a rate", "[formats]") {
  CHECK_THAT(*wrk_complaint(*parse_wrk(with(kLine, "\"unexpected\":0", "\"unexpected\":3"))), Contains("3 of 4000"));
  CHECK_THAT(*wrk_complaint(*parse_wrk(with(kLine, "\"read\":0", "\"read\":2"))), Contains("2 read"));
  CHECK_THAT(*wrk_complaint(*parse_wrk(with(kLine, "\"timeout\":0", "\"timeout\":2"))), Contains("2 timeout"));
  CHECK(wrk_complaint(*parse_wrk(with(kLine, "\"requests\":4000", "\"requests\":0"))).has_value());
}

TEST_CASE("wrk: options reach the script as Lua literals that cannot be left", "[formats]") {
  const auto script = wrk_script({.script = "a\"]]\n\\b.lua", .expect = {200, 409}, .count_statuses = false});
  CHECK_THAT(script, Contains("count = false") && Contains("{200, 200}, {409, 409}") &&
                         Contains("script = \"a\\034\\093\\093\\010\\092b.lua\""));
  CHECK_THAT(wrk_script({}), Contains("{200, 299}"));
}
