#include "gate/measure/load.hpp"

namespace nightgate::measure {

Result<std::unique_ptr<Load>> make_load(const config::Config& config, const config::Scenario& scenario) {
  if (const auto* wrk = std::get_if<config::WrkLoad>(&scenario.load)) return make_wrk_load(*wrk, scenario.expect);
  if (const auto* open = std::get_if<config::OpenLoad>(&scenario.load)) return make_open_load(*open, scenario.expect);
  return make_command_load(std::get<config::CommandLoad>(scenario.load), scenario, config.directory);
}

}  // namespace nightgate::measure
