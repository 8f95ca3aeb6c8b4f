#include "ci/report/reading.hpp"

#include <nlohmann/json.hpp>

#include "ci/report/text.hpp"
#include "store/rows.hpp"

namespace nightgate::report {

Result<std::string> text_of(const JsonReader& at, std::string_view key, std::size_t most) {
  NG_TRY(const auto text, at.string_or(key, ""));
  return shorten(text, most);
}

Result<double> number_of(const JsonReader& at, std::string_view key) {
  const auto found = at.value().find(key);
  if (found == at.value().end() || found->is_null()) return store::unknown;
  if (!found->is_number()) return at.wrong(key, "a number or null");
  return found->get<double>();
}

Result<int> count_of(const JsonReader& at, std::string_view key, int fallback) {
  NG_TRY(const auto count, at.integer_or(key, 0, 1000000000, fallback));
  return static_cast<int>(count);
}

Result<std::vector<JsonReader>> items(const JsonReader& at, std::string_view key) {
  constexpr std::size_t most = 20000;
  if (!at.has(key)) return std::vector<JsonReader>{};
  NG_TRY(const auto list, at.child(key));
  if (!list.value().is_array() || list.value().size() > most) return at.wrong(key, "a list, not endless");
  return list.elements();
}

}  // namespace nightgate::report
