// The parts of a night's page that say how its figures came about. Pure: from the model to HTML.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ci/report/model.hpp"

namespace nightgate::report {

// Of many metrics, looked up once each; borrowed from the model.
using Units = std::unordered_map<std::string_view, std::string_view>;
[[nodiscard]] Units units_of(const NightModel& model);
[[nodiscard]] std::string_view unit_of(const Units& units, const std::string& metric);

// Each is empty where there is nothing to show.
[[nodiscard]] std::string deployments_table(const NightModel& model, const SiteLinks* links);
[[nodiscard]] std::string beside_markdown(const NightModel& model);
[[nodiscard]] std::string figures_table(const NightModel& model);
[[nodiscard]] std::string control_table(const NightModel& model);
[[nodiscard]] std::string conditions_table(const NightModel& model);
[[nodiscard]] std::string started_table(const NightModel& model);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts(const NightModel& model);

}  // namespace nightgate::report
