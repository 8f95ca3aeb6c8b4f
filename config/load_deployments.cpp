// "deployments": brokers and the services they need.
#include <nlohmann/json.hpp>

#include "config/fields.hpp"

namespace nightgate::config {
namespace {

Status load_ready(const JsonReader& reader, Readiness& ready, const fs::path& directory) {
  if (reader.value().is_string()) {
    if (reader.value() == "tcp") return {};
    ready.kind = Readiness::Kind::http;
    if (load_call(reader, ready.http)) return {};
    return reader.wrong(
        "a path to ask for (\"/version\"), \"tcp\", or an object with \"http\", \"tcp\" or \"command\"");
  }
  Fields fields(reader, "ready");
  int kinds = 0;
  bool tcp = false;
  fields.flag("tcp", tcp);
  if (tcp) ++kinds;
  if (fields.has("http")) {
    ++kinds;
    ready.kind = Readiness::Kind::http;
  }
  if (fields.has("command")) {
    ++kinds;
    ready.kind = Readiness::Kind::command;
  }
  if (kinds > 1) fields.refuse("expected only one of \"http\", \"tcp\" and \"command\"");
  fields.with("http", [&](const JsonReader& field) { return load_call(field, ready.http); });
  fields.command("command", ready.command);
  fields.number("deadline_seconds", ready.deadline_seconds, 0.1, 3600);
  fields.file("ca_file", ready.ca_file, directory);
  fields.flag("verify_tls", ready.verify_tls);
  return fields.status();
}

Status load_identity(const JsonReader& reader, Identity& identity) {
  Fields fields(reader, "identity");
  fields.require("get", "the request whose answer says what the broker is");
  fields.with("get", [&](const JsonReader& field) { return load_call(field, identity.get); });
  for (const auto& [key, out] :
       {std::pair("commit", &identity.commit), std::pair("build_type", &identity.build_type)}) {
    fields.text(key, *out);
    if (!out->empty() && out->front() != '/') fields.wrong(key, "a JSON pointer into the answer, such as \"/commit\"");
  }
  if (identity.commit.empty() && identity.build_type.empty())
    fields.refuse("expected \"commit\" or \"build_type\", or both");
  return fields.status();
}

void volume_fields(Fields& fields, Node& node) {
  fields.each_element("volumes", [&](const JsonReader& element) -> Status {
    const std::string expected = "a container path with where it is kept: \"/data:ram\" or \"/data:disk\"";
    if (!element.value().is_string()) return element.wrong(expected);
    const auto text = element.value().get<std::string>();
    const bool known = text.ends_with(":ram") || text.ends_with(":disk");
    if (!known || !text.starts_with('/')) return element.wrong(expected);
    node.volumes.push_back(text);
    return {};
  });
}

// `name`: of a service in an object or of the only broker; empty where the node itself must say it.
Status load_node(const JsonReader& reader, Node& node, std::string name, bool is_broker, const fs::path& directory) {
  Fields fields(reader, "node");
  if (name.empty()) {
    fields.require("name", "a name for this one");
    fields.text("name", name);
  } else if (fields.has("name")) {
    fields.refuse("name", "it is called \"" + name + "\" already; \"name\" is for the elements of an array");
  }
  if (!is_plain_name(name)) fields.refuse("\"" + name + "\" is no name: letters, digits, '_' and '-' are");
  node.name = name;
  fields.text("image", node.image);
  fields.command("command", node.command);
  fields.texts("args", node.args);
  fields.text_map("environment", node.environment);
  fields.integer("port", node.port, 1, 65535);
  fields.choice("scheme", node.scheme, {{"http", std::string("http")}, {"https", std::string("https")}});
  fields.with("ready", [&](const JsonReader& field) { return load_ready(field, node.ready, directory); });
  fields.with("identity", [&](const JsonReader& field) { return load_identity(field, node.identity); });
  fields.command("reset", node.reset);
  volume_fields(fields, node);
  fields.cpus("cpus", node.cpus);
  if (!node.cpus.empty()) node.placement = Placement::own;
  fields.number("memory_mb", node.memory_mb, 4, 1e8);
  fields.text("postgres", node.postgres);
  fields.each_element("setup",
                      [&](const JsonReader& element) { return load_call(element, node.setup.emplace_back()); });
  for (const char* key : {"reset", "postgres"}) {
    if (is_broker && fields.has(key)) fields.refuse(key, "is for services; a broker starts fresh anyway");
  }
  if (!is_broker && fields.has("identity")) fields.refuse("identity", "is for brokers");
  if (node.port == 0 && fields.has("ready") && node.ready.kind != Readiness::Kind::command) {
    fields.refuse("ready", "asking over the network needs a \"port\" beside it");
  }
  return fields.status();
}

}  // namespace

Status load_deployment(const JsonReader& reader, Deployment& deployment, const fs::path& directory) {
  Fields fields(reader, "deployment");
  fields.with("services", [&](const JsonReader& services) -> Status {
    if (services.value().is_array()) {
      for (const auto& one : services.elements()) {
        NG_CHECK(load_node(one, deployment.services.emplace_back(), "", false, directory));
      }
      return {};
    }
    if (!services.value().is_object()) return services.wrong("an object by name, or an array in the order of starting");
    for (const auto& [name, one] : services.members()) {
      NG_CHECK(load_node(one, deployment.services.emplace_back(), name, false, directory));
    }
    return {};
  });
  if (fields.has("broker") && fields.has("brokers")) fields.refuse("expected either \"broker\" or \"brokers\"");
  fields.with("broker", [&](const JsonReader& broker) {
    return load_node(broker, deployment.brokers.emplace_back(), "broker", true, directory);
  });
  fields.each_element("brokers", [&](const JsonReader& broker) {
    return load_node(broker, deployment.brokers.emplace_back(), "", true, directory);
  });
  return fields.status();
}

}  // namespace nightgate::config
