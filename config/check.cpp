// What needs the whole config: does everything that is named exist?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "config/fields.hpp"
#include "config/names.hpp"

namespace nightgate::config {
namespace {

using Names = std::vector<std::string>;

Status check_names(std::string_view text, const Names& known, const std::string& path) {
  for (const std::string& name : names_in(text)) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto near = near_matches(name, known);
    const std::string hint = near.empty() ? "" : fmt::format("did you mean {{{}}}? ", fmt::join(near, "}, {"));
    return fail(Code::usage, fmt::format("{}: found {{{}}}, which names nothing here; {}known: {{{}}}; for the text "
                                         "itself write {{{{{}}}}}",
                                         path, name, hint, fmt::join(known, "}, {"), name));
  }
  return {};
}

Status check_names(const Names& texts, const Names& known, const std::string& path) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    NG_CHECK(check_names(texts[i], known, fmt::format("{}[{}]", path, i)));
  }
  return {};
}

Status check_call(const HttpCall& call, const Names& known, const std::string& path) {
  NG_CHECK(check_names(call.url, known, path + ".url"));
  NG_CHECK(check_names(call.body, known, path + ".body"));
  for (const auto& [name, value] : call.headers) {
    NG_CHECK(check_names(value, known, path + ".headers." + name));
  }
  return {};
}

Status check_node(const Config& config, const Node& node, bool is_broker, const Names& known, const std::string& path) {
  NG_CHECK(check_names(node.command, known, path + ".command"));
  NG_CHECK(check_names(node.args, known, path + ".args"));
  NG_CHECK(check_names(node.reset, known, path + ".reset"));
  NG_CHECK(check_names(node.ready.command, known, path + ".ready.command"));
  NG_CHECK(check_names(node.postgres, known, path + ".postgres"));
  NG_CHECK(check_call(node.ready.http, known, path + ".ready.http"));
  NG_CHECK(check_call(node.identity.get, known, path + ".identity.get"));
  for (const auto& [name, value] : node.environment) {
    NG_CHECK(check_names(value, known, path + ".environment." + name));
  }
  for (std::size_t i = 0; i < node.setup.size(); ++i) {
    NG_CHECK(check_call(node.setup[i], known, fmt::format("{}.setup[{}]", path, i)));
  }
  if (!node.image.empty() && config.engine.empty()) {
    return fail(Code::usage, path + ".image: an image needs an \"engine\" (such as \"unix:///var/run/docker.sock\"); " +
                                 "a plain process needs a \"command\" instead");
  }
  if (!node.image.empty() || !node.command.empty()) return {};
  if (!is_broker) return fail(Code::usage, path + ": a service needs an \"image\" or a \"command\"");
  const bool may_be_image = !config.engine.empty() && (config.targets.image || !config.targets.artifact);
  if (!may_be_image) {
    return fail(Code::usage, path +
                                 ".command: found nothing, expected the program to start (relative to the target's "
                                 "directory), since the targets are no images run by an \"engine\"");
  }
  return {};
}

Status check_deployment(const Config& config, const Deployment& deployment, const std::string& path) {
  const auto known = runtime_names(deployment);
  std::set<std::string> names;
  std::map<int, std::string> ports;
  const auto check = [&](const Node& node, bool is_broker) -> Status {
    const std::string at = path + "." + node.name;
    if (!names.insert(node.name).second) return fail(Code::usage, at + ": two nodes of one deployment have this name");
    if (node.port != 0) {
      const auto [other, is_new] = ports.emplace(node.port, node.name);
      if (!is_new) {
        return fail(Code::usage,
                    fmt::format("{}.port: found {}, which \"{}\" listens on already", at, node.port, other->second));
      }
    }
    return check_node(config, node, is_broker, known, at);
  };
  for (const Node& node : deployment.services) {
    NG_CHECK(check(node, false));
  }
  for (const Node& node : deployment.brokers) {
    NG_CHECK(check(node, true));
  }
  return {};
}

Status check_load(const Scenario& scenario, const Deployment& deployment, const Names& known, const std::string& path) {
  if (const auto* command = std::get_if<CommandLoad>(&scenario.load)) {
    return check_names(command->argv, known, path + ".load.command.argv");
  }
  if (deployment.brokers.empty() || deployment.brokers.front().port == 0) {
    return fail(Code::usage, fmt::format("{}.load: this load goes to the first broker of \"{}\", which has no {}", path,
                                         deployment.name, deployment.brokers.empty() ? "broker" : "\"port\""));
  }
  if (const auto* wrk = std::get_if<WrkLoad>(&scenario.load))
    return check_names(wrk->path, known, path + ".load.wrk.path");
  return check_call(std::get<OpenLoad>(scenario.load).request, known, path + ".load.open");
}

Status check_scenario_in(const Scenario& scenario, const Deployment& deployment, const std::string& path) {
  const auto known = runtime_names(deployment);
  NG_CHECK(check_load(scenario, deployment, known, path));
  const Fixture& fixture = scenario.fixture;
  NG_CHECK(check_names(fixture.command, known, path + ".fixture.command"));
  NG_CHECK(check_call(fixture.count, known, path + ".fixture.count"));
  for (std::size_t i = 0; i < fixture.calls.size(); ++i) {
    NG_CHECK(check_call(fixture.calls[i], known, fmt::format("{}.fixture.calls[{}]", path, i)));
  }
  for (const ExtraMetric& extra : scenario.extra) {
    NG_CHECK(check_names(extra.url, known, path + ".extra." + extra.name + ".url"));
  }
  return {};
}

Status check_scenario(const Config& config, const Scenario& scenario, const std::string& path) {
  Names names;
  for (const Deployment& deployment : config.deployments) names.push_back(deployment.name);
  for (std::size_t i = 0; i < scenario.deployments.size(); ++i) {
    const std::string& name = scenario.deployments[i];
    if (config.find_deployment(name) != nullptr) continue;
    const auto near = near_matches(name, names);
    const std::string hint = near.empty() ? "" : fmt::format("did you mean \"{}\"? ", fmt::join(near, "\", \""));
    return fail(Code::usage, fmt::format("{}.deployments[{}]: found \"{}\", which is no deployment; {}known: \"{}\"",
                                         path, i, name, hint, fmt::join(names, "\", \"")));
  }
  for (const Deployment& deployment : config.deployments) {
    const auto& wanted = scenario.deployments;
    if (!wanted.empty() && std::ranges::find(wanted, deployment.name) == wanted.end()) continue;
    NG_CHECK(check_scenario_in(scenario, deployment, path));
  }
  return {};
}

Status check_targets(const Config& config, const std::string& root) {
  const Targets& targets = config.targets;
  const std::string path = root + ".targets";
  if (targets.image) {
    NG_CHECK(check_names(targets.image->reference, target_names(), path + ".image"));
    const bool templated = !names_in(targets.image->reference).empty();
    if (config.engine.empty()) {
      return fail(Code::usage, path + ".image: images need an \"engine\" (such as \"unix:///var/run/docker.sock\")");
    }
    if (templated == targets.image->by_label) {
      return fail(Code::usage, path +
                                   ".image: expected one of the names {sha}, {short}, {pr}, {n} in the reference, or " +
                                   "\"by_label\": true with a reference that has none");
    }
  }
  if (targets.artifact) {
    NG_CHECK(check_names(targets.artifact->path, target_names(), path + ".artifact"));
    if (names_in(targets.artifact->path).empty()) {
      return fail(Code::usage, path + ".artifact: expected one of the names {sha}, {short}, {pr}, {n} in the path");
    }
  }
  if (targets.build) {
    NG_CHECK(check_names(targets.build->command, build_names(), path + ".build.command"));
    if (config.repository.path.empty() && config.repository.url.empty()) {
      return fail(Code::usage, path + ".build: a build needs the \"repository\" to check out");
    }
  }
  return {};
}

// Old names may be of anything that was; the new one must be measured now, and be the newest.
Status check_alias(const Config& config, const std::string& old_name, const std::string& new_name,
                   const std::string& path) {
  if (config.aliases.contains(new_name)) {
    return fail(Code::usage,
                fmt::format("{}: found \"{}\", which is an old name itself; name the one that is measured now", path,
                            new_name));
  }
  const auto dot = new_name.find('.');
  const auto second = dot == std::string::npos ? dot : new_name.find('.', dot + 1);
  const auto scenario = second == std::string::npos ? "" : new_name.substr(dot + 1, second - dot - 1);
  const bool known = std::ranges::any_of(config.scenarios, [&](const Scenario& s) { return s.name == scenario; }) &&
                     config.find_deployment(new_name.substr(0, dot)) != nullptr;
  if (known && second + 1 < new_name.size()) return {};
  return fail(Code::usage,
              fmt::format("{}: found \"{}\" as the new name of \"{}\", expected deployment.scenario.metric "
                          "of a deployment and a scenario of this config",
                          path, new_name, old_name));
}

}  // namespace

Status check_references(const Config& config, const std::string& root) {
  NG_CHECK(check_targets(config, root));
  for (const Deployment& deployment : config.deployments) {
    NG_CHECK(check_deployment(config, deployment, root + ".deployments." + deployment.name));
  }
  for (const Scenario& scenario : config.scenarios) {
    NG_CHECK(check_scenario(config, scenario, root + ".scenarios." + scenario.name));
  }
  for (const auto& [old_name, new_name] : config.aliases) {
    NG_CHECK(check_alias(config, old_name, new_name, root + ".aliases." + old_name));
  }
  return {};
}

}  // namespace nightgate::config
