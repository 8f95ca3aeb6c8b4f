// Measurements as the store's rows and back: the one place where gate/measure and store meet.
#pragma once

#include <string>

#include "config/config.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/targets/target.hpp"
#include "store/rows.hpp"

namespace nightgate::records {

// deployment.scenario.metric
[[nodiscard]] std::string full_name(std::string_view deployment, std::string_view scenario, std::string_view metric);

[[nodiscard]] store::Target to_row(const targets::Target& target, const targets::Merge* merge);
[[nodiscard]] store::Machine to_row(const measure::MachineInfo& machine);
// `arm`: see store::Measurement.
[[nodiscard]] store::Measurement to_row(const measure::Measurement& measurement, const std::string& run,
                                        store::Role role, int arm, const store::Target& target,
                                        const std::string& definition);
// What was stored, as it was measured (for going on with a killed night).
[[nodiscard]] measure::Measurement from_row(const store::Measurement& row);

// A run that begins now; settings and conditions are filled from the config and the machine.
[[nodiscard]] store::Run new_run(const config::Config& config, store::RunKind kind, const measure::MachineInfo& machine,
                                 const std::string& uuid, Instant now);

// Version of this program, "0.1.0".
[[nodiscard]] std::string program_version();

}  // namespace nightgate::records
