// An HTTP client for fuzz targets whose answers are the fuzzer's bytes: "STATUS\nname: value\n...\n\nbody", parted by
// \x1e.
#pragma once

#include <memory>

#include "gate/base/clock.hpp"
#include "gate/base/http.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

namespace nightgate::fuzz {

class ScriptedClient final : public HttpClient {
 public:
  explicit ScriptedClient(std::string_view script) : rest_(script) {}

  Result<HttpResponse> send(const HttpRequest& request) override {
    require(request.url.starts_with("https://"), "no request without TLS");
    require(request.url.find_first_of(" \n\r") == std::string::npos, "an address is one word");
    if (rest_.empty()) return fail(Code::away, "the script has ended");
    const auto end = std::min(rest_.find('\x1e'), rest_.size());
    const auto answer = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return parsed(answer, request.max_bytes);
  }

 private:
  static Result<HttpResponse> parsed(std::string_view text, std::size_t max_bytes) {
    HttpResponse out;
    out.status = 200;
    auto head = text.substr(0, text.find("\n\n"));
    if (head.size() + 2 <= text.size()) out.body = text.substr(head.size() + 2);
    if (out.body.size() > max_bytes) return fail(Code::bad_data, "more than asked for");
    for (bool first = true; !head.empty(); first = false) {
      const auto line = head.substr(0, head.find('\n'));
      head.remove_prefix(std::min(line.size() + 1, head.size()));
      if (first) {
        out.status = 0;
        for (const char c : line.substr(0, 3)) out.status = out.status * 10 + (c >= '0' && c <= '9' ? c - '0' : 0);
        continue;
      }
      const auto colon = line.find(": ");
      if (colon != std::string_view::npos) out.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
    return out;
  }

  std::string_view rest_;
};

// Time passes only where somebody sleeps.
class FakeClock final : public Clock {
 public:
  Instant now() const override { return Instant{std::chrono::hours{500000}} + std::chrono::duration_cast<Micros>(at_); }
  std::chrono::nanoseconds monotonic() const override { return at_; }
  void sleep_for(std::chrono::nanoseconds duration) override {
    require(duration >= std::chrono::nanoseconds{0} && duration <= std::chrono::minutes(3), "no endless wait");
    at_ += duration;
  }

 private:
  std::chrono::nanoseconds at_{0};
};

}  // namespace nightgate::fuzz
