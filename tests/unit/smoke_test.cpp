#include "tests/support/catch.hpp"
TEST_CASE("the test program runs") { REQUIRE(1 + 1 == 2); }
