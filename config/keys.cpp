#include "config/keys.hpp"

#include <algorithm>

namespace nightgate::config {
namespace {

using Keys = std::vector<std::string>;

Keys with_call(Keys keys) {
  for (const char* key : {"get", "post", "put", "patch", "delete", "method", "url", "body", "headers"}) {
    keys.emplace_back(key);
  }
  return keys;
}

}  // namespace

const std::vector<ObjectKeys>& known_objects() {
  static const std::vector<ObjectKeys> objects = {
      {"config",
       {"$schema", "project", "state", "repository", "targets", "engine", "machine", "deployments", "scenarios",
        "night", "gate", "bisect", "compare", "store", "store_password_env", "aliases", "report"}},
      {"repository", {"path", "url", "branch", "token_env"}},
      {"targets", {"image", "artifact", "build"}},
      {"image", {"reference", "by_label", "username", "password_env", "ca_file", "plain_http", "disk_limit_gb"}},
      {"artifact", {"path"}},
      {"build", {"command", "timeout_minutes"}},
      {"machine",
       {"name", "class", "broker_cpus", "load_cpus", "cpus", "max_foreign_cpu", "max_load", "max_steal",
        "max_memory_pressure", "min_free_disk_gb", "min_free_memory_gb", "wait_minutes"}},
      {"deployment", {"services", "broker", "brokers"}},
      {"node",
       {"name", "image", "command", "args", "environment", "port", "scheme", "ready", "identity", "reset", "volumes",
        "cpus", "memory_mb", "postgres", "setup"}},
      {"ready", {"http", "tcp", "command", "deadline_seconds", "ca_file", "verify_tls"}},
      {"identity", {"get", "commit", "build_type"}},
      {"call", with_call({"expect"})},
      {"scenario",
       {"deployments", "load", "fixture", "repeats", "warmup_seconds", "store", "expect", "metrics", "extra"}},
      {"load", {"wrk", "open", "command"}},
      {"wrk", {"connections", "threads", "seconds", "path", "script"}},
      {"open", with_call({"rate", "connections", "seconds"})},
      {"command", {"argv", "format", "pick", "timeout_seconds"}},
      {"fixture", {"calls", "command", "count", "count_pointer", "count_header", "expect"}},
      {"metric", {"unit", "better", "gated"}},
      {"extra", {"unit", "better", "kind", "url", "pick", "per_request"}},
      {"night", {"starts", "control", "max_minutes", "min_gap_hours", "bisect"}},
      {"control", {"target"}},
      {"gate", {"trip_after", "min_change", "window"}},
      {"bisect", {"interior", "error", "max_minutes", "max_measurements"}},
      {"compare", {"max_pairs", "max_minutes", "equivalence"}},
      {"equivalence", with_call({"expect", "ignore"})},
      {"report", {"github", "directory", "site", "webhook_env", "hook"}},
      {"github", {"repository", "api", "token_env", "token_file", "ca_file"}},
  };
  return objects;
}

const std::vector<std::string>& known_keys(std::string_view object) {
  static const std::vector<std::string> none;
  const auto& all = known_objects();
  const auto found = std::ranges::find(all, object, &ObjectKeys::object);
  return found == all.end() ? none : found->keys;
}

const std::vector<std::string>& load_formats() {
  static const std::vector<std::string> names = {
      "json",      "json-pointer", "regex",   "bencher",         "google-benchmark",
      "hyperfine", "k6",           "pgbench", "redis-benchmark", "go-benchmark"};
  return names;
}

}  // namespace nightgate::config
