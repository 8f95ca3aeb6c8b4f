// One exchange by libcurl's easy interface; redirects are followed by hand in send(), so that headers and bodies never
// reach a host they were not meant for.
#include "gate/base/http.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace nightgate {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int most_redirects = 5;
constexpr std::size_t most_header_bytes = 256U << 10U;

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
using Easy = std::unique_ptr<CURL, Freer<curl_easy_cleanup>>;
using List = std::unique_ptr<curl_slist, Freer<curl_slist_free_all>>;
using Url = std::unique_ptr<CURLU, Freer<curl_url_cleanup>>;
using Text = std::unique_ptr<char, Freer<curl_free>>;

// curl_easy_setopt takes anything in C++; these say which type each option wants.
void set_long(CURL* easy, CURLoption option, long value) { curl_easy_setopt(easy, option, value); }
void set_off_t(CURL* easy, CURLoption option, curl_off_t value) { curl_easy_setopt(easy, option, value); }
void set_text(CURL* easy, CURLoption option, const std::string& value) {
  curl_easy_setopt(easy, option, value.c_str());
}
void set_pointer(CURL* easy, CURLoption option, void* value) { curl_easy_setopt(easy, option, value); }
using Sink = std::size_t (*)(char*, std::size_t, std::size_t, void*);
void set_sink(CURL* easy, CURLoption option, Sink value) { curl_easy_setopt(easy, option, value); }

struct Parts {
  std::string scheme, host, port, path;
  [[nodiscard]] std::string origin() const { return scheme + "://" + host + ":" + port; }
  // For messages: without user, password and query, any of which may be a secret.
  [[nodiscard]] std::string shown() const { return origin() + path.substr(0, 200); }
};

std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* raw = nullptr;
  if (curl_url_get(url, which, &raw, flags) != CURLUE_OK) return {};
  const Text owned(raw);
  return raw;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

Result<Parts> parts_of(const std::string& text) {
  const Url url(curl_url());
  const bool parsed = url && text.find('\0') == std::string::npos &&
                      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
  Parts parts;
  if (parsed) {
    parts = {lowered(part(url.get(), CURLUPART_SCHEME)), lowered(part(url.get(), CURLUPART_HOST)),
             part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT), part(url.get(), CURLUPART_PATH)};
  }
  if (parts.host.empty() || (parts.scheme != "http" && parts.scheme != "https")) {
    // What stands before an @ or behind a ? may be a secret.
    const auto shown = text.find('@') == std::string::npos ? text.substr(0, std::min(text.find('?'), std::size_t{200}))
                                                           : std::string("(one with a user name in it)");
    return fail(Code::usage, "not an http:// or https:// address: " + shown);
  }
  return parts;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

bool is_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";  // RFC 9110, 5.6.2
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
  });
}

Status check(const HttpRequest& request) {
  if (!is_token(request.method)) return fail(Code::usage, "not an HTTP method: " + request.method.substr(0, 40));
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return fail(Code::usage, fmt::format("HTTP header '{}' holds a line end or a character that is not allowed",
                                           name.substr(0, 60)));
    }
  }
  return {};
}

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// What one exchange has brought so far; written by the callbacks, which are C and must not throw.
struct Exchange {
  const HttpRequest* request = nullptr;
  HttpResponse response;
  std::size_t body_bytes = 0;
  std::size_t header_bytes = 0;
  bool too_large = false;
  bool headers_too_large = false;
  bool stopped_by_caller = false;
  bool broken = false;  // out of memory, or on_data threw

  [[nodiscard]] bool will_be_followed() const {
    return request->follow_redirects && is_redirect(response.status) && response.header("location").has_value();
  }

  bool take_header(std::string_view line) {
    header_bytes += line.size();
    if (header_bytes > most_header_bytes) {
      headers_too_large = true;
      return false;
    }
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {  // also after a 100 Continue, or a proxy's answer: only the last one counts
      response.headers.clear();
      const auto space = std::min(line.find(' '), line.size() - 1);
      std::from_chars(line.data() + space + 1, line.data() + line.size(), response.status);
      return true;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return true;
    auto value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    response.headers.emplace_back(lowered(line.substr(0, colon)), value);
    return true;
  }

  bool take_body(std::string_view bytes) {
    body_bytes += bytes.size();
    too_large = body_bytes > request->max_bytes;
    if (too_large) return false;
    if (will_be_followed()) return true;
    if (request->on_data) {
      stopped_by_caller = !request->on_data(bytes);
      return !stopped_by_caller;
    }
    response.body.append(bytes);
    return true;
  }
};

template <bool (Exchange::*Take)(std::string_view)>
std::size_t sink(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  try {
    if ((exchange.*Take)(std::string_view(bytes, size * count))) return size * count;
  } catch (...) {
    exchange.broken = true;
  }
  return size * count + 1;  // anything else than what was offered ends the transfer
}

Code code_of(CURLcode curl) {
  switch (curl) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return Code::denied;
    case CURLE_UNSUPPORTED_PROTOCOL:  // the address was checked before: this is an answer that isn't HTTP
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return Code::bad_data;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_FAILED_INIT:
      return Code::internal;
    default:
      return Code::away;
  }
}

class CurlClient final : public HttpClient {
 public:
  CurlClient() : easy_(curl_easy_init()) {}

  Result<HttpResponse> send(const HttpRequest& request) override {
    if (!easy_) return fail(Code::internal, "libcurl does not start");
    NG_CHECK(check(request));
    const auto deadline = SteadyClock::now() + std::clamp(request.timeout, milliseconds(1), milliseconds(86400000));
    HttpRequest step = request;
    for (int redirects = 0;; ++redirects) {
      NG_TRY(const auto here, parts_of(step.url));
      step.timeout = std::chrono::ceil<milliseconds>(deadline - SteadyClock::now());
      NG_TRY(auto response, exchange(step, here));
      if (!step.follow_redirects || !is_redirect(response.status) || !response.header("location")) return response;
      if (redirects == most_redirects) {
        return fail(Code::bad_data, fmt::format("{}: redirected more than {} times", here.shown(), most_redirects));
      }
      NG_TRY(const bool goes_on, redirect(step, response.status, here));
      if (!goes_on) return response;
    }
  }

 private:
  // Turns `step` into the request that follows the redirect just answered. False: it stays with that answer.
  Result<bool> redirect(HttpRequest& step, long status, const Parts& here) {
    char* target = nullptr;
    curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &target);
    if (target == nullptr) return fail(Code::bad_data, here.shown() + ": redirects to something that is no address");
    const std::string next = target;
    auto there = parts_of(next);
    if (!there) return fail(Code::bad_data, here.shown() + ": redirects to something else than http or https");
    if (here.scheme == "https" && there->scheme == "http") {
      return fail(Code::denied,
                  fmt::format("{}: redirects to {}, which is not encrypted", here.shown(), there->shown()));
    }
    const bool becomes_get = (status == 303 && step.method != "HEAD") || (status < 303 && step.method == "POST");
    if (becomes_get) {
      step.method = "GET";
      step.body.clear();
    }
    if (there->origin() != here.origin()) {
      // A socket leads to one service only, and a body may be as secret as a header.
      if (!step.unix_socket.empty() || !step.body.empty()) return false;
      step.headers.clear();
    }
    step.url = next;
    return true;
  }

  Result<HttpResponse> exchange(const HttpRequest& request, const Parts& parts) {
    Exchange exchange;
    exchange.request = &request;
    CURL* easy = easy_.get();
    curl_easy_reset(easy);  // options only: connections stay
    error_text_.fill('\0');
    set_pointer(easy, CURLOPT_ERRORBUFFER, error_text_.data());
    set_limits(request);
    set_transport(request, parts);
    set_method(request);
    const List headers = header_list(request);
    set_pointer(easy, CURLOPT_HTTPHEADER, headers.get());
    set_sink(easy, CURLOPT_HEADERFUNCTION, &sink<&Exchange::take_header>);
    set_pointer(easy, CURLOPT_HEADERDATA, &exchange);
    set_sink(easy, CURLOPT_WRITEFUNCTION, &sink<&Exchange::take_body>);
    set_pointer(easy, CURLOPT_WRITEDATA, &exchange);

    const CURLcode result = curl_easy_perform(easy);
    if (result == CURLE_OK || exchange.stopped_by_caller) return std::move(exchange.response);
    return failure(result, exchange, request, parts);
  }

  void set_limits(const HttpRequest& request) {
    CURL* easy = easy_.get();
    const auto at_least_one = [](milliseconds time) { return std::max<long>(time.count(), 1); };  // 0 would be no limit
    set_long(easy, CURLOPT_NOSIGNAL, 1);
    set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, at_least_one(request.connect_timeout));
    set_long(easy, CURLOPT_TIMEOUT_MS, at_least_one(request.timeout));
    set_long(easy, CURLOPT_FOLLOWLOCATION, 0);
    set_long(easy, CURLOPT_TCP_KEEPALIVE, 1);
#if LIBCURL_VERSION_NUM >= 0x075500
    set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    set_long(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  }

  void set_transport(const HttpRequest& request, const Parts& parts) {
    CURL* easy = easy_.get();
    set_text(easy, CURLOPT_URL, request.url);
    set_text(easy, CURLOPT_USERAGENT, "nightgate");
    if (!request.unix_socket.empty()) set_text(easy, CURLOPT_UNIX_SOCKET_PATH, request.unix_socket);
    // An empty proxy means none at all. What runs on this host is never behind one.
    if (!request.unix_socket.empty() || (request.proxy.empty() && is_loopback(parts.host))) {
      set_text(easy, CURLOPT_PROXY, "");
    } else if (!request.proxy.empty()) {
      set_text(easy, CURLOPT_PROXY, request.proxy);
    }
    if (!request.ca_file.empty()) set_text(easy, CURLOPT_CAINFO, request.ca_file);
    set_long(easy, CURLOPT_SSL_VERIFYPEER, request.verify ? 1 : 0);
    set_long(easy, CURLOPT_SSL_VERIFYHOST, request.verify ? 2 : 0);
  }

  void set_method(const HttpRequest& request) {
    CURL* easy = easy_.get();
    if (request.method == "HEAD") {
      set_long(easy, CURLOPT_NOBODY, 1);
      return;
    }
    const bool always_has_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
    if (always_has_body || !request.body.empty()) {
      // Not copied: the request outlives the exchange.
      set_off_t(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    } else {
      set_long(easy, CURLOPT_HTTPGET, 1);
    }
    set_text(easy, CURLOPT_CUSTOMREQUEST, request.method);
  }

  List header_list(const HttpRequest& request) {
    List list;
    const auto add = [&list](const std::string& line) {
      if (auto* longer = curl_slist_append(list.get(), line.c_str())) {
        (void)list.release();
        list.reset(longer);
      }
    };
    bool has_type = false;
    bool has_encoding = false;
    for (const auto& [name, value] : request.headers) {
      add(value.empty() ? name + ";" : name + ": " + value);  // "name:" would remove the header
      has_type = has_type || lowered(name) == "content-type";
      has_encoding = has_encoding || lowered(name) == "accept-encoding";
    }
    add("Expect:");                       // no "100-continue", which costs a second with some servers
    if (!has_type) add("Content-Type:");  // no form type that nobody asked for
    if (!has_encoding) set_text(easy_.get(), CURLOPT_ACCEPT_ENCODING, "");  // all that this libcurl can undo
    return list;
  }

  tl::unexpected<Error> failure(CURLcode result, const Exchange& exchange, const HttpRequest& request,
                                const Parts& parts) {
    const auto where = request.unix_socket.empty() ? parts.shown() : request.unix_socket + parts.path.substr(0, 200);
    const auto head = request.method + " " + where;
    if (exchange.too_large) {
      return fail(Code::bad_data, fmt::format("{}: more than the {} bytes taken at most", head, request.max_bytes));
    }
    if (exchange.headers_too_large) {
      return fail(Code::bad_data, fmt::format("{}: more than {} bytes of headers", head, most_header_bytes));
    }
    if (exchange.broken) return fail(Code::internal, head + ": the answer could not be kept");
    const std::string_view detail = error_text_.front() != '\0' ? error_text_.data() : curl_easy_strerror(result);
    return fail(code_of(result), fmt::format("{}: {}", head, detail));
  }

  Easy easy_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

}  // namespace

std::optional<std::string> HttpResponse::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return std::nullopt;
}

std::unique_ptr<HttpClient> make_http_client() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);  // once, whichever thread comes first
  (void)started;
  return std::make_unique<CurlClient>();
}

std::string url_encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view kept = "-._~";  // RFC 3986, 2.3
  std::string out;
  for (const char c : text) {
    if ((lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return out;
}

}  // namespace nightgate
