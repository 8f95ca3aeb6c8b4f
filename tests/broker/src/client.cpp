#include "client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace broker {
namespace {

class ChainedBroker final : public Next {
 public:
  ChainedBroker(sockaddr_in address, std::string name) : address_(address), name_(std::move(name)) {}
  ~ChainedBroker() override {
    for (const int fd : idle_) ::close(fd);
  }

  Response pass_on(const Request& request) override {
    Response response;
    std::string text = std::string(request.method) + " " + std::string(request.target) + " HTTP/1.1\r\nHost: " + name_ +
                       "\r\nContent-Length: " + std::to_string(request.body.size()) + "\r\n\r\n" +
                       std::string(request.body);
    // A kept connection may have been closed by the other side in the meantime: then once more on a new one.
    for (int fd = take(); fd >= 0; fd = open()) {
      if (exchange(fd, text, request.method == "HEAD", response)) {
        give_back(fd);
        return response;
      }
      ::close(fd);
      if (fresh_) break;
    }
    response = Response();
    response.status = 502;
    response.body = "{\"error\":\"the next broker at " + name_ + " does not answer\"}";
    return response;
  }

 private:
  int take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const int fd = idle_.back();
        idle_.pop_back();
        fresh_ = false;
        return fd;
      }
    }
    return open();
  }
  int open() {
    fresh_ = true;
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    const timeval limit{10, 0};
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) == 0) return fd;
    ::close(fd);
    return -1;
  }
  void give_back(int fd) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(fd);
  }
  // The other side is a broker like this one: its answers carry Content-Length or are 204.
  static bool exchange(int fd, std::string_view text, bool head_only, Response& response) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    std::string in;
    char buffer[64 * 1024];
    std::size_t head = std::string::npos;
    std::size_t length = 0;
    while (head == std::string::npos || in.size() < head + 4 + length) {
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return false;
      in.append(buffer, static_cast<std::size_t>(n));
      if (head != std::string::npos) continue;
      head = in.find("\r\n\r\n");
      const std::size_t at = in.find("Content-Length: ");
      if (at < head && !head_only) length = std::strtoul(in.c_str() + at + 16, nullptr, 10);
    }
    response.status = std::atoi(in.c_str() + 9);
    response.body = in.substr(head + 4, length);
    return true;
  }

  sockaddr_in address_;
  std::string name_;
  std::mutex mutex_;
  std::vector<int> idle_;
  static thread_local bool fresh_;
};
thread_local bool ChainedBroker::fresh_ = false;

}  // namespace

std::unique_ptr<Next> Next::make(std::string_view url, std::string& error) {
  constexpr std::string_view scheme = "http://";
  error = "--forward wants http://ADDRESS:PORT with an IPv4 address, not '" + std::string(url) + "'";
  if (url.substr(0, scheme.size()) != scheme) return nullptr;
  url.remove_prefix(scheme.size());
  if (!url.empty() && url.back() == '/') url.remove_suffix(1);
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos) return nullptr;
  std::uint16_t port = 0;
  const auto [end, wrong] = std::from_chars(url.data() + colon + 1, url.data() + url.size(), port);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  const std::string host(url.substr(0, colon));
  if (wrong != std::errc() || end != url.data() + url.size()) return nullptr;
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return nullptr;
  error.clear();
  return std::make_unique<ChainedBroker>(address, std::string(url));
}

}  // namespace broker
