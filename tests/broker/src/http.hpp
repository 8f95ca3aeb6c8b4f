// A small HTTP/1.1 server: epoll, keep-alive, pipelining, no TLS. It needs nothing but the C++ library, so the broker
// links into one static binary that runs in an image made from scratch (Debian's cpp-httplib has no static library).
#pragma once
#include <string>
#include <string_view>

namespace broker {

struct Request {
  std::string_view method;
  std::string path;         // percent-decoded, without the query
  std::string_view query;   // behind the '?', as sent
  std::string_view target;  // path and query as sent
  std::string_view body;
};

struct Response {
  int status = 200;
  std::string body;
  const char* content_type = "application/json";
  std::string headers;  // further ones, each "Name: value\r\n"
};

// Answers requests; called from every worker thread at once.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void answer(const Request& request, Response& response) = 0;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 1026;  // 0: any free one; the line printed at the start names it
  int threads = 1;  // event loops; connections are dealt out to them in turn
};

// Serves until SIGTERM or SIGINT, then closes everything and returns 0. Returns 1 when the port cannot be had.
int serve(const ServerOptions& options, Handler& handler);

// The value of NAME in a query string, or nothing; not percent-decoded.
std::string_view query_value(std::string_view query, std::string_view name);

}  // namespace broker
