#include "gate/measure/definition.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"

namespace nightgate::measure {
namespace {

using nlohmann::json;  // its objects are sorted by key: the text is canonical

// A word of a command stands for the content of the file it names, not for where that lies.
json words(const std::vector<std::string>& argv, const DefinitionParts& parts) {
  json out = json::array();
  for (const auto& word : argv) {
    const auto it = parts.files.find(word);
    if (it == parts.files.end()) {
      out.push_back(word);
    } else {
      out.push_back({{"file", it->second}});
    }
  }
  return out;
}

json call(const config::HttpCall& from) {
  json headers = json::array();
  for (const auto& [name, value] : from.headers) headers.push_back(name + ": " + value);
  return {{"method", from.method},
          {"url", from.url},
          {"body", from.body},
          {"headers", std::move(headers)},
          {"expect", from.expect}};
}

json calls(const std::vector<config::HttpCall>& from) {
  json out = json::array();
  for (const auto& each : from) out.push_back(call(each));
  return out;
}

json node(const config::Node& from, const DefinitionParts& parts) {
  json out = {{"name", from.name},
              {"image", from.image},
              {"command", from.command},
              {"args", from.args},
              {"environment", from.environment},
              {"scheme", from.scheme},
              {"reset", from.reset},
              {"volumes", from.volumes},
              {"memory_mb", from.memory_mb},
              {"setup", calls(from.setup)}};
  if (const auto it = parts.services.find(from.name); it != parts.services.end()) out["digest"] = it->second;
  return out;
}

json nodes(const std::vector<config::Node>& from, const DefinitionParts& parts) {
  json out = json::array();
  for (const auto& each : from) out.push_back(node(each, parts));
  return out;
}

json load(const config::WrkLoad& from, const DefinitionParts& parts) {
  json out = {{"tool", "wrk"},
              {"connections", from.connections},
              {"threads", from.threads},
              {"seconds", from.seconds},
              {"path", from.path}};
  if (const auto it = parts.files.find(from.script.string()); it != parts.files.end()) out["script"] = it->second;
  return out;
}

json load(const config::OpenLoad& from, const DefinitionParts&) {
  return {{"tool", "open"},
          {"rate", from.rate},
          {"connections", from.connections},
          {"seconds", from.seconds},
          {"request", call(from.request)}};
}

json load(const config::CommandLoad& from, const DefinitionParts& parts) {
  return {{"tool", "command"}, {"argv", words(from.argv, parts)}, {"format", from.format}, {"pick", from.pick}};
}

json fixture(const config::Fixture& from, const DefinitionParts& parts) {
  return {{"calls", calls(from.calls)}, {"command", words(from.command, parts)}, {"expect", from.expect}};
}

std::string_view rule(config::StoreRule from) {
  switch (from) {
    case config::StoreRule::steady:
      return "steady";
    case config::StoreRule::grows:
      return "grows";
    case config::StoreRule::consumes:
      return "consumes";
  }
  return "steady";
}

Status add_words(const std::vector<std::string>& argv, const fs::path& directory,
                 std::map<std::string, std::string>& into) {
  for (const auto& word : argv) {
    std::error_code ignored;
    // A program found by PATH is not a part of the scenario; a file that is named is.
    const auto path = directory / word;
    if (word.empty() || word.find('{') != std::string::npos || !fs::is_regular_file(path, ignored)) continue;
    NG_TRY(const auto content, read_file(path));
    into[word] = sha256_hex(content);
  }
  return {};
}

}  // namespace

Result<std::map<std::string, std::string>> hash_files(const config::Scenario& scenario, const fs::path& directory) {
  std::map<std::string, std::string> out;
  if (const auto* wrk = std::get_if<config::WrkLoad>(&scenario.load); wrk != nullptr && !wrk->script.empty()) {
    NG_TRY(const auto content, read_file(directory / wrk->script));
    out[wrk->script.string()] = sha256_hex(content);
  }
  if (const auto* command = std::get_if<config::CommandLoad>(&scenario.load)) {
    NG_CHECK(add_words(command->argv, directory, out));
  }
  NG_CHECK(add_words(scenario.fixture.command, directory, out));
  return out;
}

Definition make_definition(const config::Deployment& deployment, const config::Scenario& scenario,
                           const DefinitionParts& parts) {
  const json all = {
      {"services", nodes(deployment.services, parts)},
      {"brokers", nodes(deployment.brokers, parts)},
      {"load", std::visit([&](const auto& each) { return load(each, parts); }, scenario.load)},
      {"load_tool", parts.load_tool},
      {"fixture", fixture(scenario.fixture, parts)},
      {"store", rule(scenario.store)},
      {"warmup_seconds", scenario.warmup_seconds},
      {"expect", scenario.expect},
      {"cpus", parts.placement},
  };
  Definition out;
  out.text = dump_json(all);
  out.hash = sha256_hex(out.text).substr(0, 16);
  return out;
}

}  // namespace nightgate::measure
