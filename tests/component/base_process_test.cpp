#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "gate/base/files.hpp"
#include "gate/base/process.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace std::chrono_literals;

namespace {

Command shell(std::string script) { return {.argv = {"sh", "-c", std::move(script)}}; }

Output must_run(const Command& command, std::chrono::milliseconds timeout = 60s, std::size_t max_output = 1U << 20U) {
  auto output = run(command, timeout, max_output);
  INFO((output ? std::string() : output.error().text()));
  REQUIRE(output);
  return std::move(*output);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Alive, and not merely a zombie that nobody waits for.
bool runs(pid_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat) return false;
  const auto state = (*stat)[stat->rfind(')') + 2];
  return state != 'Z' && state != 'X';
}

std::vector<pid_t> pids_in(const fs::path& file) {
  std::vector<pid_t> pids;
  const auto text = read_file(file).value_or("");
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) pids.push_back(std::stoi(text.substr(at)));
  return pids;
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

CpuSet our_cpus() {
  cpu_set_t set;
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  CpuSet cpus;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cpus.push_back(static_cast<int>(i));
  }
  return cpus;
}

}  // namespace

TEST_CASE("a program's output, ending and cost come back", "[base]") {
  const auto output = must_run(shell("echo out; echo err >&2; exit 3"));
  CHECK(output.out == "out\n");
  CHECK(output.err == "err\n");
  CHECK(ending_text(output.ending) == "exit code 3");
  CHECK_FALSE(output.ok());
  CHECK(output.seconds > 0);
  CHECK(must_run({.argv = {"true"}}).ok());
  const auto busy = must_run(shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
  CHECK(busy.usage.user_seconds > 0);
  CHECK(busy.usage.peak_memory_kib > 0);
  CHECK(ending_text(must_run(shell("kill -9 $$")).ending) == "killed by signal 9 (Killed)");
}

TEST_CASE("arguments reach the program as they are, without a shell", "[base]") {
  CHECK(must_run({.argv = {"printf", "%s|", "a b", "$HOME", "*", "", "\"'", ";id"}}).out == "a b|$HOME|*||\"'|;id|");
}

TEST_CASE("stdin holds the input and then ends", "[base]") {
  CHECK(must_run({.argv = {"cat"}}).out.empty());
  CHECK(must_run({.argv = {"cat"}, .input = "a\nb"}).out == "a\nb");
  const std::string large(3'000'000, 'x');
  CHECK(must_run({.argv = {"wc", "-c"}, .input = large}).out == "3000000\n");
  // A program that does not read its input is no trouble, and no SIGPIPE for us.
  CHECK(must_run({.argv = {"true"}, .input = large}).ok());
}

TEST_CASE("environment and directory are as asked", "[base]") {
  ::setenv("NG_TEST_OURS", "1", 1);
  const std::string show = "echo $NG_TEST_OURS:$NG_TEST_MORE";
  CHECK(must_run({.argv = {"sh", "-c", show}, .environment = {{"NG_TEST_MORE", "x=y"}}}).out == "1:x=y\n");
  CHECK(must_run({.argv = {"sh", "-c", show}, .environment = {{"NG_TEST_OURS", "2"}}}).out == "2:\n");
  CHECK(must_run({.argv = {"env"}, .environment = {{"A", "b"}}, .clear_environment = true}).out == "A=b\n");
  ::unsetenv("NG_TEST_OURS");
  CHECK(must_run({.argv = {"pwd"}, .directory = "/usr"}).out == "/usr\n");
  CHECK(must_run({.argv = {"./env", "pwd"}, .directory = "/usr/bin"}).out == "/usr/bin\n");  // relative to it
}

TEST_CASE("what can't be started says why", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  REQUIRE(write_file(dir.path() / "script", "#!/no/such/interpreter\n", 0755));
  REQUIRE(write_file(dir.path() / "text", "x", 0644));
  const auto error = [](const Command& command) { return run(command, 10s).error(); };
  CHECK(error({.argv = {"no-such-program-here"}}).code == Code::not_found);
  CHECK(error({.argv = {"/no/such/program"}}).code == Code::not_found);
  CHECK(has(error({.argv = {dir.path() / "script"}}).message, "interpreter"));
  CHECK(error({.argv = {dir.path() / "text"}}).code == Code::io);
  CHECK(error({.argv = {"true"}, .directory = "/no/such"}).code == Code::io);
  CHECK(error({.argv = {}}).code == Code::usage);
  CHECK(error({.argv = {"echo", std::string("a\0b", 3)}}).code == Code::usage);
  CHECK(error({.argv = {"true"}, .environment = {{"A=B", "c"}}}).code == Code::usage);
  CHECK(error({.argv = {"true"}, .cpus = {0, 4000}}).code == Code::measure);
}

TEST_CASE("a time-out kills the grandchildren too", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const std::string trap = GENERATE("", "trap '' TERM; ");  // the second one needs the SIGKILL
  const auto script =
      trap + "(sleep 100 & echo $! >> pids; sleep 100) & echo $! >> pids; echo $$ >> pids; echo up; wait";
  auto command = shell(script);
  command.directory = dir.path();
  const auto output = must_run(command, 700ms);
  CHECK(std::holds_alternative<TimedOut>(output.ending));
  CHECK(output.out == "up\n");  // what came before the end is kept
  const auto pids = pids_in(dir.path() / "pids");
  CHECK(pids.size() == 3);
  for (const pid_t pid : pids) CHECK_FALSE(runs(pid));
}

TEST_CASE("at a time-out the program is asked first and may tidy up", "[base]") {
  const auto output = must_run(shell("trap 'echo tidy; exit 0' TERM; echo up; while :; do sleep 0.05; done"), 500ms);
  CHECK(std::holds_alternative<TimedOut>(output.ending));
  CHECK(output.out == "up\ntidy\n");
}

TEST_CASE("what a program leaves behind does not hold us up and is killed", "[base]") {
  const auto output = must_run(shell("sleep 100 & echo $!"));
  CHECK(output.ok());
  CHECK(output.seconds < 50);
  CHECK_FALSE(runs(std::stoi(output.out)));
}

TEST_CASE("somebody with a session of his own gets away, but does not hold us up", "[base]") {
  const auto output = must_run(shell("setsid sleep 100 & echo $!"));
  CHECK(output.ok());
  CHECK(output.seconds < 50);
  // setsid(1) started in the background is no group leader, so it keeps its number.
  const pid_t pid = std::stoi(output.out);
  ::kill(pid, SIGKILL);
}

TEST_CASE("output is capped: head and tail stay, and what was cut is said", "[base]") {
  const auto output = must_run(shell("seq 1 200000; echo the end; seq 1 5 >&2"), 60s, 1000);
  CHECK(output.ok());
  CHECK(output.out.size() < 1100);
  CHECK(output.out.starts_with("1\n2\n3\n"));
  CHECK(output.out.ends_with("200000\nthe end\n"));
  CHECK(has(output.out, " bytes cut ...]"));
  CHECK(output.err == "1\n2\n3\n4\n5\n");
  CHECK(must_run(shell("printf 1234567890"), 60s, 10).out == "1234567890");
  // Both streams at once, each more than a pipe holds.
  const auto both = must_run(shell("seq 1 50000 & seq 1 50000 >&2; wait"));
  CHECK(both.out == both.err);
  CHECK(both.out.ends_with("\n50000\n"));
}

TEST_CASE("a child runs on the CPUs it was given, and we stay where we were", "[base]") {
  const auto before = our_cpus();
  for (const int cpu : before) {
    const auto output = must_run({.argv = {"grep", "Cpus_allowed_list", "/proc/self/status"}, .cpus = {cpu}});
    CHECK(output.out == "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
  }
  const auto dir = TempDir::make("ng-test").value();
  auto child = Child::start({.argv = {"sleep", "100"}, .cpus = {before.back()}}, dir.path() / "log").value();
  cpu_set_t set;
  REQUIRE(::sched_getaffinity(child.pid(), sizeof set, &set) == 0);
  CHECK(CPU_COUNT(&set) == 1);
  CHECK(CPU_ISSET(static_cast<std::size_t>(before.back()), &set));
  CHECK(our_cpus() == before);
}

TEST_CASE("a child has default signals, no descriptors of ours and a session of its own", "[base]") {
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  sigset_t block;
  sigset_t before;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  const int leak = ::dup(STDERR_FILENO);  // without close-on-exec
  auto command = shell("grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/$$/fd; cut -d' ' -f1,5,6 /proc/$$/stat");
  const bool as_user = GENERATE(false, true);
  // posix_spawn ignores the two signals that glibc keeps for itself (32 and 33).
  const auto* ignored = as_user && ::geteuid() == 0 ? "0000000000000000" : "0000000180000000";
  if (as_user && ::geteuid() == 0) command.user = {65534, 65534};
  const auto output = must_run(command);
  ::close(leak);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGPIPE, previous);
  const auto last = output.out.rfind('\n', output.out.size() - 2);
  const auto pid = output.out.substr(last + 1, output.out.find(' ', last) - last - 1);
  CHECK(output.out == fmt::format("SigBlk:\t0000000000000000\nSigIgn:\t{0}\n0\n1\n2\n{1} {1} {1}\n", ignored, pid));
}

TEST_CASE("a child runs as the user asked for", "[base]") {
  if (::geteuid() != 0) {
    Command command{.argv = {"true"}};
    command.user = {0, 0};
    CHECK(run(command, 10s).error().code == Code::usage);
    NG_SKIP("changing the user needs root");
  }
  Command command{.argv = {"id"}, .directory = "/"};
  command.user = {65534, 65533};
  command.cpus = {our_cpus().front()};
  const auto output = must_run(command);
  CHECK(has(output.out, "uid=65534"));
  CHECK(has(output.out, "gid=65533"));
  CHECK_FALSE(has(output.out, "(root)"));
  command.argv = {"/no/such/program"};
  CHECK(run(command, 10s).error().code == Code::not_found);
  const auto dir = TempDir::make("ng-test").value();  // mode 0700: not for them
  command.argv = {"true"};
  command.directory = dir.path();
  CHECK(run(command, 10s).error().code == Code::io);
}

TEST_CASE("300 starts, good and bad, leak no descriptor and no child", "[base]") {
  must_run({.argv = {"true"}});
  const auto before = open_descriptors();
  const auto dir = TempDir::make("ng-test").value();
  for (int i = 0; i < 100; ++i) {
    must_run({.argv = {"true"}, .input = "x"});
    CHECK_FALSE(run({.argv = {"/no/such"}}, 10s));
    auto child = Child::start({.argv = {"sleep", "100"}}, dir.path() / "log").value();
    child.stop(i % 2 == 0 ? 0ms : 5000ms);
  }
  CHECK(open_descriptors() == before);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left, not even a zombie
}

TEST_CASE("several threads start programs at once", "[base]") {
  std::vector<std::thread> threads;
  std::array<int, 4> good{};
  for (std::size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&good, t] {
      for (int i = 0; i < 20; ++i) {
        const auto text = std::to_string(t * 1000 + static_cast<std::size_t>(i));
        const auto output = run({.argv = {"cat"}, .input = text}, 60s);
        if (output && output->ok() && output->out == text) ++good[t];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(good == std::array<int, 4>{20, 20, 20, 20});
}
