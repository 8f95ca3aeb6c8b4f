#include "tests/support/skip.hpp"

#include <cstdio>
#include <cstdlib>

namespace nightgate::test {
void note_skip(const std::string& test, const std::string& reason) {
  std::fprintf(stderr, "SKIPPED %s: %s\n", test.c_str(), reason.c_str());
  if (const char* path = std::getenv("NIGHTGATE_SKIP_LOG")) {
    if (std::FILE* log = std::fopen(path, "ae")) {
      std::fprintf(log, "%s\t%s\n", test.c_str(), reason.c_str());
      std::fclose(log);
    }
  }
}
}  // namespace nightgate::test
