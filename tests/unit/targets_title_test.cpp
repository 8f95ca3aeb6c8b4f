#include "gate/targets/commit_title.hpp"
#include "gate/targets/history_refs.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::targets;

TEST_CASE("pull request numbers and titles from the usual forms", "[targets]") {
  struct Case {
    std::string message, title;
    int pr;
  };
  const std::vector<Case> cases = {
      {"Make creates faster (#123)\n\nbody (#9)", "Make creates faster", 123},
      {"Merge pull request #45 from someone/topic\n\nRead less\n\nmore", "Read less", 45},
      {"Merge pull request #45 from someone/topic", "Merge pull request #45 from someone/topic", 45},
      {"Merged PR 77: Cache it", "Cache it", 77},
      {"Merge branch 'x' into 'main'\n\nTidy up\n\nSee merge request group/project!8", "Tidy up", 8},
      {"Merge branch 'x' into 'main'\n\nSee merge request group/project!8", "Merge branch 'x' into 'main'", 8},
      {"Merged in topic (pull request #6)\n\nA title", "A title", 6},
      {"Plain commit", "Plain commit", 0},
      {"Fix issue (#x)", "Fix issue (#x)", 0},
      {"Fix (#12) again", "Fix (#12) again", 0},
      {"Huge (#99999999999999999999)", "Huge (#99999999999999999999)", 0},
      {"", "", 0},
  };
  for (const auto& [message, title, pr] : cases) {
    INFO(message);
    const auto found = read_commit_title(message);
    CHECK(found.title == title);
    CHECK(found.pr.value_or(0) == pr);
  }
}

TEST_CASE("reverts name what they revert", "[targets]") {
  const std::string sha(40, 'a');
  CHECK(read_commit_title("Revert \"x\"\n\nThis reverts commit " + sha + ".").reverts == sha);
  CHECK(read_commit_title("Revert \"x\"\n\nThis reverts commit of last week").reverts.empty());
}

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
