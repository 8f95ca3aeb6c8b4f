#include "http.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

namespace broker {
namespace {

constexpr std::size_t kMaxHead = 32 * 1024;
constexpr std::size_t kMaxBody = 64 * 1024 * 1024;

struct Connection {
  int fd = -1;
  std::string in;
  std::size_t used = 0;  // bytes of `in` that are answered
  std::string out;
  std::size_t sent = 0;
  bool closing = false;    // no further answers; end it once `out` is sent
  bool lingering = false;  // our side has ended; what still comes is thrown away until the other side ends too
  bool wants_write = false;
};

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Payload Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 502:
      return "Bad Gateway";
    default:
      return "Status";
  }
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
    out.push_back(escape ? static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i]);
    if (escape) i += 2;
  }
  return out;
}

void append_number(std::string& out, std::size_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, static_cast<std::size_t>(end.ptr - digits));
}

void write_answer(Connection& c, const Response& r, bool head_only) {
  std::string& out = c.out;
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::size_t>(r.status));
  out += ' ';
  out += reason(r.status);
  out += "\r\n";
  if (r.status != 204) {
    out += "Content-Type: ";
    out += r.content_type;
    out += "\r\nContent-Length: ";
    append_number(out, r.body.size());
    out += "\r\n";
  }
  out += r.headers;
  out += c.closing ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n";
  if (!head_only && r.status != 204) out += r.body;
}

struct Head {
  Request request;
  std::size_t body_size = 0;
  bool keep_alive = true;
  bool expects_continue = false;
  int error = 0;  // a status, or 0
};

void read_header(std::string_view line, Head& head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    head.error = 400;
    return;
  }
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (same_ignoring_case(name, "content-length")) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), head.body_size);
    if (error != std::errc() || end != value.data() + value.size()) head.error = 400;
    if (head.body_size > kMaxBody) head.error = 413;
  } else if (same_ignoring_case(name, "transfer-encoding")) {
    head.error = 411;  // no chunked bodies here: say the length
  } else if (same_ignoring_case(name, "connection")) {
    if (same_ignoring_case(value, "close")) head.keep_alive = false;
    if (same_ignoring_case(value, "keep-alive")) head.keep_alive = true;
  } else if (same_ignoring_case(name, "expect")) {
    head.expects_continue = same_ignoring_case(value, "100-continue");
  }
}

// `text` is a whole head without its last empty line.
Head read_head(std::string_view text) {
  Head head;
  const std::size_t line_end = text.find("\r\n");
  const std::string_view line = text.substr(0, line_end);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first || line.substr(last + 1, 7) != "HTTP/1.") {
    head.error = 400;
    return head;
  }
  head.request.method = line.substr(0, first);
  head.request.target = line.substr(first + 1, last - first - 1);
  head.keep_alive = line.substr(last + 1) != "HTTP/1.0";
  const std::size_t mark = head.request.target.find('?');
  head.request.path = percent_decoded(head.request.target.substr(0, mark));
  if (mark != std::string_view::npos) head.request.query = head.request.target.substr(mark + 1);
  std::size_t at = line_end == std::string_view::npos ? text.size() : line_end + 2;
  while (at < text.size() && head.error == 0) {
    const std::size_t end = std::min(text.find("\r\n", at), text.size());
    read_header(text.substr(at, end - at), head);
    at = end + 2;
  }
  return head;
}

void refuse(Connection& c, int status) {
  Response response;
  response.status = status;
  response.body = std::string("{\"error\":\"") + reason(status) + "\"}";
  c.closing = true;
  write_answer(c, response, false);
}

// Answers one request from the front of `in`; false when it has not arrived whole.
bool answer_one(Connection& c, Handler& handler) {
  const std::string_view text = std::string_view(c.in).substr(c.used);
  const std::size_t head_size = text.find("\r\n\r\n");
  if (head_size == std::string_view::npos) {
    if (text.size() > kMaxHead) refuse(c, 431);
    return false;
  }
  Head head = read_head(text.substr(0, head_size));
  if (head.error != 0) {
    refuse(c, head.error);
    return false;
  }
  const std::size_t whole = head_size + 4 + head.body_size;
  if (text.size() < whole) {
    if (head.expects_continue && text.size() == head_size + 4) c.out += "HTTP/1.1 100 Continue\r\n\r\n";
    return false;
  }
  head.request.body = text.substr(head_size + 4, head.body_size);
  if (!head.keep_alive) c.closing = true;
  Response response;
  handler.answer(head.request, response);
  write_answer(c, response, head.request.method == "HEAD");
  c.used += whole;
  return !c.closing;
}

// One event loop. Connections given to it by add() belong to it alone.
class Worker {
 public:
  explicit Worker(Handler& handler) : handler_(handler), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    watch(stop_, EPOLL_CTL_ADD, EPOLLIN, nullptr);
  }
  ~Worker() {
    ::close(epoll_);
    ::close(stop_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // From any thread; the loop takes over the descriptor.
  void add(int fd) {
    auto* c = new Connection;
    c->fd = fd;
    watch(fd, EPOLL_CTL_ADD, EPOLLIN, c);
  }
  void stop() {
    const std::uint64_t one = 1;
    if (::write(stop_, &one, sizeof one) < 0) std::perror("broker: eventfd");
  }
  void run() {
    std::vector<epoll_event> events(256);
    for (bool running = true; running;) {
      const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < n; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.ptr == nullptr) {
          running = false;
        } else {
          serve_one(static_cast<Connection*>(event.data.ptr), event.events);
        }
      }
    }
    for (Connection* c : open_) {
      ::close(c->fd);
      delete c;
    }
  }

 private:
  void watch(int fd, int operation, std::uint32_t what, void* whom) {
    epoll_event event{};
    event.events = what;
    event.data.ptr = whom;
    ::epoll_ctl(epoll_, operation, fd, &event);
  }
  void drop(Connection* c) {
    ::close(c->fd);
    open_.erase(c);
    delete c;
  }
  void serve_one(Connection* c, std::uint32_t what) {
    open_.insert(c);
    if ((what & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !read_some(*c)) {
      drop(c);
      return;
    }
    // A reader that does not take its answers gets no further ones.
    while (!c->closing && c->out.size() - c->sent < kMaxBody && answer_one(*c, handler_)) {
    }
    if (c->closing || c->used == c->in.size()) {
      c->in.clear();
      c->used = 0;
    } else if (c->used > kMaxHead) {
      c->in.erase(0, c->used);
      c->used = 0;
    }
    if (!send_some(*c)) drop(c);
  }
  static bool read_some(Connection& c) {
    char buffer[64 * 1024];
    for (;;) {
      const ssize_t n = ::recv(c.fd, buffer, sizeof buffer, 0);
      if (n > 0) {
        c.in.append(buffer, static_cast<std::size_t>(n));
        if (static_cast<std::size_t>(n) < sizeof buffer || c.in.size() > 2 * kMaxBody) return true;
      } else if (n < 0 && errno == EINTR) {
        continue;
      } else {
        return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      }
    }
  }
  // False when the connection is done with.
  bool send_some(Connection& c) {
    while (c.sent < c.out.size()) {
      const ssize_t n = ::send(c.fd, c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        if (!c.wants_write) watch(c.fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT, &c);
        c.wants_write = true;
        return true;
      }
      if (n <= 0) return false;
      c.sent += static_cast<std::size_t>(n);
    }
    c.out.clear();
    c.sent = 0;
    if (c.wants_write) watch(c.fd, EPOLL_CTL_MOD, EPOLLIN, &c);
    c.wants_write = false;
    if (c.closing && !c.lingering) ::shutdown(c.fd, SHUT_WR);  // closing at once could cut off the answer
    c.lingering = c.closing;
    return true;
  }

  Handler& handler_;
  int epoll_;
  int stop_;
  std::unordered_set<Connection*> open_;
};

int listen_on(const ServerOptions& options, int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(options.port));
  if (::inet_pton(AF_INET, options.host.c_str(), &address.sin_addr) != 1) {
    std::fprintf(stderr, "broker: --host wants an IPv4 address, not '%s'\n", options.host.c_str());
    return -1;
  }
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd, generic, sizeof address) != 0 || ::listen(fd, 1024) != 0) {
    std::fprintf(stderr, "broker: cannot listen on %s:%d: %s\n", options.host.c_str(), options.port,
                 std::strerror(errno));
    return -1;
  }
  socklen_t size = sizeof address;
  ::getsockname(fd, generic, &size);
  port = ntohs(address.sin_port);
  return fd;
}

// Hands new connections to the workers in turn, until a stop signal arrives.
void accept_until_stopped(int listener, int signals, std::vector<std::unique_ptr<Worker>>& workers) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  for (const int fd : {listener, signals}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }
  for (std::size_t next = 0;;) {
    epoll_event event{};
    if (::epoll_wait(epoll, &event, 1, -1) < 1) continue;
    if (event.data.fd == signals) break;
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) continue;
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    workers[next++ % workers.size()]->add(fd);
  }
  ::close(epoll);
}

}  // namespace

std::string_view query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view item = query.substr(0, end);
    if (item.size() > name.size() && item[name.size()] == '=' && item.substr(0, name.size()) == name) {
      return item.substr(name.size() + 1);
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

int serve(const ServerOptions& options, Handler& handler) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const int signals = ::signalfd(-1, &stop, SFD_CLOEXEC);
  int port = 0;
  const int listener = listen_on(options, port);
  if (listener < 0) return 1;

  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i) workers.push_back(std::make_unique<Worker>(handler));
  for (auto& worker : workers) threads.emplace_back([&worker] { worker->run(); });
  std::fprintf(stderr, "broker: listening on %s:%d\n", options.host.c_str(), port);
  accept_until_stopped(listener, signals, workers);
  for (auto& worker : workers) worker->stop();
  for (auto& thread : threads) thread.join();
  ::close(listener);
  ::close(signals);
  std::fprintf(stderr, "broker: stopped\n");
  return 0;
}

}  // namespace broker
