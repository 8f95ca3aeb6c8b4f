#include "gate/formats/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "gate/formats/reading.hpp"

namespace nightgate::formats {
namespace {

template <auto Function>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    Function(pointer);
  }
};
using MatchData = std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>>;

// Backtracking steps allowed in one line. Ordinary patterns need a few per byte.
std::uint32_t step_limit(std::size_t line_bytes) { return static_cast<std::uint32_t>(2000 + 64 * line_bytes); }

PCRE2_SPTR bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 160> buffer{};
  if (pcre2_get_error_message(error, buffer.data(), buffer.size()) < 0) return "error " + std::to_string(error);
  return reinterpret_cast<const char*>(buffer.data());
}

}  // namespace

struct Pattern::Code {
  pcre2_code* compiled;
};

void Pattern::Free::operator()(const Code* code) const {
  pcre2_code_free(code->compiled);
  delete code;
}

Result<Pattern> Pattern::compile(std::string_view text) {
  if (text.empty() || text.size() > kMaxPattern) {
    return fail(nightgate::Code::usage,
                fmt::format("a regular expression of {} bytes, expected 1 to {}", text.size(), kMaxPattern));
  }
  const CompileContext context(pcre2_compile_context_create(nullptr));
  if (context == nullptr) return fail(nightgate::Code::internal, "no memory for a regular expression");
  pcre2_set_parens_nest_limit(context.get(), 50);
  int error = 0;
  PCRE2_SIZE place = 0;
  auto* compiled =
      pcre2_compile(bytes(text), text.size(), PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &place, context.get());
  if (compiled == nullptr) {
    return fail(nightgate::Code::usage,
                fmt::format("regular expression {}: {} at byte {}", in_quotes(text), message_of(error), place));
  }
  return Pattern(std::unique_ptr<const Code, Free>(new Code{compiled}));
}

// use(line number, text of the group) for each line that matches.
template <class Use>
Status Pattern::for_each_match(std::string_view text, Use use) const {
  if (text.size() > kMaxText) {
    return fail(nightgate::Code::bad_data,
                fmt::format("{} bytes to match, at most {} are taken", text.size(), kMaxText));
  }
  const MatchData data(pcre2_match_data_create_from_pattern(code_->compiled, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  if (data == nullptr || context == nullptr) return fail(nightgate::Code::internal, "no memory for a match");
  pcre2_set_heap_limit(context.get(), 16U << 10U);  // KiB
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > kMaxLine) {
      return fail(nightgate::Code::bad_data,
                  fmt::format("line {} has {} bytes, at most {} are matched", number, line.size(), kMaxLine));
    }
    pcre2_set_match_limit(context.get(), step_limit(line.size()));
    const int found = pcre2_match(code_->compiled, bytes(line), line.size(), 0, 0, data.get(), context.get());
    if (found == PCRE2_ERROR_NOMATCH) continue;
    if (found < 0) {
      return fail(nightgate::Code::bad_data,
                  fmt::format("line {}: {}; write the regular expression so that it needs less backtracking", number,
                              message_of(found)));
    }
    const auto* places = pcre2_get_ovector_pointer(data.get());
    const std::size_t group = found > 1 ? 1 : 0;
    const auto from = places[2 * group], to = places[2 * group + 1];
    const bool set = from != PCRE2_UNSET && from <= to && to <= line.size();  // \K can turn them round
    NG_CHECK(use(number, set ? line.substr(from, to - from) : std::string_view()));
  }
  return {};
}

Result<std::vector<double>> Pattern::numbers(std::string_view text) const {
  std::vector<double> out;
  NG_CHECK(for_each_match(text, [&](std::size_t line, std::string_view found) -> Status {
    const auto number = parse_number(found);
    if (!number) {
      return fail(nightgate::Code::bad_data,
                  fmt::format("line {}: the regular expression found {}, which is not a number; "
                              "put the number alone into the first group",
                              line, in_quotes(found)));
    }
    out.push_back(*number);
    return {};
  }));
  return out;
}

Result<std::size_t> Pattern::count_lines(std::string_view text) const {
  std::size_t count = 0;
  NG_CHECK(for_each_match(text, [&](std::size_t, std::string_view) -> Status {
    ++count;
    return {};
  }));
  return count;
}

}  // namespace nightgate::formats
