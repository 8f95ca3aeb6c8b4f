// From the file's text to a checked Config. Each part has its own load_*.cpp; here they come together.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "config/fields.hpp"
#include "gate/base/log.hpp"
#include "gate/base/secrets.hpp"

namespace nightgate::config {
namespace {

constexpr std::size_t max_config_bytes = 1U << 20U;

// Everything that is wrong with a config is the user's to mend, whatever the leaf called it.
tl::unexpected<Error> as_usage(Error error) {
  error.code = Code::usage;
  return tl::unexpected<Error>(std::move(error));
}

void project_fields(Fields& fields, Config& config) {
  fields.require("project", "a name for the project");
  fields.text("project", config.project);
  if (fields.ok() && !is_plain_name(config.project)) fields.wrong("project", "a name of letters, digits, '_' and '-'");
  config.state = default_state_directory() / config.project;
  fields.file("state", config.state, config.directory);
  fields.text("engine", config.engine);
  if (!config.engine.empty() && !config.engine.starts_with("unix:///")) {
    fields.wrong("engine", "a socket such as \"unix:///var/run/docker.sock\" (leave it out to use plain processes)");
  }
  fields.text_map("aliases", config.aliases);
}

bool all_commands(const std::vector<Scenario>& scenarios) {
  return std::ranges::all_of(scenarios, [](const Scenario& s) { return std::holds_alternative<CommandLoad>(s.load); });
}

void measured_fields(Fields& fields, Config& config) {
  fields.each_member("deployments", [&](const std::string& name, const JsonReader& value) -> Status {
    if (!is_plain_name(name))
      return fail(Code::usage, value.path() + ": a deployment's name is made of letters, digits, '_' and '-'");
    Deployment& deployment = config.deployments.emplace_back();
    deployment.name = name;
    return load_deployment(value, deployment, config.directory);
  });
  fields.require("scenarios", "at least one scenario by name");
  fields.each_member("scenarios", [&](const std::string& name, const JsonReader& value) -> Status {
    if (!is_plain_name(name))
      return fail(Code::usage, value.path() + ": a scenario's name is made of letters, digits, '_' and '-'");
    Scenario& scenario = config.scenarios.emplace_back();
    scenario.name = name;
    return load_scenario(value, scenario, config.directory);
  });
  if (fields.ok() && config.scenarios.empty()) fields.wrong("scenarios", "at least one scenario by name");
  if (!config.deployments.empty()) return;
  if (fields.has("deployments") || !all_commands(config.scenarios)) {
    fields.wrong("deployments", "at least one deployment by name (only scenarios of kind \"command\" can do without)");
  }
  config.deployments.push_back({"default", {}, {}});
}

Result<Config> decode(const nlohmann::json& json, const fs::path& directory, const std::string& root) {
  Config config;
  config.directory = directory;
  Fields fields(JsonReader(json, root), "config");
  project_fields(fields, config);
  fields.with("repository", [&](const JsonReader& field) { return load_repository(field, config); });
  fields.with("targets", [&](const JsonReader& field) { return load_targets(field, config); });
  fields.with("machine", [&](const JsonReader& field) { return load_machine(field, config); });
  measured_fields(fields, config);
  NG_CHECK(fields.status());
  NG_CHECK(load_rules(fields.reader(), config));
  NG_CHECK(load_store(fields.reader(), config));
  fields.with("report", [&](const JsonReader& field) { return load_report(field, config); });
  NG_CHECK(fields.status());
  NG_CHECK(check_references(config, root));
  return config;
}

// Builds, brokers, hooks and all else that is started do without the secrets that the config names.
void keep_secrets(const Config& config) {
  if (config.targets.image) keep_from_children(config.targets.image->password_env);
  if (config.report.github) keep_from_children(config.report.github->token_env);
  for (const auto* variable : {&config.repository.token_env, &config.store_password_env, &config.report.webhook_env}) {
    keep_from_children(*variable);
  }
}

}  // namespace

const Deployment* Config::find_deployment(std::string_view name) const {
  const auto found = std::ranges::find(deployments, name, &Deployment::name);
  return found == deployments.end() ? nullptr : &*found;
}

const Scenario* Config::find_scenario(std::string_view name) const {
  const auto found = std::ranges::find(scenarios, name, &Scenario::name);
  return found == scenarios.end() ? nullptr : &*found;
}

Result<Config> parse(std::string_view text, const fs::path& directory, std::string_view name) {
  const std::string root = std::string(name) + ": $";
  auto json = parse_json(text, {.bytes = max_config_bytes, .depth = 32, .comments = true});
  if (!json) {
    json.error().message = root + ": " + json.error().message;
    return as_usage(json.error());
  }
  auto config = decode(*json, fs::absolute(directory).lexically_normal(), root);
  if (!config) return as_usage(config.error());
  return config;
}

Result<Config> load(const fs::path& file) {
  const auto text = read_file(file, max_config_bytes);
  if (!text && text.error().code == Code::not_found) {
    return fail(Code::usage, fmt::format("there is no config at {}; name one with --config FILE, or write a first one "
                                         "with \"nightgate init\"",
                                         file.string()));
  }
  if (!text && text.error().code == Code::bad_data) {
    return fail(Code::usage, fmt::format("{}: $: a config has at most {} bytes: {}", file.string(), max_config_bytes,
                                         text.error().message));
  }
  if (!text) return tl::unexpected<Error>(text.error());
  NG_TRY(auto config, parse(*text, fs::absolute(file).parent_path(), file.filename().string()));
  keep_secrets(config);
  return config;
}

namespace {

// What systemd's LoadCredential= left: under the variable's own name, or as credentials are named (GITHUB_TOKEN ->
// github-token). Empty when there is none, or only the blank that stands in a unit for "not given". Started by hand:
// the files themselves from which the package's units load, where we may read them.
std::string from_credentials(const std::string& variable) {
  const char* given = std::getenv("CREDENTIALS_DIRECTORY");
  const fs::path directory = given != nullptr && *given == '/' ? given : "/etc/nightgate/credentials";
  std::string lower = variable;
  for (char& c : lower) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& name : {variable, lower}) {
    auto text = read_file(directory / name, 64U << 10U);
    if (!text) continue;
    while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back())) != 0) text->pop_back();
    if (!text->empty()) return *std::move(text);
  }
  return {};
}

}  // namespace

Result<std::string> secret_from_environment(std::string_view variable) {
  const std::string name(variable);
  const char* given = std::getenv(name.c_str());
  std::string value = given != nullptr ? given : "";
  if (value.empty()) value = from_credentials(name);
  if (value.empty()) {
    return fail(Code::denied,
                fmt::format("the environment variable {} is not set, and the config says that a secret is "
                            "in it; set it (systemd: LoadCredential= of that name, in lower case with '-')",
                            name));
  }
  log::hide(value);
  return value;
}

}  // namespace nightgate::config
