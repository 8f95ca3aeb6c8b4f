// init: a commented starting config from what is found here.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/cli/found_histories.hpp"
#include "gate/base/files.hpp"
#include "gate/base/json.hpp"
#include "gate/base/process.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

struct Finds {
  std::string project = "myproject";
  std::string branch = "main";
  std::string github;  // owner/name
  bool repository = false;
  std::string engine;
  bool artifacts = false;
  long cpus = 1;
};

std::string first_line(const Output& output) { return output.out.substr(0, output.out.find('\n')); }

std::string git(std::vector<std::string> args) {
  args.insert(args.begin(), "git");
  Command command;
  command.argv = std::move(args);
  const auto output = run(command, std::chrono::seconds(10));
  return output && output->ok() ? first_line(*output) : "";
}

// "git@github.com:owner/name.git" and "https://github.com/owner/name" -> "owner/name".
std::string github_of(std::string url) {
  const auto at = url.find("github.com");
  if (at == std::string::npos) return "";
  url = url.substr(at + 11);
  if (url.size() > 4 && url.compare(url.size() - 4, 4, ".git") == 0) url.resize(url.size() - 4);
  return url;
}

Finds look_around() {
  Finds f;
  f.repository = !git({"rev-parse", "--git-dir"}).empty();
  if (const auto branch = git({"symbolic-ref", "--short", "HEAD"}); !branch.empty()) f.branch = branch;
  f.github = github_of(git({"remote", "get-url", "origin"}));
  std::error_code ignored;
  f.project = fs::current_path(ignored).filename().string();
  for (const char* socket : {"/var/run/docker.sock", "/run/podman/podman.sock"}) {
    if (f.engine.empty() && fs::exists(socket, ignored)) f.engine = std::string("unix://") + socket;
  }
  f.artifacts = fs::is_directory("builds", ignored);
  f.cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return f;
}

std::string quoted(const std::string& text) { return dump_json(text); }

std::string config_text(const Finds& f) {
  std::string image = f.github.empty() ? "registry.example/" + f.project : "ghcr.io/" + f.github;
  for (char& c : image) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool images = !f.engine.empty() && !f.artifacts;
  std::string out = "// nightgate's configuration; every key is explained in config/README.md.\n{\n";
  out += fmt::format("  \"project\": {},\n", quoted(f.project));
  if (f.repository) out += fmt::format("  \"repository\": {{\"path\": \".\", \"branch\": {}}},\n", quoted(f.branch));
  out += "\n  // Where the startable versions of the server are found: an image or a directory per commit.\n";
  if (images) {
    out += fmt::format("  \"targets\": {{\"image\": {}}},\n  \"engine\": {},\n", quoted(image + ":{sha}"),
                       quoted(f.engine));
  } else {
    out += "  \"targets\": {\"artifact\": \"builds/{sha}\"},\n";
    out += "  // No container engine answers here: the server runs as a plain process. For images:\n";
    out += fmt::format("  //   \"targets\": {{\"image\": {}}}, \"engine\": \"unix:///var/run/docker.sock\"\n",
                       quoted(image + ":{sha}"));
  }
  out += "\n  // Server and load generator get CPUs of their own";
  out += f.cpus < 2
             ? "; this machine has one, so they share it.\n  \"machine\": {\"cpus\": \"shared\"},\n"
             : fmt::format(" ({} here); nightgate chooses unless you do.\n  \"machine\": {{\"wait_minutes\": 30}},\n",
                           f.cpus);
  out += "\n  // How one version is started, and how it says that it is ready.\n";
  out += fmt::format("  \"deployments\": {{\"default\": {{\"broker\": {{{}\"port\": 8080, \"ready\": \"/\"}}}}}},\n",
                     images ? "" : "\"command\": [\"./server\"], ");
  out +=
      "\n  // What is measured: requests per second of one URL. Lua scripts for wrk, an open-loop rate or any program "
      "that\n"
      "  // prints JSON are the other kinds of load.\n"
      "  \"scenarios\": {\n    \"get\": {\"load\": {\"wrk\": {\"connections\": 10, \"seconds\": 5, \"path\": \"/\"}}, "
      "\"repeats\": 3}\n  },\n";
  out += "\n  \"night\": {\"starts\": 2},\n  \"gate\": {\"min_change\": 0.05},\n  \"store\": \"embedded\"";
  if (!f.github.empty())
    out += fmt::format(
        ",\n\n  // Issues and statuses go to this repository once the token is set.\n  \"report\": {{\"github\": "
        "{{\"repository\": {}, \"token_env\": \"GITHUB_TOKEN\"}}}}",
        quoted(f.github));
  return out + "\n}\n";
}

// Moving in: what was measured until now, and how it comes along.
std::string moving_in(const std::vector<FoundHistory>& histories, const std::string& host) {
  if (histories.empty()) return "";
  std::string out = "\nhistories that are here already; imported, the first night has a baseline:\n";
  for (const auto& found : histories) {
    out += fmt::format("  {}\n    # {}: {} nights, {} metrics such as {}{}\n", import_command(found, host),
                       found.format, found.nights, found.metrics, found.metric,
                       found.machine.empty() ? "" : ", measured on " + found.machine);
  }
  return out +
         "nights of one machine are judged together: the name behind --machine, or in the file, must be this "
         "machine's\n(\"machine\": {\"name\": ..}) where they were measured here, and another one where not. A "
         "metric that has another name\nin the config goes on by \"aliases\": {\"old name\": "
         "\"deployment.scenario.metric\"}, declared before the import.\n";
}

json to_json(const FoundHistory& found, const std::string& host) {
  return {{"file", found.path},
          {"format", found.format},
          {"machine", found.machine},
          {"nights", found.nights},
          {"metrics", found.metrics},
          {"example", found.metric},
          {"command", import_command(found, host)}};
}

}  // namespace

Result<int> verb_init(const Options& options) {
  std::error_code ignored;
  if (fs::exists(options.config, ignored) && !options.force) {
    return fail(Code::usage, options.config + " exists already; --force replaces it, --config names another file");
  }
  const auto finds = look_around();
  const auto text = config_text(finds);
  // What is written must load: otherwise the first thing a user meets is an error of ours.
  if (const auto parsed = config::parse(text, fs::current_path(ignored), options.config); !parsed) {
    return fail(Code::internal, "the config that init would write does not load: " + parsed.error().text());
  }
  NG_CHECK(write_file(options.config, text));
  const auto histories = find_histories(fs::current_path(ignored));
  const auto host = machine_name(options, config::Config{});
  if (options.json) {
    auto listed = json::array();
    for (const auto& found : histories) listed.push_back(to_json(found, host));
    print_json(options, {{"config", options.config},
                         {"project", finds.project},
                         {"repository", finds.repository},
                         {"engine", finds.engine},
                         {"github", finds.github},
                         {"histories", listed}});
  } else {
    print(fmt::format("wrote {}; look at its port and URL, then run `nightgate check`\n", options.config) +
          clean(moving_in(histories, host)));
  }
  return 0;
}

}  // namespace nightgate::cli
