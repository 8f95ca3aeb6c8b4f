// A night as text and as the document of `nightly --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gate/nightly.hpp"

namespace nightgate::cli {

[[nodiscard]] nlohmann::json night_json(const nightly::Outcome& outcome);
[[nodiscard]] std::string night_text(const nightly::Outcome& outcome);
// One word for the whole: "regression", "suspect", "no_verdict", "nothing_to_do", "warming_up", "good".
[[nodiscard]] std::string_view night_word(const nightly::Outcome& outcome);

[[nodiscard]] nlohmann::json trip_json(const store::TripGroup& group);
// "trip 3 (step): default.create.rate -34.1 % since night 9; culprit ..."
[[nodiscard]] std::string trip_text(const store::TripGroup& group);

}  // namespace nightgate::cli
