#include "tests/support/services.hpp"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <sstream>

#include "gate/base/http.hpp"
#include "gate/base/process.hpp"

namespace nightgate::test {
namespace {

// Stops what was started; ci/engine's own guard does it when this never runs.
struct Running {
  explicit Running(fs::path where) : directory(std::move(where)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  fs::path directory;
  ~Running() {
    Command stop;
    stop.argv = {NIGHTGATE_SOURCE_DIR "/ci/engine", "stop", directory.string()};
    static_cast<void>(run(stop, std::chrono::seconds(60)));
  }
};

Result<Services> read_services(const fs::path& file) {
  NG_TRY(const std::string text, read_file(file));
  std::map<std::string, std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals != std::string::npos) found[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return Services{found["ENGINE"], found["REGISTRY"], found["REGISTRY_AUTH"], found["REGISTRY_USER"],
                  found["REGISTRY_PASSWORD"]};
}

Result<Services> start() {
  const char* engine = std::getenv("DOCKER_HOST");
  if (engine == nullptr && ::geteuid() != 0) return fail(Code::measure, "a private container engine needs root");
  for (const char* program : {"dockerd", "docker-registry", "cc"}) {
    const bool needed = engine == nullptr || std::string_view(program) != "dockerd";
    if (needed && !find_program(program)) return fail(Code::not_found, std::string("there is no ") + program + " here");
  }
  if (const char* ready = std::getenv("NIGHTGATE_SERVICES")) return read_services(fs::path(ready) / "env");
  static std::unique_ptr<Running> running;
  const fs::path directory = "/tmp/ng-engine-" + std::to_string(::getpid());
  Command command;
  command.argv = {NIGHTGATE_SOURCE_DIR "/ci/engine", "start", directory.string(), "--while",
                  std::to_string(::getpid())};
  if (engine != nullptr) command.argv.emplace_back("--registry");
  NG_TRY(const Output output, run(command, std::chrono::seconds(60)));
  if (!output.ok()) return fail(Code::measure, "the private engine did not start: " + output.err);
  running = std::make_unique<Running>(directory);
  return read_services(directory / "env");
}

Status run_or_fail(const std::vector<std::string>& argv) {
  Command command;
  command.argv = argv;
  NG_TRY(const Output output, run(command, std::chrono::seconds(60)));
  if (!output.ok()) return fail(Code::measure, argv.front() + ": " + output.err);
  return {};
}

Result<HttpResponse> ask(HttpRequest request, const std::string& path) {
  request.url = "http://engine/v1.41" + path;
  request.unix_socket = services()->engine.substr(std::string("unix://").size());
  request.timeout = std::chrono::seconds(120);
  NG_TRY(auto response, make_http_client()->send(request));
  const bool failed = response.status >= 300 || response.body.find("\"error\"") != std::string::npos;
  if (failed) return fail(Code::measure, path + ": " + std::to_string(response.status) + " " + response.body);
  return response;
}

}  // namespace

const Result<Services>& services() {
  static const Result<Services> found = start();
  return found;
}

Result<std::string> build_image(const std::string& name, const std::map<std::string, std::string>& labels,
                                const std::string& salt, const fs::path& own_program) {
  NG_TRY(const auto directory, TempDir::make("ng-image"));
  const fs::path& path = directory.path();
  std::string file = "FROM scratch\nCOPY box /box\nENTRYPOINT [\"/box\"]\nCMD [\"wait\"]\nENV SALT=\"" + salt + "\"\n";
  for (const auto& [key, value] : labels) file += "LABEL \"" + key + "\"=\"" + value + "\"\n";
  NG_CHECK(write_file(path / "Dockerfile", file));
  static const auto box = TempDir::make("ng-box");  // compiled once
  if (!box) return tl::unexpected<Error>(box.error());
  const std::string program = (box->path() / "box").string();
  if (own_program.empty() && !fs::exists(program)) {
    NG_CHECK(run_or_fail({"cc", "-static", "-O1", "-o", program, NIGHTGATE_SOURCE_DIR "/tests/support/box.c"}));
  }
  fs::copy_file(own_program.empty() ? fs::path(program) : own_program, path / "box");
  const std::string tar = (path / "context.tar").string();
  NG_CHECK(run_or_fail({"tar", "-C", path.string(), "--mtime=@0", "-cf", tar, "Dockerfile", "box"}));
  HttpRequest request;
  request.method = "POST";
  NG_TRY(request.body, read_file(tar));
  request.headers = {{"Content-Type", "application/x-tar"}};
  NG_TRY(const auto built, ask(request, "/build?q=true&t=" + url_encode(name)));
  const auto at = built.body.find("sha256:");
  return at == std::string::npos ? std::string() : built.body.substr(at, 71);
}

Status push_image(const std::string& name) {
  HttpRequest request;
  request.method = "POST";
  request.headers = {{"X-Registry-Auth", "e30="}};  // {}
  const auto colon = name.rfind(':');
  const auto pushed = ask(request, "/images/" + name.substr(0, colon) + "/push?tag=" + name.substr(colon + 1));
  if (!pushed) return tl::unexpected<Error>(pushed.error());
  return {};
}

}  // namespace nightgate::test
