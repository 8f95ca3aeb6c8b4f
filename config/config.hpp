// What to measure: the typed form of nightgate.json. Plain values, copyable, no pointers; loaded once, then read-only.
// Names ("{broker.url}", "{mongo.host}", "{sha}", "{cpus}", "{state}") inside strings stay as written here and are
// resolved by gate/measure when a deployment starts (grammar: names.hpp); the loader has already checked that each
// refers to something.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gate/base/files.hpp"
#include "gate/base/result.hpp"

namespace nightgate::config {

enum class Better { higher, lower };

// ---- where targets come from ----
struct ImageSource {
  std::string reference;                // "host/name:{sha}" with {sha} {short} {pr} {n}; or without a tag when by_label
  bool by_label = false;                // look through the tags for org.opencontainers.image.revision
  std::optional<std::string> username;  // registry credentials: the password only from the environment
  std::string password_env;
  std::string ca_file;
  bool plain_http = false;    // for registries without TLS; loopback ones need not say so
  double disk_limit_gb = 20;  // old images of ours are removed beyond it
  bool operator==(const ImageSource&) const = default;
};
struct ArtifactSource {
  std::string path;  // "builds/{sha}", with {sha} {short} {pr} {n}: a directory per commit; relative to the config file
  bool operator==(const ArtifactSource&) const = default;
};
struct BuildSource {
  std::vector<std::string> command;  // run in a clean checkout of the commit; {out} is the directory to fill
  int timeout_minutes = 30;
  bool operator==(const BuildSource&) const = default;
};
struct Targets {
  std::optional<ImageSource> image;
  std::optional<ArtifactSource> artifact;
  std::optional<BuildSource> build;  // alone, or for merges without an image or artifact
};

struct Repository {
  fs::path path;    // a checkout or bare repository, absolute; empty with url: cloned into the state directory
                    // (both empty: the project has no repository)
  std::string url;  // fetched before each use
  std::string branch = "main";
  std::string token_env;
};

// ---- the machine and its limits ----
struct Machine {
  std::string name;           // empty: the host name
  std::string machine_class;  // empty: CPU model, cores, SMT
  std::string broker_cpus;    // "0-3"; empty: chosen by nightgate (physical cores, SMT siblings kept together)
  std::string load_cpus;
  bool shared_cpus = false;         // "cpus": "shared": said because there are too few
  double max_foreign_cpu = 0.5;     // CPUs' worth of other processes' time on the CPUs that matter
  double max_load = 0;              // 0: not checked
  double max_steal = 0.05;          // share of time stolen
  double max_memory_pressure = 10;  // PSI some avg10, per cent
  double min_free_disk_gb = 1;
  double min_free_memory_gb = 0.25;
  int wait_minutes = 30;  // for a quiet machine before a scenario
};

// ---- deployments ----
struct HttpCall {  // a request nightgate makes itself (readiness, set-up, counts, equivalence)
  std::string method = "GET";
  std::string url;  // path of the broker, or a full URL with names
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<int> expect;  // statuses; empty: 200-299
  bool operator==(const HttpCall&) const = default;
};
struct Readiness {
  enum class Kind { http, tcp, command } kind = Kind::tcp;
  HttpCall http;
  std::vector<std::string> command;
  double deadline_seconds = 60;
  std::string ca_file;
  bool verify_tls = true;
  bool operator==(const Readiness&) const = default;
};
struct Identity {          // how the broker says what it is
  HttpCall get;            // url empty: not asked
  std::string commit;      // JSON pointer to the commit (a prefix of at least 7 is enough); empty: not compared
  std::string build_type;  // JSON pointer; "debug" in any spelling is refused; empty: not asked
  bool operator==(const Identity&) const = default;
};
enum class Placement { broker_cpus, own };
struct Node {                        // one program or container of a deployment: a broker or a service
  std::string name;                  // "broker", "b", "mongo" ...
  std::string image;                 // services: a fixed image; brokers: empty = the target
  std::vector<std::string> command;  // process form; relative programs are looked up in the target's directory
  std::vector<std::string> args;     // appended
  std::map<std::string, std::string> environment;
  int port = 0;  // 0: it listens on nothing
  std::string scheme = "http";
  Readiness ready;
  Identity identity;                 // brokers only
  std::vector<std::string> reset;    // services: command run between repeats (inside the container, or on the host)
  std::vector<std::string> volumes;  // container paths kept in RAM ("/data:ram") or on disk ("/data:disk")
  std::string cpus;                  // with Placement::own
  Placement placement = Placement::broker_cpus;
  double memory_mb = 0;         // 0: no limit beyond the machine's
  std::string postgres;         // services: connection string for pg_stat_statements; empty: not a PostgreSQL
  std::vector<HttpCall> setup;  // called once, in order, after everything of the deployment is ready
  bool operator==(const Node&) const = default;
};
struct Deployment {
  std::string name;
  std::vector<Node> services;  // started first, in order (as written in an array, by name in an object)
  std::vector<Node> brokers;   // the first one gets the load; none: a command-only project
  bool operator==(const Deployment&) const = default;
};

// ---- scenarios ----
struct WrkLoad {
  int connections = 10;
  int threads = 1;
  double seconds = 5;
  std::string path;  // with no script: the URL's path
  fs::path script;   // Lua, absolute once loaded
  bool operator==(const WrkLoad&) const = default;
};
struct OpenLoad {
  double rate = 0;  // requests per second
  int connections = 10;
  double seconds = 5;
  HttpCall request;
  bool operator==(const OpenLoad&) const = default;
};
struct CommandLoad {
  std::vector<std::string> argv;            // with names; {target} is the target's directory
  std::string format = "json";              // a name known to gate/formats (load.hpp)
  std::map<std::string, std::string> pick;  // metric -> JSON pointer or regular expression, for those two formats
                                            // (each of them then stands in Scenario::metrics too)
  double timeout_seconds = 600;
  bool operator==(const CommandLoad&) const = default;
};
struct MetricInfo {
  std::string unit;  // of a wrk or open load's metric: empty = keep its own unit and direction, only `gated` counts
  Better better = Better::higher;
  bool gated = true;  // false: recorded and shown, never judged
  bool operator==(const MetricInfo&) const = default;
};
struct Fixture {                     // what the store holds before the load
  std::vector<HttpCall> calls;       // made in order against the first broker
  std::vector<std::string> command;  // or a program (with names) that loads it
  HttpCall count;                    // request whose answer holds the number; url empty: not counted
  std::string count_pointer;         // JSON pointer; or
  std::string count_header;          // header name
  std::int64_t expect = -1;          // the right count
  bool operator==(const Fixture&) const = default;
};
struct ExtraMetric {  // read around a repeat
  std::string name, unit;
  Better better = Better::lower;
  enum class Kind { prometheus_counter, prometheus_gauge, log_lines, answer_hash } kind = Kind::prometheus_gauge;
  std::string url;   // prometheus page or request
  std::string pick;  // metric with labels, or regular expression
  bool per_request = false;
  bool operator==(const ExtraMetric&) const = default;
};
enum class StoreRule { steady, grows, consumes };
struct Scenario {
  std::string name;
  std::vector<std::string> deployments;  // empty: all
  std::variant<CommandLoad, WrkLoad, OpenLoad> load;
  Fixture fixture;
  int repeats = 3;
  double warmup_seconds = 1;
  StoreRule store = StoreRule::steady;
  std::vector<int> expect;                    // statuses that count as an answer; empty: 200-299
  std::map<std::string, MetricInfo> metrics;  // overrides and, for commands, the metrics to expect
  std::vector<ExtraMetric> extra;
  [[nodiscard]] bool runs_on(std::string_view deployment) const {
    return deployments.empty() || std::find(deployments.begin(), deployments.end(), deployment) != deployments.end();
  }
  bool operator==(const Scenario&) const = default;
};

// ---- rules ----
struct Night {
  int starts = 2;
  std::string control;  // target reference: commit, tag, image reference or path; empty: none
  int max_minutes = 300;
  double min_gap_hours = 12;
  bool bisect = true;  // after a trip
};
struct Gate {
  int trip_after = 2;
  double min_change = 0.05;
  int window = 30;
};
struct Bisect {
  int interior = 3;
  double error = 0.01;
  int max_minutes = 240;
  int max_measurements = 400;
};
struct Equivalence {
  HttpCall get;
  std::vector<std::string> ignore;  // JSON pointers
};
struct Compare {
  int max_pairs = 40;
  int max_minutes = 30;
  std::vector<Equivalence> equivalence;
};
struct GitHub {
  std::string repository;  // owner/name
  std::string api = "https://api.github.com";
  std::string token_env;  // or
  fs::path token_file;    // credential file
  std::string ca_file;
};
struct Report {
  std::optional<GitHub> github;
  fs::path directory;             // pages go here; empty: <state>/report
  fs::path site;                  // the night keeps the site here; empty: no site
  std::string webhook_env;        // variable that holds the URL (it is a secret)
  std::vector<std::string> hook;  // command that gets the JSON on stdin
};

struct Config {
  std::string project;
  fs::path directory;  // of the config file: relative paths start here
  fs::path state;      // state directory
  Repository repository;
  Targets targets;
  std::string engine;  // "unix:///..."; empty: plain processes
  Machine machine;
  std::vector<Deployment> deployments;  // at least one ("default" with no broker for command-only projects)
  std::vector<Scenario> scenarios;
  Night night;
  Gate gate;
  Bisect bisect;
  Compare compare;
  std::string store = "embedded";  // or a PostgreSQL connection string without a password
  std::string store_password_env;
  std::map<std::string, std::string> aliases;  // old metric name -> new one
  Report report;

  [[nodiscard]] const Deployment* find_deployment(std::string_view name) const;
  [[nodiscard]] const Scenario* find_scenario(std::string_view name) const;
};

// Reads and checks a config. Every error is Code::usage and names the JSON path, what was found and what is allowed.
[[nodiscard]] Result<Config> load(const fs::path& file);
// The same from text; `directory` is where relative paths start.
[[nodiscard]] Result<Config> parse(std::string_view text, const fs::path& directory, std::string_view name);
// The value of an environment variable that holds a secret, registered with the log so that it is never printed. Where
// it is unset or empty: the systemd credential of that name ($CREDENTIALS_DIRECTORY, else /etc/nightgate/credentials),
// also in lower case with '-' for '_' (GITHUB_TOKEN, github-token). Code::denied when there is neither.
[[nodiscard]] Result<std::string> secret_from_environment(std::string_view variable);

}  // namespace nightgate::config
