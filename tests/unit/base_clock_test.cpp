#include "gate/base/clock.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

TEST_CASE("a time is written and read back exactly", "[base]") {
  const auto text = GENERATE("2026-11-30T16:38:36Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:59.5Z",
                             "2024-02-29T00:00:00.000001Z", "9999-12-31T23:59:59.999999Z", "0000-01-01T00:00:00Z");
  const auto parsed = parse_rfc3339(text);
  REQUIRE(parsed);
  CHECK(to_rfc3339(*parsed) == text);
}

TEST_CASE("every form that RFC 3339 allows is read", "[base]") {
  struct Case {
    std::string text, expected;
  };
  const auto c = GENERATE(values<Case>({
      {"2026-11-30T16:38:36+01:00", "2026-11-30T15:38:36Z"},
      {"2026-11-30T00:38:36+05:45", "2026-11-29T18:53:36Z"},
      {"2026-12-31T23:38:36-00:30", "2027-01-01T00:08:36Z"},
      {"2026-11-30T16:38:36-00:00", "2026-11-30T16:38:36Z"},
      {"2026-11-30t16:38:36z", "2026-11-30T16:38:36Z"},
      {"2026-11-30T16:38:36.50Z", "2026-11-30T16:38:36.5Z"},
      {"2026-11-30T16:38:36.123456789Z", "2026-11-30T16:38:36.123456Z"},  // container engines write nanoseconds
      {"2026-11-30T16:38:36.9999999+00:00", "2026-11-30T16:38:36.999999Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},  // a leap second
  }));
  INFO(c.text);
  const auto parsed = parse_rfc3339(c.text);
  REQUIRE(parsed);
  CHECK(to_rfc3339(*parsed) == c.expected);
}

TEST_CASE("what is not RFC 3339 is refused and named", "[base]") {
  const std::string text = GENERATE(
      "", "Z", "2026-11-30", "2026-11-30T16:38:36", "2026-11-30 16:38:36Z", "2026-11-30T16:38:36 Z",
      "2026-11-30T16:38:36ZZ", "2026-11-30T16:38:36Z\n", " 2026-11-30T16:38:36Z", "2026-11-30T16:38Z",
      "2026-1-30T16:38:36Z", "+026-11-30T16:38:36Z", "2026-11-30T1:38:36Z", "2026-11-30T16:38:-6Z",
      "2026-11-30T24:00:00Z", "2026-11-30T16:60:00Z", "2026-11-30T16:38:61Z", "2026-13-01T00:00:00Z",
      "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-30T16:38:36.Z",
      "2026-11-30T16:38:36,5Z", "2026-11-30T16:38:36+0100", "2026-11-30T16:38:36+01", "2026-11-30T16:38:36+1:00",
      "2026-11-30T16:38:36+24:00", "2026-11-30T16:38:36+01:60", "2026-11-30T16:38:36+01:00Z", "now");
  INFO(text);
  const auto parsed = parse_rfc3339(text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Code::bad_data);
  CHECK(parsed.error().message.find("'" + text + "'") != std::string::npos);
}

TEST_CASE("every minute of some days makes the round trip, with every offset", "[base]") {
  const auto start = parse_rfc3339("2024-02-28T00:00:00Z").value();
  for (int minute = 0; minute < 3 * 24 * 60; ++minute) {
    const Instant instant = start + std::chrono::minutes(minute) + Micros(minute);
    auto text = to_rfc3339(instant);
    REQUIRE(parse_rfc3339(text).value() == instant);
    // The same wall clock at an offset is that much earlier.
    const int hours = minute % 24;
    text.pop_back();
    text += (hours < 10 ? "+0" : "+") + std::to_string(hours) + ":30";
    REQUIRE(parse_rfc3339(text).value() == instant - std::chrono::hours(hours) - std::chrono::minutes(30));
  }
}

TEST_CASE("the monotonic clock does not go back and sleeping takes its time", "[base]") {
  auto& clock = system_clock();
  const auto before = clock.monotonic();
  clock.sleep_for(std::chrono::milliseconds(2));
  CHECK(clock.monotonic() - before >= std::chrono::milliseconds(2));
  CHECK(clock.now() > parse_rfc3339("2020-01-01T00:00:00Z").value());
}
