// Requests nightgate makes itself: readiness, identity, set-up, fixture, counts, equivalence. Never the load.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "gate/base/http.hpp"
#include "gate/base/result.hpp"
#include "gate/measure/names.hpp"

namespace nightgate::measure {

struct CallOptions {
  std::string base_url;  // for calls that give a path only
  std::string ca_file;
  bool verify_tls = true;
  std::chrono::milliseconds timeout{30000};
};

// Expands the names in url, headers and body and sends it. Any status is a response; Code::away when nothing answered.
[[nodiscard]] Result<HttpResponse> send_call(HttpClient& client, const config::HttpCall& call, const Names& names,
                                             const CallOptions& options);
// The same, and Code::measure with the beginning of the body when the status is not one of those expected.
[[nodiscard]] Result<HttpResponse> expect_call(HttpClient& client, const config::HttpCall& call, const Names& names,
                                               const CallOptions& options);
// Is the status one of `expected` (empty: 200-299)?
[[nodiscard]] bool is_expected(long status, const std::vector<int>& expected);
[[nodiscard]] std::string expected_text(const std::vector<int>& expected);  // "200-299", "201 or 204"

// Text of the value at a JSON pointer of a response's body; a number without its fraction when it has none.
// Code::measure when the body is no JSON or holds nothing there.
[[nodiscard]] Result<std::string> text_at(const HttpResponse& response, std::string_view pointer);
// For messages: the beginning of a body on one line.
[[nodiscard]] std::string body_start(std::string_view body);

}  // namespace nightgate::measure
