#include "ci/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gate/base/files.hpp"

namespace nightgate::report {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// One UTF-8 sequence by the table of RFC 3629, overlong forms and surrogates refused.
CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const auto first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t value = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, length, true};
}

bool reorders_text(std::uint32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F || c == 0x061C;
}

// Calls `put(code point text, code point)` for each character that may be shown.
template <class Put>
void each_shown(std::string_view text, Put put) {
  while (!text.empty()) {
    const auto c = decode(text);
    const auto raw = text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
    if (!c.valid || (c.value < 0x20 && c.value != '\n' && c.value != '\t') || (c.value >= 0x7F && c.value < 0xA0)) {
      put(replacement, std::uint32_t{0xFFFD});
    } else if (!reorders_text(c.value)) {
      put(raw, c.value);
    }
  }
}

// 1234567.8 -> 1,234,567.8
std::string with_thousands(const std::string& digits) {
  const auto point = std::min(digits.find('.'), digits.size());
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool first = i == 0 || digits[i - 1] == '-';
    if (i < point && !first && (point - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  each_shown(text, [&](std::string_view raw, std::uint32_t c) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += raw;
    }
  });
  return out;
}

std::string plain(std::string_view text) {
  std::string out;
  each_shown(text, [&](std::string_view raw, std::uint32_t c) {
    out += c == '\n' || c == '\t' ? std::string_view(" ") : raw;
  });
  return out;
}

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool begins(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

// GitHub makes a link of "www." and a reference of "GH-1". It looks at what is shown, so that a character reference
// does not help; a zero-width joiner does.
std::string without_autolinks(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto rest = text.substr(i);
    const std::size_t length = begins(rest, "www.") ? 3 : begins(rest, "gh-") ? 3 : 0;
    if (length == 0) {
      out += text[i];
      continue;
    }
    out.append(rest.substr(0, length)).append("\xE2\x80\x8D");
    i += length - 1;
  }
  return out;
}

}  // namespace

std::string escape_markdown(std::string_view text) {
  std::string out;
  each_shown(text, [&](std::string_view raw, std::uint32_t c) {
    if (c == '\n' || c == '\t') {
      out += ' ';
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '@' || c == '#') {
      // A zero-width joiner behind it: no mention, no reference, and the same to the eye.
      out += raw;
      out += "\xE2\x80\x8D";
    } else if (c < 0x80 && std::string_view("\\`*_{}[]()!|~$").find(static_cast<char>(c)) != std::string_view::npos) {
      out += '\\';
      out += raw;
    } else if (c == ':') {
      out += "&#58;";  // no automatic link, no emoji code
    } else {
      out += raw;
    }
  });
  return without_autolinks(out);
}

std::string shorten(std::string_view text, std::size_t most) {
  std::size_t at = 0, count = 0;
  while (at < text.size()) {
    if (count == most) return std::string(text.substr(0, at)) + "\xE2\x80\xA6";
    at += decode(text.substr(at)).bytes;
    ++count;
  }
  return std::string(text);
}

std::string number(double value) {
  if (!std::isfinite(value)) return "\xE2\x80\x93";
  if (value == 0) return "0";
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  const int decimals = std::clamp(3 - digits, 0, 9);
  return with_thousands(fmt::format("{:.{}f}", value, decimals));
}

std::string tick_text(double value) {
  auto out = number(value);
  if (out.find('.') == std::string::npos) return out;
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string minute_of(std::string_view rfc3339) {
  if (rfc3339.size() < 16 || rfc3339[10] != 'T') return std::string(rfc3339);
  return fmt::format("{} {} UTC", rfc3339.substr(0, 10), rfc3339.substr(11, 5));
}

namespace {
constexpr std::string_view times_as_bad = " times as bad", times_as_good = " times as good";
}

std::string percent(double share) {
  if (!std::isfinite(share)) return "\xE2\x80\x93";
  if (std::abs(share) >= 1) return number(1 + std::abs(share)).append(share < 0 ? times_as_bad : times_as_good);
  auto out = fmt::format("{:+.1f} %", 100 * share);
  for (int decimals = 2; out.substr(1, 3) == "100" && decimals < 7; ++decimals)  // less than all of it
    out = fmt::format("{:+.{}f} %", 100 * share, decimals);
  if (out == "-0.0 %" || out == "+0.0 %") return "0.0 %";
  return out;
}

std::string percent_range(double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high)) return "\xE2\x80\x93";
  auto first = percent(low);
  const auto second = percent(high);
  for (const auto words : {times_as_bad, times_as_good}) {
    if (first.ends_with(words) && second.ends_with(words)) first.resize(first.size() - words.size());
  }
  return first + " to " + second;
}

Scaled scale_for(double largest, std::string_view unit) {
  if (!std::isfinite(largest)) return {1, std::string(unit)};
  largest = std::abs(largest);
  if (unit == "B" || unit == "bytes") {
    if (largest >= 1e9) return {1e-9, "GB"};
    if (largest >= 1e6) return {1e-6, "MB"};
    if (largest >= 1e4) return {1e-3, "kB"};
  }
  if (unit == "us" || unit == "\xC2\xB5s") {
    if (largest >= 1e6) return {1e-6, "s"};
    if (largest >= 1e4) return {1e-3, "ms"};
    return {1, "\xC2\xB5s"};
  }
  if (unit == "ms" && largest >= 1e4) return {1e-3, "s"};
  if (unit == "s" && largest > 0 && largest < 0.1) return {1e3, "ms"};
  if (unit == "ns") {
    if (largest >= 1e9) return {1e-9, "s"};
    if (largest >= 1e6) return {1e-6, "ms"};
    if (largest >= 1e4) return {1e-3, "\xC2\xB5s"};
  }
  return {1, std::string(unit)};
}

std::string probability(double p) {
  if (!std::isfinite(p)) return "\xE2\x80\x93";
  if (p >= 0.9995) return p >= 1 ? "100 %" : "> 99.9 %";
  return fmt::format("{:.1f} %", 100 * p);
}

std::string slug(std::string_view name) {
  std::string out;
  bool changed = false;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || (c >= 'A' && c <= 'Z');
    changed = changed || !plain;
    out += plain ? c : '-';
  }
  if (out.empty() || out.front() == '.') {
    out = std::string(1, '_').append(out);
    changed = true;
  }
  if (out.size() > 100) {
    out.resize(100);
    changed = true;
  }
  if (changed) out.append(1, '-').append(sha256_hex(name), 0, 8);
  return out;
}

}  // namespace nightgate::report
