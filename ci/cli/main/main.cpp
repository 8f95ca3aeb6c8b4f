#include <cstdio>

#include "ci/cli/cli.hpp"

int main(int argc, char** argv) {
  const int code = nightgate::cli::run(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("nightgate: what was to be printed could not be written (a full disk?)\n", stderr);
  return code == 0 ? 3 : code;
}
