#include "gate/targets/registry.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "gate/base/files.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "gate/formats/http_headers.hpp"
#include "gate/targets/base64.hpp"

namespace nightgate::targets {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_manifest = 4U << 20U;  // what the specification asks registries to take at least
constexpr std::size_t max_config = 16U << 20U;
constexpr int max_pages = 10000;
constexpr std::chrono::seconds longest_wait{30};

constexpr const char* manifest_types =
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

std::string own_architecture() {
  utsname name{};
  if (::uname(&name) != 0) return "amd64";
  const std::string machine = name.machine;
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return machine;
}

const Json& at(const Json& json, const char* key) {
  static const Json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}
std::string text_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool may_help(long status) { return status == 429 || status == 500 || status == 502 || status == 503 || status == 504; }

// Seconds asked for by Retry-After, else a short wait that doubles.
std::chrono::milliseconds wait_before(const std::optional<std::string>& retry_after, int attempt) {
  int seconds = 0;
  if (retry_after) {
    const auto [end, error] = std::from_chars(retry_after->data(), retry_after->data() + retry_after->size(), seconds);
    if (error == std::errc{} && seconds >= 0)
      return std::min<std::chrono::milliseconds>(std::chrono::seconds(seconds), longest_wait);
  }
  return std::chrono::milliseconds(250) * (1 << std::min(attempt, 6));
}

// First message of {"errors":[{"code":..,"message":..}]}.
std::string message_of(const HttpResponse& response) {
  const auto json = parse_json(response.body);
  if (!json) return fmt::format("status {}", response.status);
  const Json& errors = at(*json, "errors");
  const std::string text = errors.is_array() && !errors.empty() ? text_at(errors[0], "message") : std::string();
  return text.empty() ? fmt::format("status {}", response.status)
                      : fmt::format("status {}, {}", response.status, text.substr(0, 300));
}

std::string origin_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  return std::string(url.substr(0, url.find_first_of("/?#", scheme + 3)));
}

}  // namespace

Registry::Registry(RegistryOptions options, std::unique_ptr<HttpClient> http)
    : options_(std::move(options)), http_(std::move(http)) {
  if (options_.architecture.empty()) options_.architecture = own_architecture();
}

std::string Registry::base(const formats::ImageRef& image) const {
  const bool plain = options_.plain_http || (image.is_loopback() && options_.ca_file.empty());
  return (plain ? "http://" : "https://") + image.api_host();
}

Result<HttpResponse> Registry::ask_patiently(const HttpRequest& request) {
  for (int attempt = 0;; ++attempt) {
    auto response = http_->send(request);
    const bool last = attempt + 1 >= options_.attempts;
    const bool again = response ? may_help(response->status) : response.error().code == Code::away;
    if (!again) return response;
    if (last && response)
      return fail(Code::away, fmt::format("{} answered with {}", origin_of(request.url), message_of(*response)));
    if (last) return response;
    std::this_thread::sleep_for(wait_before(response ? response->header("retry-after") : std::nullopt, attempt));
  }
}

Result<HttpResponse> Registry::ask(const formats::ImageRef& image, HttpRequest request) {
  const std::string key = image.registry + "/" + image.repository;
  request.ca_file = options_.ca_file;
  request.follow_redirects = true;  // blobs come from other hosts; our headers do not go there
  const std::size_t own_headers = request.headers.size();
  for (int round = 0;; ++round) {
    request.headers.resize(own_headers);
    if (const auto known = authorization_.find(key); known != authorization_.end()) {
      request.headers.emplace_back("Authorization", known->second);
    }
    NG_TRY(auto response, ask_patiently(request));
    if (response.status == 404) return fail(Code::not_found, "there is no " + image.text());
    if (response.status == 401 && round == 0) {  // no token yet, or an expired one
      authorization_.erase(key);
      NG_CHECK(authenticate(image, response));
      continue;
    }
    if (response.status == 401 || response.status == 403) {
      return fail(
          Code::denied,
          fmt::format("{} does not let us see {}: {}; {}", image.registry, image.repository, message_of(response),
                      options_.login ? "are user name and password right?"
                                     : "give \"username\" and \"password_env\" in \"targets.image\""));
    }
    if (response.status < 200 || response.status > 299) {
      return fail(Code::away,
                  fmt::format("{} answered for {} with {}", image.registry, image.repository, message_of(response)));
    }
    return response;
  }
}

Status Registry::authenticate(const formats::ImageRef& image, const HttpResponse& refused) {
  const std::string key = image.registry + "/" + image.repository;
  const auto header = refused.header("www-authenticate");
  const auto challenges = formats::parse_challenges(header.value_or(""));
  if (!challenges) return fail(Code::denied, image.registry + " asks for credentials in a way that is not understood");
  for (const auto& challenge : *challenges) {
    if (challenge.scheme == "bearer") {
      NG_TRY(const std::string token, fetch_token(challenge.parameters, image));
      authorization_[key] = "Bearer " + token;
      return {};
    }
    if (challenge.scheme == "basic" && options_.login) {
      authorization_[key] = "Basic " + base64(options_.login->username + ":" + options_.login->password);
      return {};
    }
  }
  return fail(Code::denied,
              fmt::format("{} wants credentials for {}; give \"username\" and \"password_env\" in \"targets.image\"",
                          image.registry, image.repository));
}

Result<std::string> Registry::fetch_token(const std::map<std::string, std::string>& challenge,
                                          const formats::ImageRef& image) {
  const auto value = [&](const char* name) {
    const auto found = challenge.find(name);
    return found == challenge.end() ? std::string() : found->second;
  };
  const std::string realm = value("realm");
  const bool plain_allowed = base(image).starts_with("http://");
  if (!realm.starts_with("https://") && !(plain_allowed && realm.starts_with("http://"))) {
    return fail(Code::denied,
                image.registry + " sends us to a token service without TLS; our password does not go there");
  }
  if (std::ranges::any_of(realm, [](unsigned char c) { return c <= ' ' || c >= 0x7f; })) {
    return fail(Code::denied, image.registry + " sends us to a token service whose address is none");
  }
  std::string scope = value("scope");
  if (scope.empty()) scope = "repository:" + image.repository + ":pull";
  HttpRequest request;
  request.url = realm + (realm.find('?') == std::string::npos ? "?" : "&") + "scope=" + url_encode(scope);
  if (const auto service = value("service"); !service.empty()) request.url += "&service=" + url_encode(service);
  request.ca_file = options_.ca_file;
  request.max_bytes = 1U << 20U;
  if (options_.login) {
    request.headers.emplace_back("Authorization",
                                 "Basic " + base64(options_.login->username + ":" + options_.login->password));
  }
  NG_TRY(const auto response, ask_patiently(request));
  if (response.status != 200) {
    return fail(Code::denied,
                fmt::format("the token service of {} refused us: {}", image.registry, message_of(response)));
  }
  NG_TRY(const Json json, parse_json(response.body));
  std::string token = text_at(json, "token");
  if (token.empty()) token = text_at(json, "access_token");
  if (token.empty())
    return fail(Code::bad_data, "the token service of " + image.registry + " answered without a token");
  log::hide(token);
  return token;
}

Result<std::string> Registry::digest(const formats::ImageRef& image) {
  HttpRequest request;
  request.method = "HEAD";
  request.url = fmt::format("{}/v2/{}/manifests/{}", base(image), image.repository, image.reference());
  request.headers = {{"Accept", manifest_types}};
  NG_TRY(const auto response, ask(image, request));
  const auto digest = response.header("docker-content-digest");
  if (digest && formats::is_image_digest(*digest)) {
    if (image.digest.empty() || image.digest == *digest) return *digest;
    return fail(Code::bad_data,
                fmt::format("{} answered for {} with another digest, {}", image.registry, image.text(), *digest));
  }
  NG_TRY(const auto whole, manifest(image, image.reference()));  // registries need not say it: then it is computed
  return whole.digest;
}

Result<Registry::Manifest> Registry::manifest(const formats::ImageRef& image, const std::string& reference) {
  HttpRequest request;
  request.url = fmt::format("{}/v2/{}/manifests/{}", base(image), image.repository, reference);
  request.headers = {{"Accept", manifest_types}};
  request.max_bytes = max_manifest;
  auto response = ask(image, request);
  if (!response) return with_context(response.error(), "reading the manifest of " + image.text());
  Manifest out{std::move(response->body), ""};
  out.digest = "sha256:" + sha256_hex(out.body);
  const std::string said = response->header("docker-content-digest").value_or(out.digest);
  const std::string wanted = reference.starts_with("sha256:") ? reference : said;
  if (wanted.starts_with("sha256:") && wanted != out.digest) {
    return fail(Code::bad_data, fmt::format("the manifest of {} is not what its digest says: {} came, {} was promised",
                                            image.text(), out.digest, wanted));
  }
  return out;
}

// From an index to the image for this platform, and from there to its configuration.
Result<std::string> Registry::config_digest(const formats::ImageRef& image) {
  std::string reference = image.reference();
  for (int depth = 0; depth < 3; ++depth) {
    NG_TRY(const Manifest found, manifest(image, reference));
    const auto json = parse_json(found.body);
    if (!json || !json->is_object()) return fail(Code::bad_data, "the manifest of " + image.text() + " is not JSON");
    const std::string config = text_at(at(*json, "config"), "digest");
    if (formats::is_image_digest(config)) return config;
    const Json& entries = at(*json, "manifests");
    if (!entries.is_array()) {
      return fail(Code::bad_data,
                  "the manifest of " + image.text() + " is of a kind that is not known (or of the old schema 1)");
    }
    std::string chosen;
    std::set<std::string> platforms;
    for (const Json& entry : entries) {
      const Json& platform = at(entry, "platform");
      const std::string name = text_at(platform, "os") + "/" + text_at(platform, "architecture");
      if (name == options_.os + "/" + options_.architecture && chosen.empty()) chosen = text_at(entry, "digest");
      if (name != "unknown/unknown" && name != "/") platforms.insert(name);
    }
    if (chosen.empty() && entries.size() == 1) chosen = text_at(entries[0], "digest");
    if (!formats::is_image_digest(chosen)) {
      std::string known;
      for (const auto& name : platforms) known += (known.empty() ? "" : ", ") + name;
      return fail(Code::not_found, fmt::format("{} has no image for {}/{}, only for: {}", image.text(), options_.os,
                                               options_.architecture, known.empty() ? "nothing" : known));
    }
    reference = chosen;
  }
  return fail(Code::bad_data, image.text() + " is an index of indexes of indexes");
}

Result<std::map<std::string, std::string>> Registry::labels(const formats::ImageRef& image) {
  NG_TRY(const std::string digest, config_digest(image));
  HttpRequest request;
  request.url = fmt::format("{}/v2/{}/blobs/{}", base(image), image.repository, digest);
  request.max_bytes = max_config;
  NG_TRY(const auto response, ask(image, request));
  if (digest.starts_with("sha256:") && digest != "sha256:" + sha256_hex(response.body)) {
    return fail(Code::bad_data, "the configuration of " + image.text() + " is not what its digest says");
  }
  const auto json = parse_json(response.body);
  if (!json || !json->is_object()) return fail(Code::bad_data, "the configuration of " + image.text() + " is not JSON");
  std::map<std::string, std::string> out;
  const Json& labels = at(at(*json, "config"), "Labels");
  if (!labels.is_object()) return out;
  for (const auto& [name, value] : labels.items()) {
    if (value.is_string()) out[name] = value.get<std::string>();
  }
  return out;
}

Result<std::vector<std::string>> Registry::tags(const formats::ImageRef& image) {
  std::vector<std::string> out;
  std::string url = fmt::format("{}/v2/{}/tags/list?n=500", base(image), image.repository);
  for (int page = 0; page < max_pages; ++page) {
    HttpRequest request;
    request.url = url;
    NG_TRY(const auto response, ask(image, request));
    NG_TRY(const Json json, parse_json(response.body));
    const Json& tags = at(json, "tags");
    for (std::size_t i = 0; tags.is_array() && i < tags.size(); ++i) {
      if (tags[i].is_string() && formats::is_image_tag(tags[i].get<std::string>()))
        out.push_back(tags[i].get<std::string>());
    }
    const auto link = response.header("link");
    if (!link) return out;
    NG_TRY(const auto next, formats::next_link(*link));
    if (!next) return out;
    const std::string before = url;
    if (next->starts_with("/")) {
      url = base(image) + *next;
    } else if (origin_of(*next) == base(image)) {  // our token goes nowhere else
      url = *next;
    } else {
      return fail(Code::bad_data, image.registry + " continues its list of tags at another host");
    }
    if (url == before) return fail(Code::bad_data, image.registry + " continues its list of tags with the same page");
  }
  return fail(Code::bad_data, image.registry + " has a list of tags without an end");
}

}  // namespace nightgate::targets
