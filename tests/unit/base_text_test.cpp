// The small pure helpers: CPU lists, endings, paths, hashes, uuids, percent-encoding, results.
#include <set>

#include "gate/base/files.hpp"
#include "gate/base/http.hpp"
#include "gate/base/process.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

TEST_CASE("CPU lists make the round trip", "[base]") {
  CHECK(parse_cpus("0-3,8").value() == CpuSet{0, 1, 2, 3, 8});
  CHECK(parse_cpus("5").value() == CpuSet{5});
  CHECK(parse_cpus("8,0-1,1").value() == CpuSet{0, 1, 8});
  CHECK(format_cpus({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(format_cpus({8, 2, 1, 1}) == "1-2,8");
  CHECK(format_cpus({}).empty());
  const std::string bad = GENERATE("", ",", "1,", ",1", "a", "1-", "-1", "3-1", "1--2", "0-3:2", " 1", "1 ", "4096",
                                   "0-99999999999", "1-2-3", "0x1");
  INFO(bad);
  const auto parsed = parse_cpus(bad);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Code::bad_data);
}

TEST_CASE("endings are said in words", "[base]") {
  CHECK(ending_text(Exited{1}) == "exit code 1");
  CHECK(ending_text(Signalled{9}) == "killed by signal 9 (Killed)");
  CHECK(ending_text(TimedOut{}) == "did not end in time and was killed");
}

TEST_CASE("a path below stays below", "[base]") {
  CHECK(join_below("/r", "a/b").value() == "/r/a/b");
  CHECK(join_below("/r", "a/../b").value() == "/r/b");
  CHECK(join_below("/r", "").value() == "/r");
  CHECK(join_below("/r", "a/..").value() == "/r");
  CHECK(join_below("/r", "..a").value() == "/r/..a");
  CHECK_FALSE(join_below("/r", std::string_view("a\0b", 3)));
  const std::string bad = GENERATE("..", "../a", "a/../..", "a/../../r", "/etc/passwd", "./../a");
  INFO(bad);
  const auto joined = join_below("/r", bad);
  REQUIRE_FALSE(joined);
  CHECK(joined.error().code == Code::bad_data);
}

TEST_CASE("SHA-256 gives the values of FIPS 180-4", "[base]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("uuids are version 4 and differ", "[base]") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto uuid = make_uuid();
    REQUIRE(uuid.size() == 36);
    for (std::size_t at = 0; at < uuid.size(); ++at) {
      const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
      REQUIRE((dash ? uuid[at] == '-' : std::string_view("0123456789abcdef").find(uuid[at]) != std::string_view::npos));
    }
    REQUIRE(uuid[14] == '4');
    REQUIRE(std::string_view("89ab").find(uuid[19]) != std::string_view::npos);
    seen.insert(uuid);
  }
  CHECK(seen.size() == 1000);
}

TEST_CASE("percent-encoding keeps only the unreserved characters", "[base]") {
  CHECK(url_encode("aZ09-._~") == "aZ09-._~");
  CHECK(url_encode("a b/c?d=e&f+g%") == "a%20b%2Fc%3Fd%3De%26f%2Bg%25");
  CHECK(url_encode("ü\n") == "%C3%BC%0A");
}

TEST_CASE("an error carries what was being done, innermost first", "[base]") {
  const auto inner = [] { return Status(fail(Code::io, "disk full")); };
  const auto outer = [&]() -> Status {
    if (auto status = inner(); !status) return with_context(status.error(), "writing x");
    return {};
  };
  auto error = with_context(outer().error(), "starting y").value();
  CHECK(error.text() == "disk full (while writing x, while starting y)");
  CHECK(error.code == Code::io);
}

TEST_CASE("every kind of error has its exit code", "[base]") {
  CHECK(exit_code(Code::usage) == 2);
  CHECK(exit_code(Code::not_found) == 2);
  CHECK(exit_code(Code::bad_data) == 2);
  CHECK(exit_code(Code::measure) == 3);
  CHECK(exit_code(Code::busy) == 3);
  CHECK(exit_code(Code::away) == 3);
  CHECK(exit_code(Code::denied) == 3);
  CHECK(exit_code(Code::io) == 3);
  CHECK(exit_code(Code::no_verdict) == 4);
  CHECK(exit_code(Code::internal) == 5);
}
