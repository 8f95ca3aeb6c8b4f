#include "ci/github/api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "gate/base/files.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "gate/formats/http_headers.hpp"

namespace nightgate::github {
namespace {

constexpr int most_pages = 100;
constexpr int most_tries = 5;
constexpr int most_redirects = 3;

std::optional<long long> whole_number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  long long value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

// GitHub's own words about an error, shortened.
std::string message_of(const HttpResponse& response) {
  const auto json = parse_json(response.body, {1U << 20U, 32, false});
  if (!json || !json->is_object() || !json->contains("message") || !(*json)["message"].is_string()) return "no message";
  auto message = (*json)["message"].get<std::string>().substr(0, 300);
  if (json->contains("errors")) message += " " + dump_json((*json)["errors"]).substr(0, 300);
  return message;
}

bool is_limit(const HttpResponse& r) {
  if (r.status == 429) return true;
  if (r.status != 403) return false;
  return r.header("retry-after").has_value() || r.header("x-ratelimit-remaining") == "0" ||
         message_of(r).find("rate limit") != std::string::npos;
}

// How long a limit asks to wait: Retry-After, else until the reset, else a minute (GitHub's advice for secondary
// limits).
std::chrono::seconds wait_of(const HttpResponse& r, Clock& clock) {
  if (const auto seconds = whole_number(r.header("retry-after"))) return std::chrono::seconds(std::max(1LL, *seconds));
  if (r.header("x-ratelimit-remaining") == "0") {
    if (const auto reset = whole_number(r.header("x-ratelimit-reset"))) {
      const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock.now().time_since_epoch()).count();
      return std::chrono::seconds(std::max(1LL, *reset - now + 1));
    }
  }
  return std::chrono::seconds(60);
}

Result<nlohmann::json> json_of(const HttpResponse& response, const std::string& what) {
  if (response.status == 204 || response.body.empty()) return nlohmann::json();
  auto json = parse_json(response.body);
  if (!json) return with_context(std::move(json).error(), "reading GitHub's answer to " + what);
  return json;
}

tl::unexpected<Error> refused(const HttpResponse& r, const std::string& what, bool write) {
  const auto said = fmt::format("GitHub answered {} to {}: {}", r.status, what, message_of(r));
  if (r.status == 401) return fail(Code::denied, said + "; the token is wrong or has expired");
  if (r.status == 403)
    return fail(Code::denied, said + "; the token may not do this (fork and Dependabot runs have read-only ones)");
  if (r.status == 404 && write)
    return fail(Code::denied, said + "; missing rights look like this, or the thing is gone");
  if (r.status == 404) return fail(Code::not_found, said);
  return fail(r.status >= 500 ? Code::away : Code::bad_data, said);
}

// "https://host:port" of an address, in small letters; the token goes to the origin it is for and to no other.
std::string origin_of(std::string_view url) {
  const auto scheme = url.find("://");
  const auto from = scheme == std::string_view::npos ? 0 : scheme + 3;
  std::string out(url.substr(0, url.find_first_of("/?#", from)));
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool is_redirect(long status) { return status == 301 || status == 302 || status == 307 || status == 308; }

bool is_loopback(const std::string& origin) {
  const auto host = origin.substr(0, origin.rfind(':') > 7 ? origin.rfind(':') : origin.size());
  return host == "http://127.0.0.1" || host == "http://localhost" || host == "http://[::1]";
}

}  // namespace

Status check_api(const std::string& api) {
  const auto origin = origin_of(api);
  if (origin.rfind("https://", 0) == 0 || is_loopback(origin)) return {};
  return fail(Code::usage,
              "the GitHub API's address must begin with https:// (a token would go over it in the clear): " +
                  origin.substr(0, 200));
}

Result<Account> account_from(const config::GitHub& config) {
  Account account;
  account.api = config.api;
  account.repository = config.repository;
  account.ca_file = config.ca_file;
  while (!account.api.empty() && account.api.back() == '/') account.api.pop_back();
  NG_CHECK(check_api(account.api));
  if (!config.token_file.empty()) {
    NG_TRY(account.token, read_file(config.token_file, 64U << 10U));
    while (!account.token.empty() && (account.token.back() == '\n' || account.token.back() == '\r'))
      account.token.pop_back();
    if (account.token.empty()) return fail(Code::denied, "the token file " + config.token_file.string() + " is empty");
    log::hide(account.token);
    return account;
  }
  NG_TRY(account.token, config::secret_from_environment(config.token_env));
  return account;
}

Api::Api(HttpClient& http, Clock& clock, Account account) : http_(http), clock_(clock), account_(std::move(account)) {}

std::string Api::url_of(const std::string& path) const {
  if (path.rfind("//", 0) == 0) return account_.api + path.substr(1);
  return account_.api + "/repos/" + account_.repository + path;
}

// An address from a Link or Location header, absolute or relative to the host.
Result<std::string> Api::same_origin(const std::string& target, const char* what) const {
  if (target.rfind('/', 0) == 0 && target.rfind("//", 0) != 0) return origin_of(account_.api) + target;
  if (origin_of(target) == origin_of(account_.api)) return target;
  return fail(Code::bad_data, std::string("GitHub's ") + what +
                                  " is on another host than the one configured; not followed, so that the token stays "
                                  "where it belongs (check report.github.api)");
}

// GitHub asks for at least a second between writes; more makes a secondary limit likely.
void Api::pause_between_writes() {
  const auto now = clock_.monotonic();
  const auto since = now - last_write_;
  if (last_write_.count() != 0 && since < std::chrono::seconds(1)) clock_.sleep_for(std::chrono::seconds(1) - since);
  last_write_ = clock_.monotonic();
}

Result<HttpResponse> Api::send(const std::string& method, const std::string& url, const std::string& body) {
  const bool write = method != "GET";
  HttpRequest request;
  request.method = method;
  request.url = url;
  request.body = body;
  request.ca_file = account_.ca_file;
  request.proxy = account_.proxy;
  // Redirects (a renamed or moved repository answers 301) are followed here, by the same method and on this host only.
  request.headers = {{"Authorization", "Bearer " + account_.token},
                     {"Accept", "application/vnd.github+json"},
                     {"X-GitHub-Api-Version", "2022-11-28"},
                     {"User-Agent", "nightgate"}};
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  std::chrono::seconds waited{0};
  int redirects = 0;
  for (int attempt = 1;; ++attempt) {
    if (write) pause_between_writes();
    auto response = http_.send(request);
    if (response && is_redirect(response->status) && response->header("location") && redirects < most_redirects) {
      NG_TRY(request.url, same_origin(*response->header("location"), "redirect"));
      ++redirects;
      --attempt;
      continue;
    }
    std::chrono::seconds wait{1LL << attempt};
    if (!response) {
      // A POST that timed out may have been carried out: markers make a repetition visible, so the caller looks again.
      if (response.error().code != Code::away || method == "POST" || attempt >= most_tries) return response;
    } else if (is_limit(*response)) {
      wait = wait_of(*response, clock_);
    } else if (response->status < 500 || method == "POST") {
      return response;
    }
    if (attempt >= most_tries || waited + wait > account_.patience) {
      if (!response) return response;
      return fail(Code::away, fmt::format("GitHub answered {} to {}: {}; given up after {} tries", response->status,
                                          method, message_of(*response), attempt));
    }
    waited += wait;
    clock_.sleep_for(wait);
  }
}

Result<nlohmann::json> Api::get(const std::string& path) {
  NG_TRY(const auto response, send("GET", url_of(path), ""));
  if (response.status != 200) return refused(response, "GET " + path, false);
  return json_of(response, "GET " + path);
}

Result<std::vector<nlohmann::json>> Api::list(const std::string& path) {
  std::vector<nlohmann::json> out;
  auto url = url_of(path + (path.find('?') == std::string::npos ? "?" : "&") + "per_page=100");
  for (int page = 0; page < most_pages; ++page) {
    NG_TRY(const auto response, send("GET", url, ""));
    if (response.status != 200) return refused(response, "GET " + path, false);
    NG_TRY(auto items, json_of(response, "GET " + path));
    if (!items.is_array()) return fail(Code::bad_data, "GitHub's answer to GET " + path + " is not a list");
    for (auto& item : items) out.push_back(std::move(item));
    const auto link = response.header("link");
    if (!link) return out;
    NG_TRY(const auto next, formats::next_link(*link));
    if (!next) return out;
    NG_TRY(url, same_origin(*next, "next page"));
  }
  return fail(Code::bad_data, fmt::format("GET {} has more than {} pages", path, most_pages));
}

Result<nlohmann::json> Api::post(const std::string& path, const nlohmann::json& body) {
  NG_TRY(const auto response, send("POST", url_of(path), dump_json(body)));
  if (response.status != 200 && response.status != 201) return refused(response, "POST " + path, true);
  return json_of(response, "POST " + path);
}

Result<nlohmann::json> Api::patch(const std::string& path, const nlohmann::json& body) {
  NG_TRY(const auto response, send("PATCH", url_of(path), dump_json(body)));
  if (response.status != 200) return refused(response, "PATCH " + path, true);
  return json_of(response, "PATCH " + path);
}

Status Api::remove(const std::string& path) {
  NG_TRY(const auto response, send("DELETE", url_of(path), ""));
  if (response.status == 204 || response.status == 200 || response.status == 404) return {};
  return refused(response, "DELETE " + path, true);
}

Result<std::string> Api::login() {
  if (!login_.empty()) return login_;
  NG_TRY(const auto response, send("GET", url_of("//user"), ""));
  if (response.status == 200) {
    NG_TRY(const auto user, json_of(response, "GET /user"));
    if (user.is_object() && user.contains("login") && user["login"].is_string())
      login_ = user["login"].get<std::string>();
  }
  if (response.status == 401) return refused(response, "GET /user", false);
  // A workflow's own token may not ask who it is (403); its comments are by this account. Another app's are not: the
  // answer to its first comment tells (learn_login).
  if (login_.empty()) login_ = "github-actions[bot]";
  return login_;
}

}  // namespace nightgate::github
