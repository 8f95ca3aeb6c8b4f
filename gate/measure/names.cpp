#include "gate/measure/names.hpp"

#include <fmt/format.h>

#include "config/names.hpp"
#include "gate/base/json.hpp"

namespace nightgate::measure {

Result<std::string> Names::expand(std::string_view text) const {
  const auto lookup = [this](std::string_view name) -> std::optional<std::string> {
    const auto it = values_.find(name);
    if (it == values_.end()) return std::nullopt;
    return it->second;
  };
  auto expanded = config::expand_names(text, lookup);
  if (expanded) return expanded;
  std::vector<std::string> known;
  for (const auto& [name, value] : values_) known.push_back(name);
  for (const auto& name : config::names_in(text)) {
    if (lookup(name)) continue;
    if (const auto near = near_matches(name, known); !near.empty()) {
      expanded.error().message += fmt::format("; did you mean {{{}}}?", near.front());
    }
    break;
  }
  return expanded;
}

Result<std::vector<std::string>> Names::expand(const std::vector<std::string>& texts) const {
  std::vector<std::string> out;
  for (const auto& text : texts) {
    NG_TRY(out.emplace_back(), expand(text));
  }
  return out;
}

std::string url_of(const config::Node& node) {
  return node.port == 0 ? std::string() : fmt::format("{}://127.0.0.1:{}", node.scheme, node.port);
}

Names names_of(const config::Config& config, const config::Deployment& deployment, const targets::Target& target,
               const Placement& placement, const fs::path& scratch) {
  Names names;
  if (!target.commit.empty()) {
    names.set("sha", target.commit);
    names.set("short", target.commit.substr(0, 8));
  }
  if (const auto* directory = std::get_if<targets::DirectoryTarget>(&target.form)) {
    names.set("target", directory->path.string());
  }
  names.set("cpus", format_cpus(placement.broker));
  names.set("load_cpus", format_cpus(placement.load));
  names.set("state", config.state.string());
  names.set("out", scratch.string());
  for (const auto* nodes : {&deployment.services, &deployment.brokers}) {
    for (const auto& node : *nodes) {
      names.set(node.name + ".host", "127.0.0.1");
      names.set(node.name + ".cpus", format_cpus(placement.of(node)));
      if (node.port == 0) continue;
      names.set(node.name + ".port", std::to_string(node.port));
      names.set(node.name + ".url", url_of(node));
    }
  }
  return names;
}

}  // namespace nightgate::measure
