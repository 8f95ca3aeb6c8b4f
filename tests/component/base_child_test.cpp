// Long-lived children, and what is told about processes from outside.
#include <unistd.h>

#include <csignal>
#include <thread>

#include "gate/base/files.hpp"
#include "gate/base/process.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace std::chrono_literals;

namespace {

Command shell(std::string script) { return {.argv = {"sh", "-c", std::move(script)}}; }

bool runs(pid_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return stat && (*stat)[stat->rfind(')') + 2] != 'Z';
}

// Waits until the log holds this line; false after ten seconds.
bool wait_for(const fs::path& log, std::string_view line) {
  for (int i = 0; i < 1000; ++i) {
    if (read_file(log).value_or("").find(line) != std::string::npos) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

pid_t pid_in(const fs::path& log) { return std::stoi(tail_of(log, 1)); }

}  // namespace

TEST_CASE("a child runs until it is stopped, with all its group", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto log = dir.path() / "log";
  auto child = Child::start(shell("sleep 100 & echo up; echo $!; wait"), log).value();
  REQUIRE(wait_for(log, "up\n"));
  REQUIRE(wait_for(log, "\n"));
  CHECK(child.running());
  CHECK_FALSE(child.ending());
  CHECK(child.log_file() == log);
  std::this_thread::sleep_for(50ms);
  const pid_t grandchild = pid_in(log);
  CHECK(runs(grandchild));
  child.stop();
  CHECK_FALSE(child.running());
  REQUIRE(child.ending());
  CHECK(ending_text(*child.ending()) == "killed by signal 15 (Terminated)");
  CHECK_FALSE(runs(grandchild));
  child.stop();  // again: nothing happens
}

TEST_CASE("who does not listen to SIGTERM is killed after the grace", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto log = dir.path() / "log";
  auto child = Child::start(shell("trap '' TERM; echo up; while :; do sleep 0.05; done"), log).value();
  REQUIRE(wait_for(log, "up\n"));
  child.stop(100ms);
  CHECK(ending_text(child.ending().value()) == "killed by signal 9 (Killed)");
}

TEST_CASE("who was stopped (SIGSTOP) ends too", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto log = dir.path() / "log";
  auto child = Child::start(shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"), log).value();
  REQUIRE(wait_for(log, "up\n"));
  ::kill(-child.pid(), SIGSTOP);
  child.stop(10s);
  CHECK(ending_text(child.ending().value()) == "exit code 0");
  CHECK(tail_of(log, 1) == "bye");
}

TEST_CASE("when the leader ends by itself that is seen, and the rest goes", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto log = dir.path() / "log";
  auto child = Child::start(shell("sleep 100 & echo $!; exit 7"), log).value();
  for (int i = 0; i < 1000 && child.running(); ++i) std::this_thread::sleep_for(10ms);
  REQUIRE(child.ending());
  CHECK(ending_text(*child.ending()) == "exit code 7");
  CHECK_FALSE(runs(pid_in(log)));
}

TEST_CASE("destroying and overwriting a child ends it; moving does not", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto log = dir.path() / "log";
  pid_t first = 0;
  pid_t second = 0;
  {
    auto one = Child::start({.argv = {"sleep", "100"}}, log).value();
    auto two = Child::start({.argv = {"sleep", "100"}}, log).value();
    first = one.pid();
    second = two.pid();
    auto moved = std::move(one);
    CHECK(moved.pid() == first);
    CHECK(moved.running());
    moved = std::move(two);
    CHECK_FALSE(runs(first));
    CHECK(moved.pid() == second);
    CHECK(moved.running());
  }
  CHECK_FALSE(runs(second));
}

TEST_CASE("output is appended to the log", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto log = dir.path() / "log";
  for (const std::string text : {"one", "two"}) {
    auto command = shell("cat; echo e >&2");
    command.input = text;
    auto child = Child::start(command, log).value();
    for (int i = 0; i < 1000 && child.running(); ++i) std::this_thread::sleep_for(10ms);
  }
  CHECK(read_file(log).value() == "onee\ntwoe\n");
  CHECK(Child::start({.argv = {"true"}}, dir.path() / "absent/log").error().code == Code::io);
  CHECK(Child::start({.argv = {"/no/such"}}, log).error().code == Code::not_found);
}

TEST_CASE("the start time tells one process from another", "[base]") {
  const auto ours = process_start_ticks(::getpid());
  REQUIRE(ours);
  CHECK(process_start_ticks(::getpid()) == ours);
  const auto dir = TempDir::make("ng-test").value();
  pid_t gone = 0;
  {
    auto child = Child::start({.argv = {"sleep", "100"}}, dir.path() / "log").value();
    gone = child.pid();
    CHECK(process_start_ticks(gone).value() >= *ours);
  }
  CHECK_FALSE(process_start_ticks(gone));
  // A name with spaces and parentheses does not confuse it.
  fs::copy_file(find_program("sleep").value(), dir.path() / "a) 1 (b c");
  auto child = Child::start({.argv = {dir.path() / "a) 1 (b c", "100"}}, dir.path() / "log").value();
  CHECK(process_start_ticks(child.pid()).value() >= *ours);
}

TEST_CASE("programs are found in PATH", "[base]") {
  CHECK(fs::exists(find_program("sh").value()));
  CHECK(find_program("/bin/sh") == fs::path("/bin/sh"));
  CHECK_FALSE(find_program("no-such-program-here"));
  CHECK_FALSE(find_program(""));
  CHECK_FALSE(find_program("/etc/passwd"));
  CHECK_FALSE(find_program("/usr/bin"));
}

TEST_CASE("the tail of a file is its last lines", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = dir.path() / "f";
  CHECK(tail_of(path).empty());
  REQUIRE(write_file(path, "a\nb\nc\n"));
  CHECK(tail_of(path, 2) == "b\nc");
  CHECK(tail_of(path, 3) == "a\nb\nc");
  CHECK(tail_of(path, 9) == "a\nb\nc");
  CHECK(tail_of(path, 0).empty());
  REQUIRE(write_file(path, std::string(1'000'000, 'x') + "\nlast"));
  CHECK(tail_of(path, 1) == "last");
  CHECK(tail_of(path, 2).size() <= 8192);
  CHECK(tail_of(dir.path()).empty());
}
