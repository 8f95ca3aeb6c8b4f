// Child processes without a shell: argv vectors, own process group, closed descriptors, deadlines, CPU pinning.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gate/base/files.hpp"
#include "gate/base/result.hpp"

namespace nightgate {

// Logical CPU numbers. Empty: wherever the kernel likes.
using CpuSet = std::vector<int>;
// "0-3,8" -> {0,1,2,3,8}. Code::bad_data for anything else.
[[nodiscard]] Result<CpuSet> parse_cpus(std::string_view text);
[[nodiscard]] std::string format_cpus(const CpuSet& cpus);

struct Exited {
  int code;
};
struct Signalled {
  int signal;
};
struct TimedOut {};
using Ending = std::variant<Exited, Signalled, TimedOut>;
// "exit code 1", "killed by signal 9 (Killed)", "did not end in time and was killed".
[[nodiscard]] std::string ending_text(const Ending& ending);

struct Command {
  std::vector<std::string> argv = {};                   // argv[0] looked up in our PATH when it has no slash
  std::map<std::string, std::string> environment = {};  // added to ours, or the whole of it with clear_environment
  bool clear_environment = false;
  fs::path directory = {};                                 // empty: ours
  CpuSet cpus = {};                                        // all of them must be there, else Code::measure
  std::optional<std::pair<unsigned, unsigned>> user = {};  // uid, gid to change to (needs root); groups are dropped
  std::string input = {};                                  // all that stdin holds; empty: /dev/null
};

struct Usage {  // of the child and the descendants it waited for
  double user_seconds = 0;
  double system_seconds = 0;
  // Largest of any one of them. Linux counts the memory of the one who started it in (exec keeps the maximum), so this
  // is never below our own peak; for a long-lived child read VmHWM in /proc/PID/status while it runs.
  long peak_memory_kib = 0;
  long context_switches = 0;  // voluntary and involuntary
};

struct Output {
  Ending ending;
  std::string out;  // capped at max_output: head and tail kept, the middle said to be cut
  std::string err;
  Usage usage;
  double seconds = 0;
  [[nodiscard]] bool ok() const { return std::holds_alternative<Exited>(ending) && std::get<Exited>(ending).code == 0; }
};

// Runs to the end or to the deadline (then SIGTERM to the group, SIGKILL two seconds later). What the program leaves
// running in its group when it ends is killed; only who started a session of its own (setsid) gets away.
// Error only when it could not be started (Code::not_found: no such program).
[[nodiscard]] Result<Output> run(const Command& command, std::chrono::milliseconds timeout,
                                 std::size_t max_output = 4U << 20U);

// A long-lived child (a broker, a service): leader of a process group of its own, output appended to a log file.
// When the leader ends, the rest of the group is killed as soon as running() or stop() notices. Destroying it stops
// it with two seconds of grace. Not thread-safe.
class Child {
 public:
  // With `out_file` its stdout goes there (emptied first), and only its stderr into the log.
  [[nodiscard]] static Result<Child> start(const Command& command, const fs::path& log_file,
                                           const fs::path& out_file = {});
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Alive right now? Reaps it when it has ended.
  [[nodiscard]] bool running();
  [[nodiscard]] const std::optional<Ending>& ending() const { return ending_; }
  [[nodiscard]] const Usage& usage() const { return usage_; }  // complete once it has ended
  // SIGTERM to the group, SIGKILL after grace; waits until the whole group is gone.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(5));
  [[nodiscard]] const fs::path& log_file() const { return log_file_; }

 private:
  Child() = default;
  void reap(bool block);
  pid_t pid_ = -1;
  std::optional<Ending> ending_;
  Usage usage_;
  fs::path log_file_;
};

// Start time of a process in clock ticks since boot (/proc/PID/stat), to tell a process from a later one with its
// number. nullopt: no such process.
[[nodiscard]] std::optional<unsigned long long> process_start_ticks(pid_t pid);
// Full path of a program in PATH; nullopt when there is none.
[[nodiscard]] std::optional<fs::path> find_program(std::string_view name);
// The last `lines` lines of a file, at most 8 KiB; empty when it can't be read.
[[nodiscard]] std::string tail_of(const fs::path& path, int lines = 20);

}  // namespace nightgate
