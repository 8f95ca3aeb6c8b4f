// What the readers of documents share (private to ci/report). Everything is checked while reading, so that pages need
// not; another type than asked for is an error that names its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/base/json.hpp"

namespace nightgate::report {

// Absent is empty; cut at `most` characters.
[[nodiscard]] Result<std::string> text_of(const JsonReader& at, std::string_view key, std::size_t most = 600);
// Absent and null are store::unknown.
[[nodiscard]] Result<double> number_of(const JsonReader& at, std::string_view key);
[[nodiscard]] Result<int> count_of(const JsonReader& at, std::string_view key, int fallback = 0);
// Absent is empty; at most 20,000.
[[nodiscard]] Result<std::vector<JsonReader>> items(const JsonReader& at, std::string_view key);

}  // namespace nightgate::report
