#include "gate/targets/commit_title.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace nightgate::targets {
namespace {

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = trim(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The number behind `mark`, when digits follow it.
std::optional<int> number_after(std::string_view text, std::string_view mark) {
  const auto at = text.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = text.data() + at + mark.size();
  int number = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc{} || number <= 0) return std::nullopt;
  return number;
}

// "Title (#12)" -> 12, with "Title" left over.
std::optional<int> squash_number(std::string_view& subject) {
  if (!subject.ends_with(')')) return std::nullopt;
  const auto at = subject.rfind("(#");
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = subject.substr(at + 2, subject.size() - at - 3);
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  const auto number = number_after(subject, "(#");
  if (number) subject = trim(subject.substr(0, at));
  return number;
}

std::string revert_of(std::string_view message) {
  constexpr std::string_view mark = "This reverts commit ";
  const auto at = message.find(mark);
  if (at == std::string_view::npos) return {};
  const auto rest = message.substr(at + mark.size());
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const auto end = std::ranges::find_if_not(rest, is_hex);
  const std::string sha(rest.begin(), end);
  return sha.size() >= 7 && sha.size() <= 40 ? sha : std::string();
}

}  // namespace

CommitTitle read_commit_title(std::string_view message) {
  CommitTitle out;
  out.reverts = revert_of(message);
  std::string_view body = message;
  std::string_view subject = take_line(body);
  std::string_view first_of_body;
  for (std::string_view rest = body; first_of_body.empty() && !rest.empty();) first_of_body = take_line(rest);
  if (subject.starts_with("Merge pull request #")) {  // the title stands in the body
    out.pr = number_after(subject, "Merge pull request #");
    if (!first_of_body.empty()) subject = first_of_body;
  } else if (subject.starts_with("Merged PR ")) {
    out.pr = number_after(subject, "Merged PR ");
    if (const auto colon = subject.find(": "); out.pr && colon != std::string_view::npos)
      subject.remove_prefix(colon + 2);
  } else if (subject.starts_with("Merge branch ") && body.find("See merge request ") != std::string_view::npos) {
    const auto reference = body.substr(body.find("See merge request "));
    out.pr = number_after(reference.substr(0, reference.find('\n')), "!");
    if (!first_of_body.empty() && !first_of_body.starts_with("See merge request")) subject = first_of_body;
  } else if (subject.starts_with("Merged in ")) {
    out.pr = number_after(subject, "(pull request #");
    if (!first_of_body.empty()) subject = first_of_body;
  } else {
    out.pr = squash_number(subject);
  }
  out.title = std::string(subject);
  return out;
}

}  // namespace nightgate::targets
