#include "gate/targets/history_refs.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::targets;

TEST_CASE("tags that look like versions", "[targets]") {
  using history::read_version;
  for (const char* tag : {"v1.2", "1.2.3", "server-2.0.1", "release/1.0", "v1.2+build5"}) {
    INFO(tag);
    REQUIRE(read_version(tag));
    CHECK_FALSE(read_version(tag)->pre);
  }
  CHECK(read_version("v1.2.0-rc1")->pre);
  CHECK(read_version("v1.10")->numbers > read_version("v1.9.3")->numbers);
  for (const char* tag : {"nightly", "v2", "foo1.2", "2023"}) {
    INFO(tag);
    CHECK_FALSE(read_version(tag));
  }
}

TEST_CASE("days and RFC 3339 times are dates, shas are not", "[targets]") {
  using history::read_date;
  CHECK(to_rfc3339(*read_date("2023-11-14")) == "2023-11-14T23:59:59.999999Z");
  CHECK(to_rfc3339(*read_date("2023-11-14T10:00:00+02:00")) == "2023-11-14T08:00:00Z");
  for (const char* text : {"20231114", "2023-13-41", "abcdef0123", "2023-11-14x", ""}) CHECK_FALSE(read_date(text));
}
