#include "gate/measure/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"

namespace nightgate::measure {
namespace {

std::string full_url(const std::string& url, const std::string& base) {
  if (url.starts_with("http://") || url.starts_with("https://")) return url;
  return base + (url.starts_with('/') ? "" : "/") + url;
}

}  // namespace

bool is_expected(long status, const std::vector<int>& expected) {
  if (expected.empty()) return status >= 200 && status <= 299;
  return std::ranges::find(expected, status) != expected.end();
}

std::string expected_text(const std::vector<int>& expected) {
  return expected.empty() ? "200-299" : fmt::format("{}", fmt::join(expected, " or "));
}

std::string body_start(std::string_view body) {
  std::string out(body.substr(0, 200));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return body.size() > out.size() ? out + "..." : out;
}

Result<HttpResponse> send_call(HttpClient& client, const config::HttpCall& call, const Names& names,
                               const CallOptions& options) {
  HttpRequest request;
  request.method = call.method;
  NG_TRY(const auto url, names.expand(call.url));
  request.url = full_url(url, options.base_url);
  NG_TRY(request.body, names.expand(call.body));
  for (const auto& [name, value] : call.headers) {
    NG_TRY(auto expanded, names.expand(value));
    request.headers.emplace_back(name, std::move(expanded));
  }
  request.ca_file = options.ca_file;
  request.verify = options.verify_tls;
  request.timeout = options.timeout;
  return client.send(request);
}

Result<HttpResponse> expect_call(HttpClient& client, const config::HttpCall& call, const Names& names,
                                 const CallOptions& options) {
  NG_TRY(auto response, send_call(client, call, names, options));
  if (!is_expected(response.status, call.expect)) {
    return fail(Code::measure, fmt::format("{} {} answered {} where {} was expected: {}", call.method, call.url,
                                           response.status, expected_text(call.expect), body_start(response.body)));
  }
  return response;
}

Result<std::string> text_at(const HttpResponse& response, std::string_view pointer) {
  auto parsed = parse_json(response.body);
  if (!parsed) {
    return fail(Code::measure,
                fmt::format("the answer is no JSON ({}): {}", parsed.error().message, body_start(response.body)));
  }
  const nlohmann::json* value = nullptr;
  try {
    const nlohmann::json::json_pointer at{std::string(pointer)};
    if (parsed->contains(at)) value = &parsed->at(at);
  } catch (const nlohmann::json::exception&) {  // not a pointer, or an array index that is none
    value = nullptr;
  }
  if (value == nullptr) {
    return fail(Code::measure, fmt::format("the answer has nothing at {}: {}", pointer, body_start(response.body)));
  }
  if (value->is_string()) return value->get<std::string>();
  return dump_json(*value);
}

}  // namespace nightgate::measure
