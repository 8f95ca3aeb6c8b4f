#include "gate/formats/git_title.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "gate/formats/reading.hpp"

namespace nightgate::formats {
namespace {

constexpr std::size_t kLooksAt = std::size_t{64} << 10U;
constexpr std::size_t kMaxTitle = 200;

std::string_view trim(std::string_view text) {
  const auto from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

// Takes a request number from the front of `text`: 1 to 9 digits, not zero.
std::optional<long> take_number(std::string_view& text) {
  long number = 0;
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 9) return std::nullopt;
  std::from_chars(text.data(), text.data() + digits, number);
  if (number == 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

// "Title (#12)", GitLab's "Title (!12)": the number, and `text` without it.
std::optional<long> take_trailing_number(std::string_view& text) {
  if (!text.ends_with(')')) return std::nullopt;
  const auto open = text.rfind('(');
  if (open == std::string_view::npos) return std::nullopt;
  auto inner = text.substr(open + 1, text.size() - open - 2);
  if (!take(inner, "#") && !take(inner, "!") && !take(inner, "pull request #")) return std::nullopt;
  const auto number = take_number(inner);
  if (!number || !inner.empty()) return std::nullopt;
  text = trim(text.substr(0, open));
  return number;
}

std::vector<std::string_view> lines_of(std::string_view message) {
  std::vector<std::string_view> out;
  while (!message.empty()) {
    const auto end = std::min(message.find('\n'), message.size());
    out.push_back(trim(message.substr(0, end)));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return out;
}

// First line of the body that is a sentence and not a trailer.
std::string_view first_of_body(const std::vector<std::string_view>& lines) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (!lines[i].empty() && !lines[i].starts_with("See merge request ")) return lines[i];
  }
  return {};
}

std::optional<long> gitlab_number(const std::vector<std::string_view>& lines) {
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (!lines[i].starts_with("See merge request ")) continue;
    auto rest = lines[i];
    const auto mark = rest.rfind('!');
    if (mark == std::string_view::npos) continue;
    rest.remove_prefix(mark + 1);
    const auto number = take_number(rest);
    if (number && rest.find_first_not_of('.') == std::string_view::npos) return number;
  }
  return std::nullopt;
}

// bors-ng: "Merge #12" or "Merge #12 #13"; the body has "12: Title r=a a=b".
std::string_view bors_title(const std::vector<std::string_view>& lines, long number) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    auto line = lines[i];
    if (take_number(line) != number || !take(line, ": ")) continue;
    if (const auto review = line.find(" r="); review != std::string_view::npos) line = line.substr(0, review);
    return line;
  }
  return {};
}

struct Parts {
  std::string_view title;
  std::optional<long> number;
};

// The forms whose first line is only about merging; the title is in the body. Nothing when it is not one of them.
std::optional<Parts> merge_form(const std::vector<std::string_view>& lines) {
  auto first = lines.front();
  Parts out;
  const bool pull = take(first, "Merge pull request #") || take(first, "Merge PR #") || take(first, "Auto merge of #");
  if (pull) {
    out.number = take_number(first);
    if (!out.number || !(first.empty() || first.front() == ' ' || first.front() == ':')) return std::nullopt;
    out.title = first_of_body(lines);
    if (take(first, ": ")) out.title = first;
    return out;
  }
  if (take(first, "Merge #")) {
    out.number = take_number(first);
    if (!out.number || !(first.empty() || first.front() == ' ' || first.front() == ':')) return std::nullopt;
    out.title = take(first, ": ") ? first : bors_title(lines, *out.number);
    return out;
  }
  if (take(first, "Merged PR ")) {
    out.number = take_number(first);
    if (!out.number || !take(first, ":")) return std::nullopt;
    out.title = trim(first);
    return out;
  }
  if (take(first, "Merged in ")) {
    out.number = take_trailing_number(first);
    out.title = first_of_body(lines);
    return out.number ? std::optional<Parts>(out) : std::nullopt;
  }
  if (take(first, "Merge branch ") || take(first, "Merge remote-tracking branch ")) {
    out.number = gitlab_number(lines);
    out.title = out.number ? first_of_body(lines) : std::string_view();
    return out;
  }
  return std::nullopt;
}

std::string_view reverted_commit(const std::vector<std::string_view>& lines) {
  for (auto line : lines) {
    if (!take(line, "This reverts commit ")) continue;
    const auto id = line.substr(0, line.find_first_not_of("0123456789abcdef"));
    if (id.size() >= 7 && id.size() <= 64) return id;
  }
  return {};
}

// "Reverts owner/project#12" (GitHub), "This reverts merge request !12" (GitLab).
std::optional<long> reverted_request(const std::vector<std::string_view>& lines) {
  for (auto line : lines) {
    const bool gitlab = take(line, "This reverts merge request !");
    if (!gitlab) {
      if (!take(line, "Reverts ")) continue;
      const auto mark = line.find('#');
      if (mark == std::string_view::npos) continue;
      line.remove_prefix(mark + 1);
    }
    if (const auto number = take_number(line)) return number;
  }
  return std::nullopt;
}

std::string shortened(std::string_view text) {
  std::string out = clean_name(text.substr(0, 2 * kMaxTitle));
  if (out.size() <= kMaxTitle) return out;
  std::size_t end = kMaxTitle - 3;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  return out.substr(0, end) + "...";
}

void read_revert(std::string_view title, const std::vector<std::string_view>& lines, GitTitle& out) {
  if (!take(title, "Revert \"")) return;
  const auto close = title.rfind('"');
  if (close == std::string_view::npos) return;
  out.revert = true;
  auto inner = title.substr(0, close);
  out.reverted_number = take_trailing_number(inner);
  if (!out.reverted_number) out.reverted_number = reverted_request(lines);
  out.reverted_title = shortened(inner);
  out.reverted_commit = reverted_commit(lines);
}

}  // namespace

GitTitle parse_git_title(std::string_view message) {
  message = message.substr(0, kLooksAt);
  const auto start = message.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  const auto lines = lines_of(message.substr(start));
  GitTitle out;
  std::string_view title = lines.front();
  if (const auto merge = merge_form(lines)) {
    out.number = merge->number;
    if (!merge->title.empty()) title = merge->title;
    auto shorter = title;  // a body "Title (#12)" of a merge: the same number once more
    if (take_trailing_number(shorter) == out.number && out.number && !shorter.empty()) title = shorter;
  } else {
    auto shorter = title;
    out.number = take_trailing_number(shorter);
    if (out.number && !shorter.empty()) title = shorter;
    if (!out.number) out.number = gitlab_number(lines);
  }
  read_revert(title, lines, out);
  out.title = shortened(title);
  return out;
}

}  // namespace nightgate::formats
