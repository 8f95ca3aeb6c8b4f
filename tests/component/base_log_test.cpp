// The log writes to stderr, so each of these runs in a child whose stderr is a file.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

#include "gate/base/files.hpp"
#include "gate/base/log.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

namespace {

std::string stderr_of(const std::function<void()>& body) {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "stderr";
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(fd, STDERR_FILENO);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  REQUIRE(status == 0);
  return read_file(path).value();
}

}  // namespace

TEST_CASE("one event is one line, whatever is in it", "[base]") {
  ::unsetenv("JOURNAL_STREAM");
  CHECK(stderr_of([] { log::info("a\nb\r\nc\x1b[31m"); }) == "a b  c [31m\n");
}

TEST_CASE("lines above the level are dropped", "[base]") {
  CHECK(stderr_of([] {
          log::debug("no");
          log::info("yes");
          log::set_level(log::Level::error);
          log::warning("no");
          log::error("yes");
        }) == "yes\nyes\n");
}

TEST_CASE("in the journal each line carries its priority, elsewhere none does", "[base]") {
  const auto names = [](int fd, const char* device, ino_t off) {
    struct stat info {};
    ::fstat(fd, &info);
    const auto own = std::to_string(info.st_dev);
    ::setenv("JOURNAL_STREAM", ((*device == '\0' ? own : device) + (":" + std::to_string(info.st_ino + off))).c_str(),
             1);
  };
  const auto speak = [] {
    log::error("e");
    log::warning("w");
    log::info("i");
  };
  CHECK(stderr_of([&] { names(STDERR_FILENO, "", 0), speak(); }) == "<3>e\n<4>w\n<6>i\n");
  // The variable is inherited by everything a unit starts, also by what writes into a file.
  CHECK(stderr_of([&] { names(STDERR_FILENO, "", 1), speak(); }) == "e\nw\ni\n");
  CHECK(stderr_of([&] { names(STDERR_FILENO, "0", 0), speak(); }) == "e\nw\ni\n");
  for (const char* odd : {"", "8", "8:", "8:1x", ":", "-1:-1"}) {
    CHECK(stderr_of([&] { ::setenv("JOURNAL_STREAM", odd, 1), speak(); }) == "e\nw\ni\n");
  }
}

TEST_CASE("a registered secret appears in no line", "[base]") {
  CHECK(stderr_of([] {
          log::hide("hunter");
          log::hide("hunter-two");  // holds the shorter one
          log::hide("abc");         // too short to be one
          log::hide("two\nlines");
          log::info("x=hunter y=hunter-two z=hunterhunter abc two\nlines");
        }) == "x=*** y=*** z=****** abc ***\n");
}

TEST_CASE("redacting ends, also for secrets made of stars", "[base]") {
  CHECK(stderr_of([] {
          log::hide("****");
          log::info("a********b");
        }) == "a******b\n");
}

TEST_CASE("lines of several threads are not mixed", "[base]") {
  const auto text = stderr_of([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) log::info(std::string(100, static_cast<char>('a' + t)));
      });
    }
    for (auto& thread : threads) thread.join();
  });
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += 101, ++lines) {
    REQUIRE(text.substr(begin, 101) == std::string(100, text[begin]) + "\n");
  }
  CHECK(lines == 800);
}
