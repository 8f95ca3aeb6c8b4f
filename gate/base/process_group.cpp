// Ending a process group for sure.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <thread>

#include "gate/base/spawn.hpp"

namespace nightgate::spawn {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// "pid (name) state ppid pgrp ..."; the name may hold anything, so the last parenthesis counts.
bool runs_in_group(std::string_view stat, pid_t group) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 4 >= stat.size()) return false;
  const char state = stat[name_end + 2];
  if (state == 'Z' || state == 'X') return false;
  const auto parent_end = stat.find(' ', name_end + 4);
  if (parent_end == std::string_view::npos) return false;
  pid_t found = -1;
  std::from_chars(stat.data() + parent_end + 1, stat.data() + stat.size(), found);
  return found == group;
}

// kill(-group, 0) alone won't do: it counts zombies, and in a container whose first process never waits those of
// orphaned grandchildren stay for ever.
bool anybody_runs(pid_t group) {
  if (::kill(-group, 0) != 0 && errno == ESRCH) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (!proc) return false;
  while (const auto* entry = ::readdir(proc.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto stat = read_file(fs::path("/proc") / entry->d_name / "stat", 8192);
    if (stat && runs_in_group(*stat, group)) return true;
  }
  return false;
}

// False when somebody still runs at the deadline.
bool wait_until_nobody_runs(pid_t group, milliseconds at_most) {
  const auto end = SteadyClock::now() + at_most;
  for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(20))) {
    if (!anybody_runs(group)) return true;
    if (SteadyClock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
  }
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Ending ending_of(int status) {
  if (WIFSIGNALED(status)) return Signalled{WTERMSIG(status)};
  return Exited{WEXITSTATUS(status)};
}

}  // namespace

bool has_ended(pid_t leader) {
  siginfo_t info{};
  int answer = 0;
  do {
    answer = ::waitid(P_PID, static_cast<id_t>(leader), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (answer != 0 && errno == EINTR);
  return answer != 0 || info.si_pid == leader;  // an error means there is no such child of ours
}

void end_group(pid_t leader, milliseconds grace) {
  if (grace > milliseconds::zero()) {
    ::kill(-leader, SIGTERM);
    ::kill(-leader, SIGCONT);  // a stopped process would not see it
    if (wait_until_nobody_runs(leader, grace)) return;
  }
  ::kill(-leader, SIGKILL);
}

std::pair<Ending, Usage> reap(pid_t leader) {
  // The leader is still there, if only as a zombie, so the group's number is still ours to kill.
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(leader), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  ::kill(-leader, SIGKILL);

  int status = 0;
  rusage used{};
  pid_t got = 0;
  do {
    got = ::wait4(leader, &status, 0, &used);
  } while (got < 0 && errno == EINTR);
  // Only a process in an uninterruptible system call survives SIGKILL; not for ever waits for it.
  (void)wait_until_nobody_runs(leader, milliseconds(10000));
  if (got != leader) return {Exited{255}, {}};
  return {ending_of(status),
          Usage{seconds_of(used.ru_utime), seconds_of(used.ru_stime), used.ru_maxrss, used.ru_nvcsw + used.ru_nivcsw}};
}

}  // namespace nightgate::spawn
