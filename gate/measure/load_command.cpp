#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gate/base/log.hpp"
#include "gate/formats/load.hpp"
#include "gate/measure/cost.hpp"
#include "gate/measure/load.hpp"
#include "gate/measure/readings.hpp"
#include "gate/measure/watched.hpp"

namespace nightgate::measure {
namespace {

// "db_wal_bytes" of a service "db": read by nightgate, not printed by the program; the config says whether it is gated.
bool is_service_metric(const std::string& name, const config::Deployment& deployment) {
  return std::ranges::any_of(deployment.services, [&](const config::Node& service) {
    return name.starts_with(service.name + "_") && is_service_figure(name.substr(service.name.size() + 1));
  });
}

// Any program that prints numbers. It may bring its own warm-up, so a warm-up here runs nothing.
class CommandRunner : public Load {
 public:
  CommandRunner(config::CommandLoad load, const config::Scenario& scenario, fs::path directory)
      : load_(std::move(load)), overrides_(scenario.metrics), directory_(std::move(directory)) {}

  std::string tool() const override { return "command"; }
  double seconds() const override { return 0; }

  Result<LoadResult> run(RunningDeployment& deployment, const CpuSet& cpus, double, Purpose purpose,
                         const Tick& tick) override {
    if (purpose == Purpose::warm_up) return LoadResult{};
    Command command;
    NG_TRY(command.argv, deployment.names().expand(load_.argv));
    if (command.argv.empty()) return fail(Code::usage, "the load's command is empty");
    NG_TRY(command.argv.front(), program_of(deployment, command.argv.front()));
    command.clear_environment = true;
    command.environment = plain_environment();
    command.environment[std::string(run_variable)] = deployment.record().uuid();
    command.directory = directory_;
    command.cpus = cpus;
    NG_TRY(const auto watched,
           run_watched(command, deployment.directory(), WatchLimits{load_.timeout_seconds, never}, tick));
    return result_of(command.argv.front(), watched, deployment.config());
  }

 private:
  // A relative program is the target's own, as a broker's is; the config's directory is for load programs that no
  // target brings. Where there is no broker it must be the target's: every version would measure alike otherwise.
  [[nodiscard]] Result<std::string> program_of(const RunningDeployment& deployment, const std::string& program) const {
    if (program.find('/') == std::string::npos || program.front() == '/') return program;
    const auto target = deployment.names().expand("{target}");
    std::error_code none;
    if (target && fs::exists(fs::path(*target) / program, none)) return (fs::path(*target) / program).string();
    if (!target || deployment.first_broker() != nullptr) return program;
    const bool from_target = std::ranges::any_of(
        load_.argv, [](const std::string& word) { return word.find("{target}") != std::string::npos; });
    if (from_target) return program;
    return fail(
        Code::measure,
        fmt::format("there is no {} in the target's directory {}; the one beside the config is not run, because it "
                    "would measure the same for every version (give it {{target}} as an argument if it is meant)",
                    program, *target));
  }

  [[nodiscard]] Result<LoadResult> result_of(const std::string& program, const Watched& watched,
                                             const config::Deployment& deployment) {
    if (!std::holds_alternative<Exited>(watched.ending) || std::get<Exited>(watched.ending).code != 0) {
      return fail(Code::measure,
                  fmt::format("{} failed: {}{}", program, ending_text(watched.ending), log_note(watched.err_tail)));
    }
    auto readings = formats::parse_program(load_.format, watched.out, load_.pick);
    if (!readings) {
      auto error = std::move(readings).error();
      if (error.code != Code::usage) error.code = Code::measure;
      return with_context(std::move(error), "reading what " + program + " printed");
    }
    if (readings->empty()) return fail(Code::measure, program + " printed no metric");
    for (const auto& reading : *readings) {
      // Judging is in logarithms; a figure that is not above zero is a fault of the program, not a fast or slow one.
      if (reading.value > 0) continue;
      const auto info = overrides_.find(reading.name);
      if (info == overrides_.end() || !info->second.gated) continue;
      return fail(Code::measure,
                  fmt::format("{} printed {} for '{}', which is gated: it must be above 0 (\"gated\": false "
                              "records it without judging)",
                              program, reading.value, reading.name));
    }
    LoadResult out;
    add_readings(*readings, out);
    for (const auto& reading : *readings) {
      if (reading.better_known || overrides_.contains(reading.name) || !told_.insert(reading.name).second) continue;
      log::warning(
          fmt::format("'{}' of {} is recorded but not judged: nothing says whether higher or lower is better; name "
                      "it under \"metrics\" with \"unit\" and \"better\"",
                      reading.name, program));
    }
    for (const auto& [name, info] : overrides_) {
      if (!out.metrics.contains(name) && !is_cost_metric(name) && !is_service_metric(name, deployment)) {
        return fail(Code::measure, fmt::format("{} printed no '{}', which the config expects", program, name));
      }
    }
    // A program that says how many requests it made gets its costs per request.
    for (const auto& reading : *readings) {
      if (reading.name == "requests" && reading.value > 0) out.requests = static_cast<std::uint64_t>(reading.value);
    }
    if (out.requests > 0) out.metrics["requests"].gated = false;
    out.seconds = watched.seconds;
    out.cpu_seconds = watched.usage.user_seconds + watched.usage.system_seconds;
    return out;
  }

  std::set<std::string> told_;
  config::CommandLoad load_;
  std::map<std::string, config::MetricInfo> overrides_;
  fs::path directory_;
};

}  // namespace

Result<std::unique_ptr<Load>> make_command_load(const config::CommandLoad& load, const config::Scenario& scenario,
                                                const fs::path& directory) {
  return std::make_unique<CommandRunner>(load, scenario, directory);
}

}  // namespace nightgate::measure
