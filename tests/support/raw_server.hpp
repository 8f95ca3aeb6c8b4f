// A TCP server on loopback that says exactly what a test tells it to, for answers no HTTP library would give.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace nightgate::test {

class RawServer {
 public:
  // `answer` is called for each connection with its descriptor, after the request's head has been read (see head());
  // the connection is closed when it returns.
  explicit RawServer(std::function<void(int)> answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = static_cast<sockaddr*>(static_cast<void*>(&address));
    ok_ = ::bind(listener_, any, size) == 0 && ::listen(listener_, 8) == 0 && ::getsockname(listener_, any, &size) == 0;
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::string url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  // True once the test is over; long answers look at it.
  [[nodiscard]] bool stopping() const { return stop_; }
  [[nodiscard]] int connections() const { return connections_; }

  // Reads the next request's head; for `answer`, which runs in the server's own thread.
  const std::string& read_head(int fd) {
    char c = 0;
    head_.clear();
    while (head_.find("\r\n\r\n") == std::string::npos && ::recv(fd, &c, 1, 0) == 1) head_ += c;
    return head_;
  }
  // What was read last.
  [[nodiscard]] const std::string& head() const { return head_; }

  static bool say(int fd, std::string_view text) {
    while (!text.empty()) {
      const auto n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

 private:
  void serve() {
    while (!stop_) {
      pollfd ready{listener_, POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++connections_;
      read_head(fd);
      answer_(fd);
      ::close(fd);
    }
  }

  std::function<void(int)> answer_;
  std::string head_;
  int listener_ = -1;
  int port_ = 0;
  bool ok_ = false;
  std::atomic<bool> stop_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

}  // namespace nightgate::test
