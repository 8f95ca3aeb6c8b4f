#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <set>
#include <thread>

#include "gate/base/files.hpp"
#include "gate/base/process.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace std::chrono_literals;

namespace {

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

unsigned mode_of(const fs::path& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777U;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a file is read whole, or refused with a reason", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "f";
  CHECK(read_file(path).error().code == Code::not_found);
  REQUIRE(write_file(path, ""));
  CHECK(read_file(path).value().empty());
  const std::string text("a\0b\n", 4);
  REQUIRE(write_file(path, text));
  CHECK(read_file(path).value() == text);
  CHECK(read_file(path, 4).value() == text);
  CHECK(read_file(path, 3).error().code == Code::bad_data);
  CHECK(read_file(dir.path()).error().code == Code::io);
  CHECK(read_file(path / "g").error().code == Code::io);
  // Files whose size the kernel gives as 0.
  CHECK(has(read_file("/proc/self/status").value(), "VmHWM"));
  CHECK(read_file("/proc/self/status", 10).error().code == Code::bad_data);
}

TEST_CASE("writing replaces the whole file and leaves nothing else", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "f";
  const auto previous = ::umask(0077);
  const auto written = write_file(path, "old", 0644);
  ::umask(previous);
  REQUIRE(written);
  CHECK(mode_of(path) == 0644);
  REQUIRE(write_file(path, "secret", 0600));
  CHECK(mode_of(path) == 0600);
  CHECK(names_in(dir.path()) == std::set<std::string>{"f"});
}

TEST_CASE("when writing fails, the old file stays and no half one is left", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  REQUIRE(make_directories(dir.path() / "taken"));
  CHECK(write_file(dir.path() / "taken", "x").error().code == Code::io);  // a directory of that name
  CHECK(names_in(dir.path()) == std::set<std::string>{"taken"});
  CHECK_FALSE(write_file(dir.path() / "absent" / "f", "x"));

  // A file size limit stands in for a full disk: the write fails half way.
  REQUIRE(write_file(dir.path() / "f", "old"));
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(write_file(dir.path() / "f", std::string(10'000, 'n')) ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  CHECK(read_file(dir.path() / "f").value() == "old");
  CHECK(names_in(dir.path()) == std::set<std::string>{"f", "taken"});
}

TEST_CASE("readers see the old or the new text, never half, even when the writer is killed", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "f";
  const std::string a(200'000, 'a');
  const std::string b(200'000, 'b');
  REQUIRE(write_file(path, a));
  for (int round = 0; round < 5; ++round) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      while (true) {
        if (!write_file(path, b) || !write_file(path, a)) ::_exit(1);
      }
    }
    bool whole = true;
    for (int i = 0; i < 50 && whole; ++i) {
      const auto text = read_file(path).value();
      whole = text == a || text == b;
    }
    ::kill(pid, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status));
    CHECK(whole);
    const auto text = read_file(path).value();
    CHECK((text == a || text == b));
  }
}

TEST_CASE("directories are made with their parents, private ones for us alone", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  REQUIRE(make_directories(dir.path() / "a/b/c"));
  REQUIRE(make_directories(dir.path() / "a/b/c"));
  REQUIRE(make_directories(dir.path() / "p/q/", true));
  CHECK(fs::is_directory(dir.path() / "a/b/c"));
  CHECK(mode_of(dir.path() / "p/q") == 0700);
  REQUIRE(write_file(dir.path() / "f", ""));
  const auto status = make_directories(dir.path() / "f/g");
  REQUIRE_FALSE(status);
  CHECK(has(status.error().message, "not a directory"));
  CHECK(make_directories("/"));
}

TEST_CASE("a temporary directory is private, unlike any other, and goes with its object", "[base]") {
  fs::path first;
  {
    auto one = TempDir::make("ng-test").value();
    auto two = TempDir::make("ng-test").value();
    first = one.path();
    CHECK(one.path() != two.path());
    CHECK(mode_of(one.path()) == 0700);
    REQUIRE(make_directories(one.path() / "a/b"));
    REQUIRE(write_file(one.path() / "a/b/f", "x"));
    const auto second = two.path();
    two = std::move(one);  // the one that is overwritten goes
    CHECK_FALSE(fs::exists(second));
    CHECK(fs::exists(first));
    const TempDir below = TempDir::make("x", first).value();
    CHECK(below.path().parent_path() == first);
  }
  CHECK_FALSE(fs::exists(first));
  CHECK_FALSE(TempDir::make("x", "/nowhere-at-all"));
}

TEST_CASE("free space is told for what exists, or for where it would be", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  CHECK(free_bytes(dir.path()).value() > 0);
  CHECK(free_bytes(dir.path() / "not/yet/there").value() > 0);
}

TEST_CASE("a lock has one holder, is named, and waits", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "lock";
  std::optional<FileLock> held(FileLock::take(path, "nightly of coraine", 0s).value());
  const auto second = FileLock::take(path, "compare", 0s);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Code::busy);
  CHECK(has(second.error().message, "process " + std::to_string(::getpid()) + " (nightly of coraine)"));

  std::atomic<bool> freed = false;
  std::thread freer([&] {
    std::this_thread::sleep_for(100ms);
    freed = true;
    held.reset();
  });
  const auto waited = FileLock::take(path, "compare", 60s);
  CHECK(freed);
  CHECK(waited);
  freer.join();
  CHECK(FileLock::take(dir.path() / "absent/lock", "x", 0s).error().code == Code::io);
}

TEST_CASE("a lock excludes another process and is free when that is killed", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "lock";
  int ready[2];
  REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto lock = FileLock::take(path, "the other", 0s);
    [[maybe_unused]] const auto n = ::write(ready[1], lock ? "y" : "n", 1);
    while (true) ::pause();
  }
  char answer = 0;
  REQUIRE(::read(ready[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  const auto refused = FileLock::take(path, "us", 0s);
  REQUIRE_FALSE(refused);
  CHECK(has(refused.error().message, "process " + std::to_string(pid) + " (the other)"));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  CHECK(FileLock::take(path, "us", 0s));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a program started while the lock is held does not keep it", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "lock";
  std::optional<FileLock> held(FileLock::take(path, "us", 0s).value());
  auto child = Child::start({.argv = {"sleep", "60"}}, dir.path() / "log").value();
  held.reset();
  CHECK(child.running());
  CHECK(FileLock::take(path, "again", 0s));
}

TEST_CASE("a lock file that was deleted meanwhile guards nothing and is not taken for one", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "lock";
  std::optional<FileLock> old(FileLock::take(path, "old", 0s).value());
  std::optional<Code> answer;
  // Waits on the old file; when that is freed it must go on to the new one, which is taken.
  std::thread waiter([&] {
    const auto lock = FileLock::take(path, "waiter", 1s);
    if (!lock) answer = lock.error().code;
  });
  std::this_thread::sleep_for(200ms);
  fs::remove(path);
  const auto fresh = FileLock::take(path, "new", 0s);
  CHECK(fresh);
  old.reset();
  waiter.join();
  CHECK(answer == Code::busy);
}

TEST_CASE("the state directory follows the environment", "[base]") {
  const auto in_environment = [](const char* state, const char* xdg) {
    state == nullptr ? ::unsetenv("STATE_DIRECTORY") : ::setenv("STATE_DIRECTORY", state, 1);
    xdg == nullptr ? ::unsetenv("XDG_STATE_HOME") : ::setenv("XDG_STATE_HOME", xdg, 1);
    auto path = default_state_directory();
    ::unsetenv("STATE_DIRECTORY");
    ::unsetenv("XDG_STATE_HOME");
    return path;
  };
  CHECK(in_environment("/var/lib/x:/var/lib/y", "/x") == "/var/lib/x");
  CHECK(in_environment(nullptr, "/x") == "/x/nightgate");
  const auto standard = in_environment(nullptr, "relative/is/ignored");
  if (::geteuid() == 0) {
    CHECK(standard == "/var/lib/nightgate");
  } else {
    CHECK(has(standard.string(), "/.local/state/nightgate"));
  }
}
