// Every ready config loads as it stands.
#include <set>

#include "config/config.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

TEST_CASE("the ready configs load", "[config]") {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(NIGHTGATE_SOURCE_DIR) / "config" / "ready")) {
    if (entry.path().extension() != ".jsonc") continue;
    INFO(entry.path());
    const auto loaded = config::load(entry.path());
    INFO((loaded ? "" : loaded.error().text()));
    REQUIRE(loaded);
    CHECK(names.insert(loaded->project).second);
    CHECK_FALSE(loaded->scenarios.empty());
  }
  CHECK(names.size() == 5);
}
