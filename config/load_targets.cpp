// "repository", "targets" and "machine".
#include <nlohmann/json.hpp>

#include "config/fields.hpp"

namespace nightgate::config {
namespace {

Status load_image(const JsonReader& reader, ImageSource& image, const fs::path& directory) {
  if (reader.value().is_string()) {
    image.reference = reader.value().get<std::string>();
    if (image.reference.empty()) return reader.wrong("an image reference such as \"ghcr.io/owner/name:{sha}\"");
    return {};
  }
  Fields fields(reader, "image");
  fields.require("reference", "an image reference such as \"ghcr.io/owner/name:{sha}\"");
  fields.text("reference", image.reference);
  fields.flag("by_label", image.by_label);
  std::string username;
  fields.text("username", username);
  if (!username.empty()) image.username = username;
  fields.variable("password_env", image.password_env);
  if (fields.has("username") != fields.has("password_env")) {
    fields.refuse("\"username\" and \"password_env\" belong together");
  }
  fields.file("ca_file", image.ca_file, directory);
  fields.flag("plain_http", image.plain_http);
  fields.number("disk_limit_gb", image.disk_limit_gb, 0.1, 100000);
  return fields.status();
}

Status load_artifact(const JsonReader& reader, ArtifactSource& artifact) {
  if (reader.value().is_string()) {
    artifact.path = reader.value().get<std::string>();
    if (artifact.path.empty()) return reader.wrong("a directory per commit, such as \"builds/{sha}\"");
    return {};
  }
  Fields fields(reader, "artifact");
  fields.require("path", "a directory per commit, such as \"builds/{sha}\"");
  fields.text("path", artifact.path);
  return fields.status();
}

Status load_build(const JsonReader& reader, BuildSource& build) {
  if (!reader.value().is_object()) {
    const nlohmann::json wrapped = {{"command", reader.value()}};
    Fields fields(JsonReader(wrapped, reader.path()), "build");
    fields.command("command", build.command);
    return fields.status();
  }
  Fields fields(reader, "build");
  fields.require("command", "the build's command");
  fields.command("command", build.command);
  fields.integer("timeout_minutes", build.timeout_minutes, 1, 24 * 60);
  return fields.status();
}

}  // namespace

Status load_repository(const JsonReader& reader, Config& config) {
  Fields fields(reader, "repository");
  Repository& repository = config.repository;
  fields.file("path", repository.path, config.directory);
  fields.text("url", repository.url);
  fields.text("branch", repository.branch);
  fields.variable("token_env", repository.token_env);
  if (fields.has("path") == fields.has("url")) fields.refuse("expected either \"path\" or \"url\"");
  const std::string_view url = repository.url;
  const auto scheme = url.find("://");
  if (scheme != std::string_view::npos && url.find('@') < url.find('/', scheme + 3) &&
      url.substr(scheme + 3, url.find('@') - scheme - 3).find(':') != std::string_view::npos) {
    fields.refuse("url",
                  "no password may stand in the config; put it into an environment variable and name that one "
                  "in \"token_env\"");
  }
  return fields.status();
}

Status load_targets(const JsonReader& reader, Config& config) {
  Fields fields(reader, "targets");
  Targets& targets = config.targets;
  fields.with("image",
              [&](const JsonReader& field) { return load_image(field, targets.image.emplace(), config.directory); });
  fields.with("artifact", [&](const JsonReader& field) { return load_artifact(field, targets.artifact.emplace()); });
  fields.with("build", [&](const JsonReader& field) { return load_build(field, targets.build.emplace()); });
  if (targets.image && targets.artifact)
    fields.refuse("expected either \"image\" or \"artifact\" (each may have a \"build\")");
  if (!targets.image && !targets.artifact && !targets.build) {
    fields.refuse("expected \"image\", \"artifact\" or \"build\"");
  }
  return fields.status();
}

Status load_machine(const JsonReader& reader, Config& config) {
  Fields fields(reader, "machine");
  Machine& machine = config.machine;
  fields.text("name", machine.name);
  fields.text("class", machine.machine_class);
  fields.cpus("broker_cpus", machine.broker_cpus);
  fields.cpus("load_cpus", machine.load_cpus);
  fields.choice("cpus", machine.shared_cpus, {{"own", false}, {"shared", true}});
  fields.number("max_foreign_cpu", machine.max_foreign_cpu, 0, 4096);
  fields.number("max_load", machine.max_load, 0, 100000);
  fields.number("max_steal", machine.max_steal, 0, 1);
  fields.number("max_memory_pressure", machine.max_memory_pressure, 0, 100);
  fields.number("min_free_disk_gb", machine.min_free_disk_gb, 0, 1e6);
  fields.number("min_free_memory_gb", machine.min_free_memory_gb, 0, 1e6);
  fields.integer("wait_minutes", machine.wait_minutes, 0, 24 * 60);
  return fields.status();
}

}  // namespace nightgate::config
