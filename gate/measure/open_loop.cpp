#include "gate/measure/open_loop.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <deque>
#include <limits>

#include "gate/base/files.hpp"
#include "gate/measure/http_answer.hpp"

namespace nightgate::measure {
namespace {

using Nanos = std::int64_t;

Nanos time_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return Nanos{now.tv_sec} * 1000000000 + now.tv_nsec;
}
Nanos now() { return time_of(CLOCK_MONOTONIC); }

std::uint32_t tenths(Nanos nanos) {
  constexpr Nanos most = std::numeric_limits<std::uint32_t>::max();  // seven minutes
  return static_cast<std::uint32_t>(std::clamp<Nanos>(nanos / 100, 0, most));
}

struct Connection {
  Fd fd;
  bool connected = false;
  bool busy = false;
  bool watched_out = false;
  Nanos due = 0;         // of the request it carries
  std::size_t sent = 0;  // bytes of it
  AnswerParser answer;
};

class Loop {
 public:
  Loop(const OpenPlan& plan, const std::atomic<bool>& stop, std::atomic<std::uint64_t>& answered)
      : plan_(plan), stop_(stop), answered_(answered), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    total_ = static_cast<std::uint64_t>(std::llround(plan.rate * plan.seconds));
    out_.latency_us10.reserve(total_);
    out_.late_us10.reserve(total_);
  }

  Result<OpenOutcome> run() {
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // else the kernel adds 50 microseconds to every sleep
    connections_.resize(static_cast<std::size_t>(plan_.connections));
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      NG_CHECK(connect_first(connections_[i]));
      watch(i, EPOLLIN);
      idle_.push_back(i);
    }
    const Nanos cpu_begin = time_of(CLOCK_THREAD_CPUTIME_ID);
    begin_ = now() + 1000000;  // all requests, the first one too, have a due time ahead
    const Nanos give_up = due_of(total_) + static_cast<Nanos>(plan_.drain_seconds * 1e9);
    while (!stop_.load(std::memory_order_relaxed)) {
      take_due();
      give_out();
      if (next_ == total_ && waiting_.empty() && in_flight_ == 0) break;
      if (next_ == total_ && now() > give_up) break;
      wait();
    }
    out_.unanswered = waiting_.size() + in_flight_;
    out_.seconds = std::max(static_cast<double>(last_answer_ - begin_) / 1e9, plan_.seconds);
    out_.cpu_seconds = static_cast<double>(time_of(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) / 1e9;
    return std::move(out_);
  }

 private:
  [[nodiscard]] Nanos due_of(std::uint64_t number) const {
    return begin_ + static_cast<Nanos>(static_cast<double>(number) * 1e9 / plan_.rate);
  }

  // Notices every request that is due. How late we notice is our own lateness; that no connection is free then is not.
  void take_due() {
    if (next_ == total_) return;
    const Nanos time = now();
    while (next_ < total_ && due_of(next_) <= time) {
      out_.late_us10.push_back(tenths(time - due_of(next_)));
      waiting_.push_back(due_of(next_));
      ++next_;
    }
  }

  void give_out() {
    while (!waiting_.empty() && !idle_.empty()) {
      const auto index = idle_.front();
      idle_.pop_front();
      auto& connection = connections_[index];
      connection.busy = true;
      connection.due = waiting_.front();
      connection.sent = 0;
      connection.answer.begin(plan_.is_head);
      waiting_.pop_front();
      ++in_flight_;
      if (!connection.fd) reopen(index);
      if (connection.connected) send_more(index);
    }
  }

  void wait() {
    Nanos timeout = 100000000;  // stop_ is looked at ten times a second
    if (next_ < total_) timeout = std::min(timeout, due_of(next_) - now());
    timeout -= static_cast<Nanos>(plan_.spin_seconds * 1e9);
    if (timeout < 0) timeout = 0;
    const timespec time{timeout / 1000000000, timeout % 1000000000};
    std::array<epoll_event, 64> events{};
    int count = ::epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()), &time, nullptr);
    if (count < 0 && errno == ENOSYS) {  // kernels before 5.11: whole milliseconds only, so rather too early
      count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                           static_cast<int>(timeout / 1000000));
    }
    for (int i = 0; i < count; ++i) handle(events[static_cast<std::size_t>(i)]);
  }

  void handle(const epoll_event& event) {
    const auto index = static_cast<std::size_t>(event.data.u64);
    auto& connection = connections_[index];
    if (!connection.fd) return;
    if (!connection.connected) {
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(connection.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0 || (event.events & (EPOLLERR | EPOLLHUP)) != 0) return lose(index);
      connection.connected = true;
      watch(index, EPOLLIN);
      if (connection.busy) send_more(index);
      return;
    }
    if ((event.events & EPOLLOUT) != 0 && connection.busy) send_more(index);
    if ((event.events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) receive(index);
  }

  void send_more(std::size_t index) {
    auto& connection = connections_[index];
    while (connection.sent < plan_.request.size()) {
      const auto n = ::send(connection.fd.get(), plan_.request.data() + connection.sent,
                            plan_.request.size() - connection.sent, MSG_NOSIGNAL);
      if (n > 0) {
        connection.sent += static_cast<std::size_t>(n);
      } else if (n < 0 && errno == EAGAIN) {
        return watch(index, EPOLLIN | EPOLLOUT);
      } else if (n >= 0 || errno != EINTR) {
        return lose(index);
      }
    }
    if (connection.watched_out) watch(index, EPOLLIN);
  }

  void receive(std::size_t index) {
    auto& connection = connections_[index];
    const auto n = ::recv(connection.fd.get(), buffer_.data(), buffer_.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (!connection.busy) {  // an idle one was closed: the next request opens another
      connection.fd.reset();
      connection.connected = false;
      return;
    }
    if (n < 0) return lose(index);
    if (n == 0) {
      connection.answer.closed();
    } else {
      connection.answer.feed(std::string_view(buffer_.data(), static_cast<std::size_t>(n)));
    }
    if (connection.answer.state() == AnswerParser::State::broken) return lose(index);
    if (connection.answer.state() == AnswerParser::State::done) finish(index);
  }

  void finish(std::size_t index) {
    auto& connection = connections_[index];
    last_answer_ = now();
    out_.latency_us10.push_back(tenths(last_answer_ - connection.due));
    ++out_.statuses[connection.answer.status()];
    answered_.fetch_add(1, std::memory_order_relaxed);
    if (!connection.answer.keeps_alive()) {
      connection.fd.reset();
      connection.connected = false;
    }
    release(index);
  }

  // The connection broke under a request: that request has failed.
  void lose(std::size_t index) {
    auto& connection = connections_[index];
    connection.fd.reset();
    connection.connected = false;
    ++out_.connection_errors;
    if (connection.busy) release(index);
  }

  void release(std::size_t index) {
    connections_[index].busy = false;
    --in_flight_;
    idle_.push_back(index);
  }

  [[nodiscard]] sockaddr_in address() const {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(static_cast<std::uint16_t>(plan_.port));
    ::inet_pton(AF_INET, plan_.address.c_str(), &out.sin_addr);
    return out;
  }

  // 0, EINPROGRESS or what went wrong.
  int open_socket(Connection& connection, int type) {
    connection.fd = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | type, 0));
    if (!connection.fd) return errno;
    const int on = 1;
    ::setsockopt(connection.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto to = address();
    // sockaddr is the type the socket calls take for every family.
    return ::connect(connection.fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
  }

  Status connect_first(Connection& connection) {
    if (const int error = open_socket(connection, 0); error != 0) {
      return fail(Code::measure, fmt::format("the load generator can't connect to {}:{}: {}", plan_.address, plan_.port,
                                             errno_text(error)));
    }
    connection.connected = true;
    if (::fcntl(connection.fd.get(), F_SETFL, O_NONBLOCK) == 0) return {};
    return fail(Code::io, "a socket can't be made non-blocking: " + errno_text(errno));
  }

  void reopen(std::size_t index) {
    auto& connection = connections_[index];
    const int error = open_socket(connection, SOCK_NONBLOCK);
    if (error != 0 && error != EINPROGRESS) return lose(index);
    connection.connected = error == 0;
    watch(index, connection.connected ? EPOLLIN : EPOLLOUT);
  }

  void watch(std::size_t index, std::uint32_t what) {
    auto& connection = connections_[index];
    epoll_event event{};
    event.events = what;
    event.data.u64 = index;
    connection.watched_out = (what & EPOLLOUT) != 0;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd.get(), &event) != 0) {
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.fd.get(), &event);
    }
  }

  const OpenPlan& plan_;
  const std::atomic<bool>& stop_;
  std::atomic<std::uint64_t>& answered_;
  Fd epoll_;
  std::vector<Connection> connections_;
  std::deque<std::size_t> idle_;  // taken in turn, so that every connection works
  std::deque<Nanos> waiting_;     // due times of requests that no connection was free for
  std::uint64_t total_ = 0, next_ = 0, in_flight_ = 0;
  Nanos begin_ = 0, last_answer_ = 0;
  std::array<char, 65536> buffer_{};
  OpenOutcome out_;
};

}  // namespace

Result<OpenOutcome> run_open_loop(const OpenPlan& plan, const std::atomic<bool>& stop,
                                  std::atomic<std::uint64_t>& answered) {
  if (!(plan.rate > 0) || !(plan.seconds > 0) || plan.connections < 1 || plan.rate * plan.seconds > 1e8) {
    return fail(Code::usage, fmt::format("an open load needs a rate, a time and connections (found {} requests/s, {} "
                                         "s, {} connections), and at most 100 million requests",
                                         plan.rate, plan.seconds, plan.connections));
  }
  return Loop(plan, stop, answered).run();
}

double exact_percentile(std::vector<std::uint32_t>& values, double percent) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size())));
  const auto index = std::clamp<std::size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
  return values[index];
}

}  // namespace nightgate::measure
