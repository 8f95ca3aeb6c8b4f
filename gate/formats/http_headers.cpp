#include "gate/formats/http_headers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gate/formats/reading.hpp"

namespace nightgate::formats {
namespace {

std::string small(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_token_char(char c) {
  return is_letter_or_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token68_char(char c) {
  return is_letter_or_digit(c) || std::string_view("-._~+/").find(c) != std::string_view::npos;
}

class Cursor {
 public:
  Cursor(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  [[nodiscard]] std::size_t place() const { return at_; }
  void go_back(std::size_t place) { at_ = place; }
  bool take(char c) {
    if (peek() != c || done()) return false;
    ++at_;
    return true;
  }
  std::size_t spaces() {
    const auto from = at_;
    while (peek() == ' ' || peek() == '\t') ++at_;
    return at_ - from;
  }
  template <class Is>
  std::string_view while_is(Is is) {
    const auto from = at_;
    while (!done() && is(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }
  [[nodiscard]] Result<std::string> quoted_string() {
    std::string out;
    for (++at_; !done(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return out;
      }
      if (text_[at_] == '\\' && ++at_ >= text_.size()) break;
      out += text_[at_];
    }
    return wrong("a closing quote");
  }
  [[nodiscard]] Result<std::string> token_or_quoted() {
    if (peek() == '"') return quoted_string();
    const auto token = while_is(is_token_char);
    if (token.empty()) return wrong("a value");
    return std::string(token);
  }
  [[nodiscard]] Result<std::string> until(char end) {
    const auto found = text_.find(end, at_);
    if (found == std::string_view::npos) return wrong(fmt::format("a '{}'", end));
    std::string out(text_.substr(at_, found - at_));
    at_ = found + 1;
    return out;
  }
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view expected) const {
    return fail(Code::bad_data,
                fmt::format("{} header {}: expected {} at byte {}", what_, in_quotes(text_), expected, at_));
  }

 private:
  std::string_view text_, what_;
  std::size_t at_ = 0;
};

Status check_header(std::string_view header, std::string_view what) {
  if (header.size() > kMaxHeader)
    return fail(Code::bad_data,
                fmt::format("{} header of {} bytes, at most {} are taken", what, header.size(), kMaxHeader));
  const auto control = [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F; };
  if (std::any_of(header.begin(), header.end(), control))
    return fail(Code::bad_data, fmt::format("{} header holds control characters", what));
  return {};
}

Result<Link> read_link(Cursor& in) {
  Link out;
  if (!in.take('<')) return in.wrong("'<'");
  NG_TRY(out.target, in.until('>'));
  for (in.spaces(); in.take(';'); in.spaces()) {
    in.spaces();
    if (in.peek() == ';' || in.peek() == ',' || in.done()) continue;  // empty parameters do occur
    const auto name = in.while_is(is_token_char);
    if (name.empty()) return in.wrong("a parameter");
    in.spaces();
    std::string value;
    if (in.take('=')) {
      in.spaces();
      if (in.peek() == '"') {
        NG_TRY(value, in.quoted_string());
      } else {  // servers write bare values with characters beyond tokens
        value = in.while_is([](char c) { return c != ';' && c != ',' && c != ' ' && c != '\t'; });
      }
    }
    out.parameters.try_emplace(small(name), std::move(value));
  }
  return out;
}

// name=value behind a scheme. False when what follows is no parameter (the next challenge, or the end).
Result<bool> read_parameter(Cursor& in, Challenge& out) {
  const auto start = in.place();
  const auto name = in.while_is(is_token_char);
  in.spaces();
  if (name.empty() || !in.take('=')) {
    in.go_back(start);
    return false;
  }
  in.spaces();
  NG_TRY(auto value, in.token_or_quoted());
  if (!out.parameters.try_emplace(small(name), std::move(value)).second) return in.wrong("each parameter once");
  return true;
}

// `Negotiate YII=`: no name=value, but one lump that may end in '='.
bool read_token68(Cursor& in, Challenge& out) {
  const auto start = in.place();
  std::string lump(in.while_is(is_token68_char));
  lump += in.while_is([](char c) { return c == '='; });
  in.spaces();
  if (!lump.empty() && (in.done() || in.peek() == ',')) {
    out.token = std::move(lump);
    return true;
  }
  in.go_back(start);
  return false;
}

void skip_commas(Cursor& in) {
  for (in.spaces(); in.take(',');) in.spaces();
}

}  // namespace

bool Link::has_rel(std::string_view relation) const {
  const auto rel = parameters.find("rel");
  if (rel == parameters.end()) return false;
  std::string_view words = rel->second;
  while (!words.empty()) {
    const auto word = words.substr(0, words.find(' '));
    if (small(word) == small(relation)) return true;
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return false;
}

Result<std::vector<Link>> parse_links(std::string_view header) {
  NG_CHECK(check_header(header, "Link"));
  Cursor in(header, "Link");
  std::vector<Link> out;
  for (skip_commas(in); !in.done();) {
    NG_TRY(auto link, read_link(in));
    out.push_back(std::move(link));
    if (in.done()) break;
    if (in.peek() != ',') return in.wrong("',' or ';'");
    skip_commas(in);
  }
  return out;
}

Result<std::optional<std::string>> next_link(std::string_view header) {
  NG_TRY(const auto links, parse_links(header));
  for (const auto& link : links) {
    if (link.has_rel("next")) return std::optional<std::string>(link.target);
  }
  return std::optional<std::string>();
}

Result<std::vector<Challenge>> parse_challenges(std::string_view header) {
  NG_CHECK(check_header(header, "WWW-Authenticate"));
  Cursor in(header, "WWW-Authenticate");
  std::vector<Challenge> out;
  for (skip_commas(in); !in.done();) {
    Challenge challenge;
    challenge.scheme = small(in.while_is(is_token_char));
    if (challenge.scheme.empty()) return in.wrong("a scheme");
    const bool spaced = in.spaces() > 0;
    if (spaced && !in.done() && in.peek() != ',' && !read_token68(in, challenge)) {
      for (;;) {
        NG_TRY(const bool found, read_parameter(in, challenge));
        if (!found) break;
        in.spaces();
        if (!in.done() && in.peek() != ',') return in.wrong("','");
        skip_commas(in);
      }
      if (challenge.parameters.empty()) return in.wrong("a parameter");
    }
    out.push_back(std::move(challenge));
    if (!in.done() && in.peek() == '=') return in.wrong("a scheme");
    skip_commas(in);
  }
  return out;
}

}  // namespace nightgate::formats
