#include "gate/measure/watched.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>

namespace nightgate::measure {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int tick_milliseconds = 250;

// Until the process ends, but at most one tick, or `seconds` where that is sooner.
void wait_a_tick(const Fd& pidfd, double seconds) {
  pollfd source{pidfd.get(), POLLIN, 0};
  // Without pidfds (old kernels, sandboxes) poll only sleeps, so it must be short.
  const double most = pidfd ? tick_milliseconds : 20;
  // Bounded before it becomes an int: "never" is more milliseconds than one holds.
  ::poll(&source, pidfd ? 1 : 0, static_cast<int>(std::clamp(std::ceil(seconds * 1000), 1.0, most)));
}

double since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

}  // namespace

Result<Watched> run_watched(const Command& command, const fs::path& directory, const WatchLimits& limits,
                            const Tick& tick) {
  const auto out_file = directory / "load.out";
  const auto log_file = directory / "load.log";
  std::error_code ignored;
  fs::remove(log_file, ignored);
  NG_TRY(auto child, Child::start(command, log_file, out_file));
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid(), 0)));
  const auto begin = SteadyClock::now();
  double next_tick = 0;
  double interrupt_at = limits.interrupt_seconds;
  while (child.running()) {
    wait_a_tick(pidfd, interrupt_at - since(begin));
    const double seconds = since(begin);
    if (seconds >= interrupt_at) {
      ::kill(child.pid(), SIGINT);
      interrupt_at = never;
    }
    if (seconds < next_tick) continue;
    next_tick = seconds + 0.2;
    if (auto fine = tick(seconds, 0); !fine) {
      child.stop(std::chrono::milliseconds(500));
      return tl::unexpected<Error>(std::move(fine).error());
    }
    if (seconds <= limits.deadline_seconds) continue;
    child.stop(std::chrono::milliseconds(500));
    return fail(Code::measure, fmt::format("{} did not end within {} s; the broker may hang, or the time allowed is "
                                           "too short{}",
                                           command.argv.front(), limits.deadline_seconds, log_note(tail_of(log_file))));
  }
  Watched out;
  out.seconds = since(begin);
  out.ending = *child.ending();
  out.usage = child.usage();
  auto printed = read_file(out_file);
  if (!printed) {
    return fail(Code::measure, command.argv.front() + " printed more than can be read: " + printed.error().text());
  }
  out.out = std::move(*printed);
  out.err_tail = tail_of(log_file);
  return out;
}

}  // namespace nightgate::measure
