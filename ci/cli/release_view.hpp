// A release as text, as the document of `release --json`, and to and from yuneta-perf-report/1.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ci/report/release.hpp"
#include "gate/formats/perf_report.hpp"
#include "gate/release.hpp"

namespace nightgate::cli {

// reasons: metric -> why its price is paid; the metric "*" stands for every one that has none of its own.
using Reasons = std::map<std::string, std::string>;
[[nodiscard]] nlohmann::json release_json(const release::Outcome& outcome, const Reasons& reasons,
                                          const nlohmann::json& about);
[[nodiscard]] std::string release_text(const report::ReleaseModel& model);

[[nodiscard]] formats::PerfReport to_perf_report(const report::ReleaseModel& model);
[[nodiscard]] report::ReleaseModel from_perf_report(const formats::PerfReport& report);

}  // namespace nightgate::cli
