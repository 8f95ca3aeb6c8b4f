// GitHub's REST interface, as little of it as nightgate uses: JSON in and out, every page, patience with limits.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/clock.hpp"
#include "gate/base/http.hpp"
#include "gate/base/result.hpp"

namespace nightgate::github {

struct Account {
  std::string api = "https://api.github.com";  // or an Enterprise server's .../api/v3
  std::string repository;                      // owner/name
  std::string token;                           // never printed, never in a URL
  std::string ca_file, proxy;
  std::chrono::seconds patience{120};  // longest time waited for a limit to pass, all waits of a call together
};
// From the config; the token from its variable or credential file. Code::denied when there is none.
[[nodiscard]] Result<Account> account_from(const config::GitHub& config);
// Code::usage unless it is https, or http on the loopback (an own fake or proxy).
[[nodiscard]] Status check_api(const std::string& api);

// One object per thread. Errors: Code::denied (401, 403 without a limit: no rights; also 404 on writes, which is how
// missing rights look), Code::not_found, Code::away (limits, 5xx and time-outs that outlast the patience),
// Code::bad_data (an answer that is not JSON, 422 with GitHub's own message, a redirect or page on another host).
// Redirects are followed on the same scheme, host and port only, so that the token never leaves it.
class Api {
 public:
  Api(HttpClient& http, Clock& clock, Account account);
  // `path` begins with a slash and is appended to .../repos/OWNER/NAME, or to the API's root when it begins with "//".
  [[nodiscard]] Result<nlohmann::json> get(const std::string& path);
  // All pages of a list (by the Link header, same host only), at most 100 of them.
  [[nodiscard]] Result<std::vector<nlohmann::json>> list(const std::string& path);
  [[nodiscard]] Result<nlohmann::json> post(const std::string& path, const nlohmann::json& body);
  [[nodiscard]] Result<nlohmann::json> patch(const std::string& path, const nlohmann::json& body);
  [[nodiscard]] Status remove(const std::string& path);
  // The login that the token belongs to ("github-actions[bot]" for a workflow's own token, which may not ask).
  [[nodiscard]] Result<std::string> login();
  // What GitHub says about the author of something that was just made with this token.
  void learn_login(const std::string& login) { login_ = login; }
  void wait(std::chrono::seconds duration) { clock_.sleep_for(duration); }

 private:
  [[nodiscard]] Result<HttpResponse> send(const std::string& method, const std::string& url, const std::string& body);
  [[nodiscard]] std::string url_of(const std::string& path) const;
  [[nodiscard]] Result<std::string> same_origin(const std::string& target, const char* what) const;
  void pause_between_writes();

  HttpClient& http_;
  Clock& clock_;
  Account account_;
  std::chrono::nanoseconds last_write_{0};
  std::string login_;
};

}  // namespace nightgate::github
