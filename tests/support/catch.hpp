// Catch2 in version 2 (Debian 12, Ubuntu 22.04) or 3 (Debian 13, Ubuntu 24.04); tests use only what both have.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include "tests/support/skip.hpp"

// The substring matcher: Contains in version 2, ContainsSubstring in version 3.
namespace nightgate::test {
#if __has_include(<catch2/catch_all.hpp>)
inline auto Contains(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
#else
inline auto Contains(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif
}  // namespace nightgate::test
