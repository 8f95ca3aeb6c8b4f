#include "config/names.hpp"

#include <algorithm>

namespace nightgate::config {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Length of the name that begins at `at`, 0 when what stands there is no name.
std::size_t name_length(std::string_view text, std::size_t at) {
  if (at >= text.size() || !is_letter(text[at])) return 0;
  std::size_t end = at;
  bool dotted = false;
  while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) || text[end] == '-' || text[end] == '.')) {
    if (text[end] == '.') {
      if (dotted) return 0;
      dotted = true;
    }
    ++end;
  }
  return end - at;
}

// One piece of a string: plain text (also the inside of an escape), or a name.
struct Piece {
  bool is_name = false;
  std::string_view text;
};

std::vector<Piece> split(std::string_view text) {
  std::vector<Piece> pieces;
  std::size_t plain = 0;
  const auto flush = [&](std::size_t end) {
    if (end > plain) pieces.push_back({false, text.substr(plain, end - plain)});
  };
  for (std::size_t i = text.find('{'); i != std::string_view::npos; i = text.find('{', i)) {
    const bool doubled = text.substr(i).starts_with("{{");
    const std::size_t begin = i + (doubled ? 2 : 1);
    const std::size_t length = name_length(text, begin);
    const std::string_view closing = doubled ? "}}" : "}";
    if (length == 0 || !text.substr(begin + length).starts_with(closing)) {
      ++i;
      continue;
    }
    flush(i);
    if (doubled) {
      pieces.push_back({false, text.substr(i + 1, length + 2)});
    } else {
      pieces.push_back({true, text.substr(begin, length)});
    }
    i = plain = begin + length + closing.size();
  }
  flush(text.size());
  return pieces;
}

}  // namespace

Result<std::string> expand_names(std::string_view text, const Lookup& lookup) {
  std::string out;
  for (const Piece& piece : split(text)) {
    if (!piece.is_name) {
      out += piece.text;
      continue;
    }
    const auto value = lookup(piece.text);
    if (!value) {
      const std::string name(piece.text);
      return fail(Code::usage, "nothing is known by the name {" + name + "} in \"" + std::string(text) +
                                   "\"; write {{" + name + "}} if the text itself is meant");
    }
    out += *value;
  }
  return out;
}

Result<std::vector<std::string>> expand_names(const std::vector<std::string>& texts, const Lookup& lookup) {
  std::vector<std::string> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) {
    NG_TRY(std::string expanded, expand_names(text, lookup));
    out.push_back(std::move(expanded));
  }
  return out;
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (const Piece& piece : split(text)) {
    if (piece.is_name) names.emplace_back(piece.text);
  }
  return names;
}

std::vector<std::string> target_names() { return {"sha", "short", "pr", "n"}; }

std::vector<std::string> build_names() { return {"sha", "short", "pr", "n", "out", "state"}; }

std::vector<std::string> runtime_names(const Deployment& deployment) {
  std::vector<std::string> names = {"sha", "short", "pr", "n", "cpus", "load_cpus", "target", "state", "out"};
  const auto add = [&](const Node& node) {
    for (const char* what : {"url", "host", "port", "cpus"}) names.push_back(node.name + "." + what);
  };
  std::ranges::for_each(deployment.services, add);
  std::ranges::for_each(deployment.brokers, add);
  return names;
}

}  // namespace nightgate::config
