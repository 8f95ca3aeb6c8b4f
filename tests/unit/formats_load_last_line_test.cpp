#include "gate/formats/load.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate::formats;

TEST_CASE("only the last line may be the result: what comes after it is not overlooked", "[formats]") {
  CHECK(parse_metric_json("warming up\n{\"ops\": 1000}\n\n"));
  CHECK_FALSE(parse_metric_json("{\"ops\": 1000}\nERROR: 99 % of requests failed\n"));
  CHECK_FALSE(parse_metric_json("{\"ops\": 1000} trailing\n"));
}
