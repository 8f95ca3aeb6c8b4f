// A real HTTP server on loopback or a unix socket that remembers what it was asked.
#pragma once

#include <httplib.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nightgate::test {

struct Seen {
  std::string method, path;
  httplib::Headers headers;
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

// Server is httplib::Server or httplib::SSLServer; add routes to server(), then start().
template <class Server = httplib::Server>
class HttpServer {
 public:
  template <class... Arguments>
  explicit HttpServer(Arguments&&... arguments) : server_(std::forward<Arguments>(arguments)...) {
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response&) {
      const std::lock_guard lock(mutex_);
      seen_.push_back({request.method, request.target, request.headers});
      return httplib::Server::HandlerResponse::Unhandled;
    });
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Server& server() { return server_; }

  // On a free port of 127.0.0.1.
  bool start() {
    port_ = server_.bind_to_any_port("127.0.0.1");
    return port_ > 0 && listen();
  }
  bool start_on_socket(const std::string& path) {
    server_.set_address_family(AF_UNIX);
    return server_.bind_to_port(path.c_str(), 80) && listen();
  }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& path = "/", const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + std::to_string(port_) + path;
  }
  // The requests so far, oldest first; their bodies come only after this was noted.
  [[nodiscard]] std::vector<Seen> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  bool listen() {
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    for (int i = 0; i < 500 && !server_.is_running(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return server_.is_running();
  }

  Server server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<Seen> seen_;
};

}  // namespace nightgate::test
