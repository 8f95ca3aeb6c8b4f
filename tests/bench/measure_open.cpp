// The open-loop generator beside wrk and beside libcurl's multi interface, all against the same small keep-alive
// server, in the same run: how exactly the schedule is kept at 20,000 requests/s on one core, how the medians compare
// at a low load, and what a stall of one second looks like in an open and in a closed loop.
//
//   bench_measure_open [requests per second] [seconds]
#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <thread>

#include "gate/base/files.hpp"
#include "gate/base/process.hpp"
#include "gate/formats/wrk.hpp"
#include "gate/measure/open_loop.hpp"

using namespace nightgate;
using namespace nightgate::measure;

namespace {

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

// One thread, epoll, on CPU 0. Answers every read with one answer (no pipelining comes in). Stalls on request.
class Server {
 public:
  Server() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), epoll_(::epoll_create1(0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), plain, size) != 0 || ::listen(listener_.get(), 512) != 0) std::abort();
    ::getsockname(listener_.get(), plain, &size);
    port = ntohs(address.sin_port);
    add(listener_.get());
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    stop_ = true;
    thread_.join();
  }
  int port = 0;
  std::atomic<std::int64_t> stall_until{0};

 private:
  void add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  void serve() {
    pin(0);
    static constexpr std::string_view answer =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nhello world\n";
    std::array<char, 16384> buffer{};
    std::array<epoll_event, 64> events{};
    while (!stop_) {
      const int count = ::epoll_wait(epoll_.get(), events.data(), 64, 100);
      while (now_ns() < stall_until) ::usleep(1000);
      for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == listener_.get()) {
          const int accepted = ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
          const int on = 1;
          ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          if (accepted >= 0) add(accepted);
        } else if (::recv(fd, buffer.data(), buffer.size(), 0) <= 0) {
          ::close(fd);
        } else {
          (void)!::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
        }
      }
    }
  }
  Fd listener_, epoll_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

OpenPlan plan_for(const Server& server, double rate, int connections, double seconds) {
  OpenPlan plan;
  plan.port = server.port;
  plan.request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  plan.rate = rate;
  plan.connections = connections;
  plan.seconds = seconds;
  return plan;
}

void row(const std::string& who, double rate, std::vector<std::uint32_t>& latency, std::vector<std::uint32_t>& late,
         double cpu_share) {
  const auto us = [](std::vector<std::uint32_t>& values, double percent) {
    return exact_percentile(values, percent) / 10;
  };
  fmt::print("{:<26}{:>9.0f}{:>9.1f}{:>9.1f}{:>11.1f}", who, rate, us(latency, 50), us(latency, 99), us(latency, 100));
  if (!late.empty()) fmt::print("{:>10.1f}{:>10.1f}{:>11.1f}", us(late, 50), us(late, 99), us(late, 100));
  fmt::print("{}\n", cpu_share > 0 ? fmt::format("{:>7.2f}", cpu_share) : "");
}

void header(const std::string& title) {
  fmt::print("\n{}\n{:<26}{:>9}{:>9}{:>9}{:>11}{:>10}{:>10}{:>11}{:>7}\n", title, "", "rate", "p50 us", "p99 us",
             "max us", "late p50", "late p99", "late max", "CPU");
}

OpenOutcome open_loop(const OpenPlan& plan) {
  Result<OpenOutcome> outcome = fail(Code::internal, "not run");
  std::thread worker([&] {
    pin(1);
    const std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> answered{0};
    outcome = run_open_loop(plan, stop, answered);
  });
  worker.join();
  if (!outcome) {
    fmt::print("{}\n", outcome.error().text());
    std::exit(1);
  }
  return *std::move(outcome);
}

void show_open(const std::string& who, const OpenPlan& plan) {
  auto outcome = open_loop(plan);
  row(who, static_cast<double>(outcome.latency_us10.size()) / outcome.seconds, outcome.latency_us10, outcome.late_us10,
      outcome.cpu_seconds / outcome.seconds);
}

// The same schedule by libcurl: easy handles of a multi, due times as in the open loop.
size_t drop(char*, size_t size, size_t count, void*) { return size * count; }
void show_curl(const Server& server, double rate, int connections, double seconds) {
  std::vector<std::uint32_t> latency;
  std::vector<std::uint32_t> late;
  double cpu = 0;
  double took = 0;
  std::thread worker([&] {
    pin(1);
    CURLM* multi = curl_multi_init();
    std::deque<CURL*> idle;
    std::deque<std::int64_t> waiting;
    std::vector<std::int64_t> due_of(static_cast<std::size_t>(connections));
    const auto url = fmt::format("http://127.0.0.1:{}/", server.port);
    for (int i = 0; i < connections; ++i) {
      CURL* easy = curl_easy_init();
      curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
      curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &drop);
      curl_easy_setopt(easy, CURLOPT_PRIVATE, static_cast<void*>(&due_of[static_cast<std::size_t>(i)]));
      idle.push_back(easy);
    }
    const auto total = static_cast<std::uint64_t>(rate * seconds);
    const auto begin = now_ns();
    std::uint64_t next = 0;
    std::uint64_t done = 0;
    const auto due = [&](std::uint64_t i) {
      return begin + static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / rate);
    };
    const auto limit = begin + static_cast<std::int64_t>((seconds + 5) * 1e9);
    while (done < total && now_ns() < limit) {
      for (const auto time = now_ns(); next < total && due(next) <= time; ++next) {
        late.push_back(static_cast<std::uint32_t>((time - due(next)) / 100));
        waiting.push_back(due(next));
      }
      while (!waiting.empty() && !idle.empty()) {
        CURL* easy = idle.front();
        idle.pop_front();
        std::int64_t* slot = nullptr;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
        *slot = waiting.front();
        waiting.pop_front();
        curl_multi_add_handle(multi, easy);
      }
      int running = 0;
      curl_multi_perform(multi, &running);
      int left = 0;
      while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
        CURL* easy = message->easy_handle;
        std::int64_t* slot = nullptr;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
        latency.push_back(static_cast<std::uint32_t>((now_ns() - *slot) / 100));
        curl_multi_remove_handle(multi, easy);
        idle.push_back(easy);
        ++done;
      }
    }
    took = static_cast<double>(now_ns() - begin) / 1e9;
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    cpu = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
    for (CURL* easy : idle) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  });
  worker.join();
  row("libcurl multi", static_cast<double>(latency.size()) / took, latency, late, cpu / took);
}

// wrk, pinned to the same CPU; its figures are those of a closed loop.
// `pauses`: a millisecond between an answer and the next request, which is wrk's way of a low load.
enum class Pauses { no, yes };
std::optional<formats::WrkResult> wrk(const Server& server, int connections, int seconds, Pauses pauses = Pauses::no) {
  const auto dir = TempDir::make("ng-bench-open");
  if (!dir) return std::nullopt;
  const auto script = dir->path() / "wrk.lua";
  const auto users = dir->path() / "user.lua";
  if (!write_file(users, pauses == Pauses::yes ? "function delay() return 1 end" : "")) return std::nullopt;
  if (!write_file(script, formats::wrk_script({users.string(), {}, false}))) return std::nullopt;
  Command command;
  command.argv = {"wrk",
                  "-t1",
                  fmt::format("-c{}", connections),
                  fmt::format("-d{}", seconds),
                  "-s",
                  script.string(),
                  fmt::format("http://127.0.0.1:{}/", server.port)};
  command.cpus = {1};
  const auto output = run(command, std::chrono::seconds(seconds + 30));
  if (!output) return std::nullopt;
  const auto parsed = formats::parse_wrk(output->out);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

void show_wrk(const std::string& who, const std::optional<formats::WrkResult>& result) {
  if (!result) {
    fmt::print("{:<26} wrk is missing or failed\n", who);
    return;
  }
  fmt::print("{:<26}{:>9.0f}{:>9.1f}{:>9.1f}{:>11.1f}\n", who, result->rate(), result->p50, result->p99, result->max);
}

// A closed loop that reports what it saw, as most tools do: one connection, the next request after the answer.
void show_closed(const Server& server, double seconds) {
  std::vector<std::uint32_t> latency;
  std::vector<std::uint32_t> none;
  std::thread worker([&] {
    pin(1);
    const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
    static constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    std::array<char, 4096> buffer{};
    const auto end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
    for (auto begin = now_ns(); begin < end; begin = now_ns()) {
      if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return;
      if (::recv(fd.get(), buffer.data(), buffer.size(), 0) <= 0) return;
      latency.push_back(static_cast<std::uint32_t>((now_ns() - begin) / 100));
    }
  });
  worker.join();
  row("a plain closed loop", static_cast<double>(latency.size()) / seconds, latency, none, 0);
}

void stall_in(Server& server, double after, double seconds) {
  std::thread([&server, after, seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(after));
    server.stall_until = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  }).detach();
}

}  // namespace

int main(int argc, char** argv) {
  const double rate = argc > 1 ? std::atof(argv[1]) : 20000;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 3;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  Server server;

  header(fmt::format("{} requests/s for {} s over 50 connections, generator on one core", rate, seconds));
  show_open("open loop (own)", plan_for(server, rate, 50, seconds));
  show_curl(server, rate, 50, seconds);
  show_wrk("wrk (closed, full speed)", wrk(server, 50, static_cast<int>(seconds)));

  header("the same low load: four connections, wrk with a pause of 1 ms after every answer, then the same rate");
  const auto closed = wrk(server, 4, static_cast<int>(seconds), Pauses::yes);
  show_wrk("wrk -c4, paused", closed);
  const double low = closed ? closed->rate() : 2000;
  show_open("open loop", plan_for(server, low, 4, seconds));
  show_open("open loop, no spinning", [&] {
    auto plan = plan_for(server, low, 4, seconds);
    plan.spin_seconds = 0;
    return plan;
  }());

  header("the server stops for one second in the middle");
  stall_in(server, 1, 1);
  show_open("open loop, 2000/s", plan_for(server, 2000, 10, 3));
  stall_in(server, 1, 1);
  show_closed(server, 3);
  stall_in(server, 1, 1);
  show_wrk("wrk -c10 (corrects itself)", wrk(server, 10, 3));
  return 0;
}
