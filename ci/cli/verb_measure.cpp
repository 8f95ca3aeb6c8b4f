#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "gate/base/json.hpp"
#include "gate/records/records.hpp"
#include "store/medians.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

struct Gathered {
  json metrics = json::array();
  json definitions = json::object();
  json conditions = json::array();
  json failures = json::array();
  std::string text;
};

void gather(const std::vector<measure::Measurement>& starts, Gathered& out) {
  std::map<std::string, std::pair<config::MetricInfo, std::vector<double>>> samples;
  std::map<std::string, std::vector<double>> values;
  for (const auto& m : starts) {
    if (!m.no_verdict.empty())
      out.failures.push_back({{"what", m.deployment + "." + m.scenario}, {"why", m.no_verdict}});
    for (const auto& repeat : m.repeats) {
      out.conditions.push_back({{"what", m.deployment + "." + m.scenario},
                                {"start", m.start},
                                {"repeat", repeat.number},
                                {"voided", repeat.voided},
                                {"reason", repeat.void_reason},
                                {"seen", repeat.conditions}});
      if (repeat.voided) continue;
      for (const auto& s : repeat.samples) {
        const auto info = m.metrics.find(s.metric);
        auto& slot = samples[records::full_name(m.deployment, m.scenario, s.metric)];
        if (info != m.metrics.end()) slot.first = info->second;
        slot.second.push_back(s.value);
      }
    }
    for (const auto& [name, info] : m.metrics) {
      if (const auto value = m.value(name))
        values[records::full_name(m.deployment, m.scenario, name)].push_back(*value);
    }
  }
  for (const auto& [name, slot] : samples) {
    const auto value = values.find(name);
    if (value == values.end()) continue;
    const double median = store::median_of(value->second);
    out.metrics.push_back({{"metric", name},
                           {"unit", slot.first.unit},
                           {"better", slot.first.better == config::Better::higher ? "higher" : "lower"},
                           {"gated", slot.first.gated},
                           {"samples", slot.second},
                           {"median", median}});
    out.text += fmt::format("  {:<40} {:>12} {}{}\n", name, figure(median), slot.first.unit,
                            slot.first.gated ? "" : "  (not gated)");
  }
}

}  // namespace

Result<int> verb_measure(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_CHECK(check_scenarios(options, config));
  NG_TRY(auto sources, open_sources(config));
  NG_TRY(const auto target, sources.finder->parse(options.positional.at(0)));
  NG_TRY(const auto bench,
         open_bench(options, config, std::move(sources), std::chrono::minutes(config.machine.wait_minutes)));
  NG_TRY(const auto machine, bench.measurer->machine());
  NG_TRY(const auto cleaned, bench.measurer->clean_left_overs());
  NG_CHECK(bench.finder->prepare(target));
  Gathered out;
  for (const auto& deployment : config.deployments) {
    for (const auto& scenario : config.scenarios) {
      if (!scenario.runs_on(deployment.name)) continue;
      const auto& only = options.scenarios;
      if (!only.empty() && std::find(only.begin(), only.end(), scenario.name) == only.end()) continue;
      NG_TRY(const auto definition, bench.measurer->definition(deployment, scenario));
      out.definitions[deployment.name + "." + scenario.name] = definition.hash;
      std::vector<measure::Measurement> starts;
      for (int start = 0; start < std::max(1, options.starts); ++start) {
        NG_TRY(auto m, bench.measurer->measure(target, deployment, scenario, start));
        starts.push_back(std::move(m));
      }
      gather(starts, out);
    }
  }
  bench.progress->clear();
  if (options.json) {
    print_json(options, {{"target", {{"commit", target.commit}, {"digest", target.digest}, {"label", target.label}}},
                         {"definition", out.definitions},
                         {"machine",
                          {{"name", machine.name},
                           {"class", machine.machine_class},
                           {"boot_id", machine.boot_id},
                           {"kernel", machine.kernel},
                           {"cpu_model", machine.cpu_model},
                           {"cpus", machine.cpus},
                           {"smt", machine.smt},
                           {"broker_cpus", machine.broker_cpus},
                           {"load_cpus", machine.load_cpus},
                           {"shared", machine.shared},
                           {"engine", machine.engine}}},
                         {"conditions", out.conditions},
                         {"metrics", out.metrics},
                         {"failures", out.failures}});
  } else {
    print(clean(target.label) + " on " + machine.name + "\n" + out.text);
    for (const auto& f : out.failures)
      print(clean(fmt::format("  no verdict {}: {}", f["what"].get<std::string>(), f["why"].get<std::string>())) +
            "\n");
  }
  return out.failures.empty() ? 0 : 4;
}

}  // namespace nightgate::cli
