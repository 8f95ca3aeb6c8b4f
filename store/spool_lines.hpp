// Writes as lines of JSON, and lines as writes. The form is kept on disk across versions: add fields, never rename.
#pragma once

#include <string>
#include <string_view>

#include "store/store.hpp"

namespace nightgate::store::spool_lines {

[[nodiscard]] std::string put_machine(const Machine& machine);
[[nodiscard]] std::string put_definition(const std::string& hash, const std::string& text);
[[nodiscard]] std::string put_target(const std::string& project, const Target& target);
[[nodiscard]] std::string begin_run(const Run& run);
[[nodiscard]] std::string finish_run(const std::string& uuid, RunState state, Instant ended, const std::string& result);
[[nodiscard]] std::string begin_night(const Run& run, Sequence attempt_of);
[[nodiscard]] std::string set_night_target(const std::string& run, const Target& target, const std::string& definition);
[[nodiscard]] std::string put_measurement(const Measurement& measurement);
[[nodiscard]] std::string put_readings(const std::string& run, const judge::NightInput& input,
                                       const std::vector<MetricInfo>& metrics);
[[nodiscard]] std::string set_night(const std::string& run, NightState state, const std::string& reason);
[[nodiscard]] std::string put_noise(const std::string& project, const std::string& machine,
                                    const std::vector<Noise>& noise);

// Does what one of the lines above says. Code::bad_data when it isn't one of them.
[[nodiscard]] Status apply(std::string_view line, Recorder& store);

}  // namespace nightgate::store::spool_lines
