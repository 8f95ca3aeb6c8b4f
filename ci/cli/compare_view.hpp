// A compare as text and as the document of `compare --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gate/compare.hpp"

namespace nightgate::cli {

[[nodiscard]] nlohmann::json compare_json(const compare::Outcome& outcome);
[[nodiscard]] std::string compare_text(const compare::Outcome& outcome);
// IMPROVES, WORSENS, same, no verdict.
[[nodiscard]] std::string_view word(judge::PairVerdict verdict);

}  // namespace nightgate::cli
