// check: is everything here that a night needs? Each line says what is wrong and what to do.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "gate/base/json.hpp"
#include "gate/base/process.hpp"
#include "gate/measure/quiet.hpp"
#include "gate/targets/engine.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

struct Finding {
  std::string what;
  bool ok = true;
  std::string said;
  int exit_code = 0;    // of a failed one
  bool advice = false;  // ready without it, and quieter with it
};

Finding good(std::string what, std::string said) { return {std::move(what), true, std::move(said), 0}; }
Finding bad(std::string what, const Error& error) {
  return {std::move(what), false, error.text(), exit_code(error.code)};
}
std::string_view mark(const Finding& f) { return !f.ok ? "NO" : f.advice ? "hint" : "ok"; }

Finding check_engine(const config::Config& config) {
  if (config.engine.empty()) return good("engine", "none configured: targets run as plain processes");
  auto engine = targets::make_engine(config.engine);
  if (!engine) return bad("engine", engine.error());
  const auto version = (*engine)->version();
  return version ? good("engine", *version + " at " + config.engine) : bad("engine", version.error());
}

Finding check_store(const config::Config& config) {
  const auto options = store_options(config);
  if (!options) return bad("store", options.error());
  const auto opened = store::open(*options);
  if (!opened) return bad("store", opened.error());
  const auto status = store::status(*options);
  if (!status) return bad("store", status.error());
  return good("store", fmt::format("PostgreSQL {} at {}, schema {}, {} nights", status->server_version, status->where,
                                   status->schema, status->nights));
}

void check_targets(const config::Config& config, std::vector<Finding>& out) {
  auto history = open_history_if_any(config);
  if (!history) {
    out.push_back(bad("repository", history.error()));
    return;
  }
  auto finder = targets::make_finder(config, history->get());
  if (!finder) {
    out.push_back(bad("targets", finder.error()));
    return;
  }
  if (!*history) {
    const auto target = (*finder)->parse("");
    out.push_back(target ? good("targets", target->label) : bad("targets", target.error()));
    return;
  }
  const auto merges = (*history)->newest(20);
  if (!merges) {
    out.push_back(bad("repository", merges.error()));
    return;
  }
  out.push_back(good("repository",
                     fmt::format("newest merge {} '{}'", merges->front().commit.substr(0, 10), merges->front().title)));
  const auto found = (*finder)->find_all(*merges);
  if (!found) {
    out.push_back(bad("targets", found.error()));
    return;
  }
  int have = 0;
  std::string why;
  for (const auto& f : *found) {
    if (std::holds_alternative<targets::Target>(f)) {
      ++have;
    } else if (why.empty()) {
      why = std::get<targets::Untestable>(f).why;
    }
  }
  const auto said = fmt::format("{} of the newest {} merges have a target{}", have, found->size(),
                                why.empty() ? "" : "; for example: " + why);
  out.push_back({"targets", have > 0, said, 3});
}

void check_machine(const config::Config& config, std::vector<Finding>& out) {
  LiveProgress progress(true);
  auto measurer = measure::make_measurer(config, system_clock(), progress, [] { return stop_requested(); });
  if (!measurer) {
    out.push_back(bad("machine", measurer.error()));
    return;
  }
  const auto machine = (*measurer)->machine();
  if (!machine) {
    out.push_back(bad("machine", machine.error()));
    return;
  }
  out.push_back(
      good("machine", fmt::format("{}: {}, broker on CPUs {}, load on CPUs {}{}", machine->name, machine->machine_class,
                                  machine->broker_cpus, machine->load_cpus, machine->shared ? " (shared)" : "")));
}

// What would make the machine quieter: never a reason not to measure.
void check_quietness(const config::Config& config, std::vector<Finding>& out) {
  const auto topology = measure::read_topology();
  if (!topology) return;  // said by check_machine
  const auto usable = measure::restrict_to(*topology, measure::own_affinity());
  const auto placement = measure::place(usable, config.machine, config.deployments.front());
  if (!placement) return;
  for (auto& found : measure::look_at_quietness(*topology, *placement)) {
    out.push_back({std::move(found.what), true, std::move(found.said), 0, !found.done});
  }
}

}  // namespace

Result<int> verb_check(const Options& options) {
  if (options.noise) return check_noise(options);
  std::vector<Finding> findings;
  const auto config = load_config(options);
  if (!config) {
    findings.push_back(bad("config", config.error()));
  } else {
    findings.push_back(
        good("config", fmt::format("{}: project {}, {} deployments, {} scenarios", options.config, config->project,
                                   config->deployments.size(), config->scenarios.size())));
    findings.push_back(check_engine(*config));
    check_targets(*config, findings);
    check_machine(*config, findings);
    check_quietness(*config, findings);
    findings.push_back(check_store(*config));
  }
  int code = 0;
  json document = {{"checks", json::array()}};
  std::string text;
  for (const auto& f : findings) {
    // Wrong configuration (2) is said before what can't be measured (3): the order of the table in design.md.
    if (!f.ok && (code == 0 || f.exit_code == 2)) code = f.exit_code;
    document["checks"].push_back({{"what", f.what}, {"ok", f.ok}, {"advice", f.advice}, {"said", f.said}});
    text += clean(fmt::format("{:<4} {:<11} {}", mark(f), f.what, f.said)) + "\n";
  }
  document["ready"] = code == 0;
  if (options.json) {
    print_json(options, document);
  } else {
    print(text + (code == 0 ? "ready: `nightgate nightly` runs the first night\n" : "not ready\n"));
  }
  return code;
}

}  // namespace nightgate::cli
