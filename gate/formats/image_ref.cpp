#include "gate/formats/image_ref.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gate/formats/reading.hpp"

namespace nightgate::formats {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter_or_digit(char c) { return is_digit(c) || is_small(c) || is_capital(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_ipv6(std::string_view text) {  // inside of [...]: only the alphabet; connecting says the rest
  return text.size() >= 2 && text.find(':') != std::string_view::npos &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_hex(c) || (c >= 'A' && c <= 'F') || c == ':' || c == '.'; });
}

bool is_domain(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || !is_ipv6(text.substr(1, end - 1))) return false;
    const auto rest = text.substr(end + 1);
    return rest.empty() || (rest[0] == ':' && is_port(rest.substr(1)));
  }
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    if (!is_port(text.substr(colon + 1))) return false;
    text = text.substr(0, colon);
  }
  for (;;) {
    const auto part = text.substr(0, text.find('.'));
    if (part.empty() || part.front() == '-' || part.back() == '-') return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) { return is_letter_or_digit(c) || c == '-'; })) return false;
    if (part.size() == text.size()) return true;
    text.remove_prefix(part.size() + 1);
  }
}

// alphanumerics [separator alphanumerics]..., separators: '.', '_', "__", any number of '-'.
bool is_path_component(std::string_view text) {
  const auto plain = [](char c) { return is_small(c) || is_digit(c); };
  std::size_t at = 0;
  for (;;) {
    const auto from = at;
    while (at < text.size() && plain(text[at])) ++at;
    if (at == from) return false;
    if (at == text.size()) return true;
    const char separator = text[at];
    const auto separator_from = at;
    if (separator != '.' && separator != '_' && separator != '-') return false;
    while (at < text.size() && text[at] == separator) ++at;
    const auto length = at - separator_from;
    if ((separator == '.' && length > 1) || (separator == '_' && length > 2)) return false;
  }
}

bool is_repository(std::string_view text) {
  for (;;) {
    const auto part = text.substr(0, text.find('/'));
    if (!is_path_component(part)) return false;
    if (part.size() == text.size()) return true;
    text.remove_prefix(part.size() + 1);
  }
}

bool names_domain(std::string_view first) {
  return first.find_first_of(".:[") != std::string_view::npos || first == "localhost" ||
         std::any_of(first.begin(), first.end(), is_capital);
}

// Takes the digest and the tag off the end of `rest`.
Status take_tail(std::string_view& rest, ImageRef& out, std::string_view whole) {
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    out.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_image_digest(out.digest)) {
      return fail(Code::usage, fmt::format("image {}: {} is no digest such as sha256 and 64 hexadecimal digits",
                                           in_quotes(whole), in_quotes(out.digest)));
    }
  }
  const auto colon = rest.rfind(':');
  const auto slash = rest.rfind('/');
  if (colon == std::string_view::npos || (slash != std::string_view::npos && slash > colon)) return {};
  out.tag = rest.substr(colon + 1);
  rest = rest.substr(0, colon);
  if (!is_image_tag(out.tag)) {
    return fail(Code::usage, fmt::format("image {}: {} is no tag (letters, digits, '_', '.', '-', at most 128)",
                                         in_quotes(whole), in_quotes(out.tag)));
  }
  return {};
}

}  // namespace

bool is_image_tag(std::string_view text) {
  if (text.empty() || text.size() > 128 || text[0] == '.' || text[0] == '-') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; });
}

bool is_image_digest(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.size() > 1024) return false;
  const auto algorithm = text.substr(0, colon), hex = text.substr(colon + 1);
  bool letter_next = true;  // components begin with a letter, separated by one of +._-
  for (const char c : algorithm) {
    const bool separator = c == '+' || c == '.' || c == '_' || c == '-';
    if (letter_next ? !(is_small(c) || is_capital(c)) : !(is_letter_or_digit(c) || separator)) return false;
    letter_next = separator;
  }
  if (letter_next || !std::all_of(hex.begin(), hex.end(), is_hex)) return false;
  if (algorithm == "sha256") return hex.size() == 64;
  if (algorithm == "sha512") return hex.size() == 128;
  return hex.size() >= 32;
}

Result<ImageRef> parse_image_ref(std::string_view text) {
  if (text.size() > 2048) return fail(Code::usage, fmt::format("an image name of {} bytes", text.size()));
  if (text.size() == 64 && std::all_of(text.begin(), text.end(), is_hex)) {
    return fail(Code::usage, fmt::format("image {} is 64 hexadecimal digits, which means an image id and not a name",
                                         in_quotes(text)));
  }
  ImageRef out;
  auto rest = text;
  NG_CHECK(take_tail(rest, out, text));
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos && names_domain(rest.substr(0, slash))) {
    out.registry = rest.substr(0, slash);
    out.repository = rest.substr(slash + 1);
    if (!is_domain(out.registry)) {
      return fail(Code::usage, fmt::format("image {}: {} is no host[:port] of a registry", in_quotes(text),
                                           in_quotes(out.registry)));
    }
    if (out.registry == "index.docker.io") out.registry = "docker.io";
  } else {
    out.registry = "docker.io";
    out.repository = rest;
  }
  if (!is_repository(out.repository)) {
    return fail(Code::usage,
                fmt::format("image {}: {} is no repository name (small letters and digits, with '.', '_', '-' "
                            "between them, parts separated by '/')",
                            in_quotes(text), in_quotes(out.repository)));
  }
  if (out.registry == "docker.io" && out.repository.find('/') == std::string::npos)
    out.repository.insert(0, "library/");
  if (out.registry.size() + 1 + out.repository.size() > 255)
    return fail(Code::usage, fmt::format("image {}: the name is longer than 255 bytes", in_quotes(text)));
  return out;
}

std::string ImageRef::reference() const { return !digest.empty() ? digest : !tag.empty() ? tag : "latest"; }

std::string ImageRef::text() const {
  return registry + "/" + repository + (tag.empty() ? "" : ":" + tag) + (digest.empty() ? "" : "@" + digest);
}

std::string ImageRef::api_host() const { return registry == "docker.io" ? "registry-1.docker.io" : registry; }

bool ImageRef::is_loopback() const {
  std::string_view host = registry;
  if (host.starts_with("[::1]")) return true;
  host = host.substr(0, host.find(':'));
  if (host == "localhost") return true;
  if (!host.starts_with("127.") || std::count(host.begin(), host.end(), '.') != 3)
    return false;  // not 127.0.0.1.evil.example
  return std::all_of(host.begin(), host.end(), [](char c) { return is_digit(c) || c == '.'; });
}

}  // namespace nightgate::formats
