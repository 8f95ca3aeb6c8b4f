// HTTP(S) through libcurl: over TCP or a unix socket, always with time-outs and a cap on the answer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate {

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http:// or https:// only
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string unix_socket;  // path; empty: TCP
  std::string ca_file;      // empty: the system's
  bool verify = true;       // false only where the config says so
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds timeout{30000};  // the whole exchange
  std::size_t max_bytes = 16U << 20U;        // of the answer's body
  bool follow_redirects = false;             // follows at most 5; headers go to the same host only
  std::string proxy;                         // empty: from the environment, as curl does
  // When set, body bytes go here instead of into HttpResponse::body (max_bytes still holds); false stops the transfer.
  std::function<bool(std::string_view)> on_data;
};

struct HttpResponse {
  long status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, of the last answer
  std::string body;
  [[nodiscard]] std::optional<std::string> header(std::string_view lower_case_name) const;  // first one
};

// Any status is a response; errors are Code::away (did not connect, cut off, too slow), Code::denied (TLS refused),
// Code::bad_data (more than max_bytes, not HTTP).
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  [[nodiscard]] virtual Result<HttpResponse> send(const HttpRequest& request) = 0;
};

// The real one. Keeps connections alive between calls; one object per thread.
[[nodiscard]] std::unique_ptr<HttpClient> make_http_client();

// Percent-encodes one path segment or query value.
[[nodiscard]] std::string url_encode(std::string_view text);

}  // namespace nightgate
