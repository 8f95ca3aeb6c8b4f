#include "gate/records/records.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"

namespace nightgate::records {
namespace {

store::Better to_row(config::Better better) {
  return better == config::Better::higher ? store::Better::higher : store::Better::lower;
}

}  // namespace

std::string full_name(std::string_view deployment, std::string_view scenario, std::string_view metric) {
  return fmt::format("{}.{}.{}", deployment, scenario, metric);
}

store::Target to_row(const targets::Target& target, const targets::Merge* merge) {
  store::Target row;
  row.commit = target.commit;
  row.digest = target.digest;
  row.label = target.label;
  if (merge != nullptr) {
    row.title = merge->title;
    row.author = merge->author;
    row.pr = merge->pr.value_or(0);
  }
  return row;
}

store::Machine to_row(const measure::MachineInfo& machine) {
  const nlohmann::json details = {{"cpu_model", machine.cpu_model}, {"cpus", machine.cpus}, {"smt", machine.smt}};
  return {machine.name, machine.machine_class, dump_json(details)};
}

store::Measurement to_row(const measure::Measurement& measurement, const std::string& run, store::Role role, int arm,
                          const store::Target& target, const std::string& definition) {
  store::Measurement row;
  row.run = run;
  row.deployment = measurement.deployment;
  row.scenario = measurement.scenario;
  row.role = role;
  row.arm = arm;
  row.start = measurement.start;
  row.target = target;
  row.definition = definition;
  row.no_verdict = measurement.no_verdict;
  row.log_tail = measurement.log_tail;
  for (const auto& [name, info] : measurement.metrics) {
    row.metrics.push_back({full_name(row.deployment, row.scenario, name), info.unit, to_row(info.better), info.gated});
  }
  for (const auto& repeat : measurement.repeats) {
    store::Repeat out;
    out.number = repeat.number;
    out.attempt = repeat.attempt;
    out.voided = repeat.voided;
    out.void_reason = repeat.void_reason;
    out.begin = repeat.begin;
    out.end = repeat.end;
    out.conditions = repeat.conditions;
    for (const auto& sample : repeat.samples) out.samples[sample.metric] = sample.value;
    row.repeats.push_back(std::move(out));
  }
  return row;
}

measure::Measurement from_row(const store::Measurement& row) {
  measure::Measurement out;
  out.deployment = row.deployment;
  out.scenario = row.scenario;
  out.start = row.start;
  out.no_verdict = row.no_verdict;
  out.log_tail = row.log_tail;
  const auto prefix = full_name(row.deployment, row.scenario, "");
  for (const auto& info : row.metrics) {
    const auto better = info.better == store::Better::higher ? config::Better::higher : config::Better::lower;
    const bool ours = info.name.compare(0, prefix.size(), prefix) == 0;
    out.metrics[ours ? info.name.substr(prefix.size()) : info.name] = {info.unit, better, info.gated};
  }
  for (const auto& repeat : row.repeats) {
    measure::Repeat in;
    in.number = repeat.number;
    in.attempt = repeat.attempt;
    in.voided = repeat.voided;
    in.void_reason = repeat.void_reason;
    in.begin = repeat.begin;
    in.end = repeat.end;
    in.conditions = repeat.conditions;
    for (const auto& [metric, value] : repeat.samples) in.samples.push_back({metric, value});
    out.repeats.push_back(std::move(in));
  }
  return out;
}

store::Run new_run(const config::Config& config, store::RunKind kind, const measure::MachineInfo& machine,
                   const std::string& uuid, Instant now) {
  store::Run run;
  run.uuid = uuid;
  run.kind = kind;
  run.project = config.project;
  run.machine = machine.name;
  run.machine_class = machine.machine_class;
  run.started = now;
  run.version = program_version();
  const nlohmann::json settings = {{"broker_cpus", machine.broker_cpus},
                                   {"load_cpus", machine.load_cpus},
                                   {"shared_cpus", machine.shared},
                                   {"min_change", config.gate.min_change},
                                   {"trip_after", config.gate.trip_after},
                                   {"starts", config.night.starts},
                                   {"min_gap_hours", config.night.min_gap_hours}};
  const nlohmann::json conditions = {
      {"boot_id", machine.boot_id}, {"kernel", machine.kernel}, {"engine", machine.engine}};
  run.settings = dump_json(settings);
  run.conditions = dump_json(conditions);
  return run;
}

std::string program_version() { return NIGHTGATE_VERSION; }

}  // namespace nightgate::records
