// Typed reading of JSON, with the path in every complaint.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gate/base/json.hpp"

namespace nightgate {
namespace {

using Json = nlohmann::json;

// What was found, short enough for one line.
std::string shown(const Json& value) {
  if (value.is_object()) return value.empty() ? "an empty object" : "an object";
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  auto text = dump_json(value);
  if (text.size() <= 80) return text;
  std::size_t end = 77;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a UTF-8 character
  return text.substr(0, end) + "...";
}

bool is_plain(std::string_view key) {
  return !key.empty() && key.size() <= 100 && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

template <class T>
std::string range_text(std::string_view kind, T min, T max) {
  const bool has_min = min > std::numeric_limits<T>::lowest();
  const bool has_max = max < std::numeric_limits<T>::max();
  if (has_min && has_max) return fmt::format("{} from {} to {}", kind, min, max);
  if (has_min) return fmt::format("{} of at least {}", kind, min);
  if (has_max) return fmt::format("{} of at most {}", kind, max);
  return std::string(kind);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment: insertions, deletions, changes and swaps of neighbours, without regard to case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::vector<std::string> near_matches(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 100;  // the work grows with the product of both lengths
  if (word.empty() || word.size() > longest) return {};
  const auto allowed = std::max<std::size_t>(word.size() / 3, 1);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& candidate : candidates) {
    if (candidate.empty() || candidate.size() > longest) continue;
    const auto distance = edit_distance(word, candidate);
    if (distance <= allowed && distance < candidate.size()) found.emplace_back(distance, candidate);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> best;
  for (auto& [distance, candidate] : found) {
    if (best.size() < 3) best.push_back(std::move(candidate));
  }
  return best;
}

bool JsonReader::has(std::string_view key) const { return value_->is_object() && value_->contains(std::string(key)); }

std::string JsonReader::path_of(std::string_view key) const {
  if (is_plain(key)) return fmt::format("{}.{}", path_, key);
  return fmt::format("{}[{}]", path_, dump_json(Json(std::string(key.substr(0, 100)))));
}

tl::unexpected<Error> JsonReader::wrong(std::string_view expected) const {
  return fail(Code::bad_data, fmt::format("{}: found {}, expected {}", path_, shown(*value_), expected));
}

tl::unexpected<Error> JsonReader::wrong(std::string_view key, std::string_view expected) const {
  const auto found = has(key) ? shown(value_->at(std::string(key))) : std::string("nothing");
  return fail(Code::bad_data, fmt::format("{}: found {}, expected {}", path_of(key), found, expected));
}

Status JsonReader::is_object() const {
  if (!value_->is_object()) return wrong("an object");
  return {};
}

Status JsonReader::only(std::initializer_list<std::string_view> allowed) const {
  NG_CHECK(is_object());
  const std::vector<std::string> names(allowed.begin(), allowed.end());
  for (const auto& [key, ignored] : value_->items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const auto near = near_matches(key, names);
    return fail(Code::bad_data,
                fmt::format("{}: unknown key{}; allowed here: {}", path_of(key),
                            near.empty() ? "" : fmt::format(", did you mean {}?", joined(near)), joined(names)));
  }
  return {};
}

Result<JsonReader> JsonReader::child(std::string_view key) const {
  NG_CHECK(is_object());
  if (!has(key)) return fail(Code::bad_data, fmt::format("{}: missing", path_of(key)));
  return JsonReader(value_->at(std::string(key)), path_of(key));
}

Result<std::string> JsonReader::string(std::string_view key) const {
  NG_TRY(const auto field, child(key));
  if (!field.value().is_string()) return field.wrong("a string");
  return field.value().get<std::string>();
}

Result<std::int64_t> JsonReader::integer(std::string_view key, std::int64_t min, std::int64_t max) const {
  NG_TRY(const auto field, child(key));
  const auto& value = field.value();
  // Numbers above 2^63 are unsigned to the library, and a plain get would wrap them.
  const bool fits =
      value.is_number_unsigned() ? value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX} : value.is_number_integer();
  if (!fits || value.get<std::int64_t>() < min || value.get<std::int64_t>() > max) {
    return field.wrong(range_text("an integer", min, max));
  }
  return value.get<std::int64_t>();
}

Result<double> JsonReader::number(std::string_view key, double min, double max) const {
  NG_TRY(const auto field, child(key));
  const double value =
      field.value().is_number() ? field.value().get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(value) || value < min || value > max) return field.wrong(range_text("a number", min, max));
  return value;
}

Result<bool> JsonReader::boolean(std::string_view key) const {
  NG_TRY(const auto field, child(key));
  if (!field.value().is_boolean()) return field.wrong("true or false");
  return field.value().get<bool>();
}

Result<std::vector<std::string>> JsonReader::strings(std::string_view key) const {
  NG_TRY(const auto field, child(key));
  if (!field.value().is_array()) return field.wrong("an array of strings");
  std::vector<std::string> out;
  for (const auto& element : field.elements()) {
    if (!element.value().is_string()) return element.wrong("a string");
    out.push_back(element.value().get<std::string>());
  }
  return out;
}

// A key can only be absent from an object: anything else is an error here too, not a reason for the default.
Result<std::string> JsonReader::string_or(std::string_view key, std::string fallback) const {
  NG_CHECK(is_object());
  return has(key) ? string(key) : Result<std::string>(std::move(fallback));
}

Result<std::int64_t> JsonReader::integer_or(std::string_view key, std::int64_t min, std::int64_t max,
                                            std::int64_t fallback) const {
  NG_CHECK(is_object());
  return has(key) ? integer(key, min, max) : Result<std::int64_t>(fallback);
}

Result<double> JsonReader::number_or(std::string_view key, double min, double max, double fallback) const {
  NG_CHECK(is_object());
  return has(key) ? number(key, min, max) : Result<double>(fallback);
}

Result<bool> JsonReader::boolean_or(std::string_view key, bool fallback) const {
  NG_CHECK(is_object());
  return has(key) ? boolean(key) : Result<bool>(fallback);
}

Result<std::vector<std::string>> JsonReader::strings_or_empty(std::string_view key) const {
  NG_CHECK(is_object());
  return has(key) ? strings(key) : Result<std::vector<std::string>>(std::vector<std::string>{});
}

Result<std::string> JsonReader::choice_or(std::string_view key, std::initializer_list<std::string_view> allowed,
                                          std::string fallback) const {
  NG_CHECK(is_object());
  if (!has(key)) return fallback;
  const std::vector<std::string> names(allowed.begin(), allowed.end());
  auto value = string(key);
  if (value && std::find(names.begin(), names.end(), *value) != names.end()) return value;
  const auto near = value ? near_matches(*value, names) : std::vector<std::string>{};
  return wrong(key, fmt::format("one of {}{}", joined(names),
                                near.empty() ? "" : fmt::format(" (did you mean {}?)", joined(near))));
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  std::vector<std::pair<std::string, JsonReader>> out;
  if (!value_->is_object()) return out;
  for (const auto& [key, value] : value_->items()) out.emplace_back(key, JsonReader(value, path_of(key)));
  return out;
}

std::vector<JsonReader> JsonReader::elements() const {
  std::vector<JsonReader> out;
  if (!value_->is_array()) return out;
  for (std::size_t i = 0; i < value_->size(); ++i) out.emplace_back((*value_)[i], fmt::format("{}[{}]", path_, i));
  return out;
}

}  // namespace nightgate
