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
  std::string url = {};  // http:// or https:// only
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::string unix_socket = {};  // path; empty: TCP
  std::string ca_file = {};      // empty: the system's
  bool verify = true;            // false only where the config says so
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds timeout{30000};  // the whole exchange
  std::size_t max_bytes = 16U << 20U;        // of the answer's body
  // Follows at most 5. Headers go to the same scheme, host and port only. A redirect that would send a body elsewhere,
  // or leave a unix socket, is not followed: it is the response. One from https to http is Code::denied.
  bool follow_redirects = false;
  std::string proxy = {};  // empty: from the environment, as curl does, but none for this very host
  // When set, body bytes go here instead of into HttpResponse::body (max_bytes still holds); false stops the transfer,
  // which is then a response like any other. Not called for redirects that are followed.
  std::function<bool(std::string_view)> on_data = {};
};

struct HttpResponse {
  long status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, of the last answer
  std::string body;
  [[nodiscard]] std::optional<std::string> header(std::string_view lower_case_name) const;  // first one
};

// Any status is a response; errors are Code::away (did not connect, cut off, too slow), Code::denied (TLS refused),
// Code::bad_data (more than max_bytes, not HTTP), Code::usage (no such address, method or header can be).
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
