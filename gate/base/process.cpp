#include "gate/base/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "gate/base/spawn.hpp"

namespace nightgate {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kill_after{2000};

// Keeps the first and the last half of what is allowed.
class CappedText {
 public:
  explicit CappedText(std::size_t cap) : half_(std::max<std::size_t>(cap / 2, 1)) {}

  void add(std::string_view text) {
    const auto to_head = std::min(text.size(), half_ - head_.size());
    head_.append(text.substr(0, to_head));
    tail_.append(text.substr(to_head));
    if (tail_.size() > 2 * half_ + 65536) shorten();
  }

  std::string take() {
    shorten();
    if (cut_ == 0) return std::move(head_) + tail_;
    return fmt::format("{}\n[... {} bytes cut ...]\n{}", head_, cut_, tail_);
  }

 private:
  void shorten() {
    if (tail_.size() <= half_) return;
    cut_ += tail_.size() - half_;
    tail_.erase(0, tail_.size() - half_);
  }

  std::size_t half_;
  std::size_t cut_ = 0;
  std::string head_;
  std::string tail_;
};

// The reading end of the child's stdout or stderr.
struct Stream {
  Fd read_end;
  Fd write_end;  // given to the child, then closed here
  CappedText text;
};

Result<Stream> make_stream(std::size_t cap) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Code::io, fmt::format("cannot make a pipe: {}", errno_text(errno)));
  Fd read_raw(ends[0]);
  Fd write_raw(ends[1]);
  NG_TRY(Fd read_end, spawn::lifted(std::move(read_raw)));
  NG_TRY(Fd write_end, spawn::lifted(std::move(write_raw)));
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  return Stream{std::move(read_end), std::move(write_end), CappedText(cap)};
}

// Reads what is there, at most 1 MiB at a time. Closes the stream at its end. False: nothing left for now.
bool drain(Stream& stream) {
  std::array<char, 65536> buffer{};
  for (int i = 0; i < 16 && stream.read_end; ++i) {
    const auto n = ::read(stream.read_end.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n <= 0) {
      stream.read_end.reset();
    } else {
      stream.text.add(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
    }
  }
  return static_cast<bool>(stream.read_end);
}

Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

// Collects output until the leader has ended (true) or the deadline has come (false).
bool watch(pid_t pid, Stream& out, Stream& err, SteadyClock::time_point deadline) {
  const Fd pidfd = open_pidfd(pid);
  while (!spawn::has_ended(pid)) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - SteadyClock::now());
    if (left <= milliseconds::zero()) return false;
    // Kernels and sandboxes without pidfd: look twenty times a second.
    const auto longest = pidfd ? milliseconds(60000) : milliseconds(50);
    std::array<pollfd, 3> sources{pollfd{pidfd.get(), POLLIN, 0}, pollfd{out.read_end.get(), POLLIN, 0},
                                  pollfd{err.read_end.get(), POLLIN, 0}};  // poll skips negative descriptors
    ::poll(sources.data(), sources.size(), static_cast<int>(std::min(left, longest).count()));
    drain(out);
    drain(err);
  }
  return true;
}

Result<Fd> open_output(const fs::path& path, int flags) {
  Fd opened(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, 0644));
  if (!opened) return fail(Code::io, fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  return spawn::lifted(std::move(opened));
}

SteadyClock::time_point deadline_after(milliseconds timeout) {
  constexpr milliseconds longest = std::chrono::hours(24 * 365);  // larger ones would overflow the clock
  return SteadyClock::now() + std::clamp(timeout, milliseconds::zero(), longest);
}

}  // namespace

Result<Output> run(const Command& command, milliseconds timeout, std::size_t max_output) {
  NG_TRY(auto out, make_stream(max_output));
  NG_TRY(auto err, make_stream(max_output));
  NG_TRY(auto in, spawn::input_of(command));
  const auto begin = SteadyClock::now();
  NG_TRY(const pid_t pid, spawn::start(command, {in.get(), out.write_end.get(), err.write_end.get()}));
  out.write_end.reset();
  err.write_end.reset();
  in.reset();

  const bool in_time = watch(pid, out, err, deadline_after(timeout));
  const std::chrono::duration<double> seconds = SteadyClock::now() - begin;
  if (!in_time) spawn::end_group(pid, kill_after);
  const auto [ending, usage] = spawn::reap(pid);
  // What the group wrote is in the pipes by now. Somebody who left the group may hold them open and go on writing: a
  // bounded look, no wait for the end.
  for (auto* stream : {&out, &err}) {
    for (int i = 0; i < 64 && drain(*stream); ++i) {
    }
  }
  return Output{in_time ? ending : Ending{TimedOut{}}, out.text.take(), err.text.take(), usage, seconds.count()};
}

Result<Child> Child::start(const Command& command, const fs::path& log_file, const fs::path& out_file) {
  NG_TRY(const Fd log, open_output(log_file, O_APPEND));
  Fd out;
  if (!out_file.empty()) {
    NG_TRY(out, open_output(out_file, O_TRUNC));
  }
  NG_TRY(const Fd in, spawn::input_of(command));
  NG_TRY(const pid_t pid, spawn::start(command, {in.get(), out ? out.get() : log.get(), log.get()}));
  Child child;
  child.pid_ = pid;
  child.log_file_ = log_file;
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ending_(std::exchange(other.ending_, std::nullopt)),
      usage_(other.usage_),
      log_file_(std::move(other.log_file_)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    stop(kill_after);
    pid_ = std::exchange(other.pid_, -1);
    ending_ = std::exchange(other.ending_, std::nullopt);
    usage_ = other.usage_;
    log_file_ = std::move(other.log_file_);
  }
  return *this;
}

Child::~Child() { stop(kill_after); }

bool Child::running() {
  reap(false);
  return pid_ > 0 && !ending_;
}

void Child::stop(milliseconds grace) {
  if (pid_ <= 0 || ending_) return;
  spawn::end_group(pid_, grace);
  reap(true);
}

void Child::reap(bool block) {
  if (pid_ <= 0 || ending_ || (!block && !spawn::has_ended(pid_))) return;
  const auto [ending, usage] = spawn::reap(pid_);
  ending_ = ending;
  usage_ = usage;
}

}  // namespace nightgate
