#include "gate/measure/perf.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "gate/base/log.hpp"

namespace nightgate::measure {
namespace {

constexpr std::size_t most_threads = 512;  // two descriptors each

Fd open_counter(pid_t thread, std::uint64_t what) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = what;
  attributes.inherit = 1;         // children and threads made later
  attributes.exclude_kernel = 0;  // the kernel's work for a request is part of its price
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

void say_absent(int error) {
  static std::once_flag once;
  std::call_once(once, [error] {
    log::info(fmt::format("hardware counters are absent here ({}): instructions per request are not reported",
                          errno_text(error)));
  });
}

std::vector<pid_t> threads_of(const std::vector<pid_t>& pids) {
  std::vector<pid_t> out;
  for (const pid_t pid : pids) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
      out.push_back(static_cast<pid_t>(std::atoi(entry.path().filename().c_str())));
    }
  }
  return out;
}

std::optional<double> sum_of(const std::vector<Fd>& counters) {
  double sum = 0;
  bool ran = false;
  for (const auto& fd : counters) {
    std::array<std::uint64_t, 3> values{};  // value, time enabled, time running
    if (::read(fd.get(), values.data(), sizeof values) != sizeof values || values[2] == 0) continue;
    ran = true;
    sum += static_cast<double>(values[0]) * static_cast<double>(values[1]) / static_cast<double>(values[2]);
  }
  return ran ? std::optional(sum) : std::nullopt;
}

}  // namespace

std::optional<PerfCounters> PerfCounters::open(const std::vector<pid_t>& pids) {
  const auto threads = threads_of(pids);
  if (threads.size() > most_threads) return std::nullopt;
  PerfCounters out;
  for (const pid_t thread : threads) {
    Fd instructions = open_counter(thread, PERF_COUNT_HW_INSTRUCTIONS);
    if (!instructions && errno == ESRCH) continue;  // it has ended since
    if (!instructions) {
      say_absent(errno);
      return std::nullopt;
    }
    out.instructions_.push_back(std::move(instructions));
    if (Fd cycles = open_counter(thread, PERF_COUNT_HW_CPU_CYCLES)) out.cycles_.push_back(std::move(cycles));
  }
  if (out.instructions_.empty()) return std::nullopt;
  return out;
}

std::optional<HardwareCounts> PerfCounters::read() const {
  const auto instructions = sum_of(instructions_);
  if (!instructions) return std::nullopt;
  return HardwareCounts{*instructions, sum_of(cycles_).value_or(0)};
}

}  // namespace nightgate::measure
