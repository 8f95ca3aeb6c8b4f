// The Docker Engine API over a unix socket (docs.docker.com/engine/api, version 1.41 and what newer engines still
// take); podman's service answers the same calls.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "gate/base/http.hpp"
#include "gate/base/json.hpp"
#include "gate/formats/image_ref.hpp"
#include "gate/targets/base64.hpp"
#include "gate/targets/engine.hpp"
#include "gate/targets/engine_stream.hpp"

namespace nightgate::targets {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Members of outside JSON that may be missing, null or of another type: then the default.
const Json& at(const Json& json, const char* key) {
  static const Json null;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() ? *found : null;
}
std::string text_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}
std::int64_t number_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}
bool true_at(const Json& json, const char* key) { return at(json, key) == true; }
std::map<std::string, std::string> texts_at(const Json& json, const char* key) {
  std::map<std::string, std::string> out;
  if (!at(json, key).is_object()) return out;
  for (const auto& [name, value] : at(json, key).items()) {
    if (value.is_string()) out[name] = value.get<std::string>();
  }
  return out;
}

// One path element or image reference; '/', ':' and '@' stay, since the engine's router takes references whole.
std::string escaped(std::string_view reference) {
  std::string out;
  std::string word;
  for (const char c : reference) {
    if (c != '/' && c != ':' && c != '@') {
      word += c;
      continue;
    }
    out += url_encode(word) + c;
    word.clear();
  }
  return out + url_encode(word);
}

bool is_ok(const HttpResponse& response) { return response.status >= 200 && response.status < 300; }

std::string message_of(const HttpResponse& response) {
  const auto json = parse_json(response.body);
  const std::string text = json ? text_at(*json, "message") : std::string();
  return text.empty() ? fmt::format("status {}", response.status) : text;
}

Json body_of(const ContainerSpec& spec) {
  Json body = {{"Image", spec.image}, {"Env", spec.environment}, {"Labels", spec.labels}};
  std::vector<std::string> arguments = spec.args;
  if (!spec.command.empty()) {
    body["Entrypoint"] = Json::array({spec.command.front()});
    arguments.insert(arguments.begin(), spec.command.begin() + 1, spec.command.end());
  }
  if (!arguments.empty() || !spec.command.empty()) body["Cmd"] = arguments;
  Json host = {{"NetworkMode", spec.network},
               {"PidsLimit", spec.pids_limit},
               {"RestartPolicy", {{"Name", "no"}}},
               {"LogConfig", {{"Type", "json-file"}, {"Config", {{"max-size", "20m"}}}}}};
  if (!spec.cpuset.empty()) host["CpusetCpus"] = spec.cpuset;
  if (spec.memory_bytes > 0) {
    host["Memory"] = spec.memory_bytes;
    host["MemorySwap"] = spec.memory_bytes;  // memory and swap together: no swap
  }
  for (const std::string& path : spec.tmpfs) host["Tmpfs"][path] = "";
  for (const std::string& path : spec.volumes) body["Volumes"][path] = Json::object();
  body["HostConfig"] = std::move(host);
  return body;
}

class DockerEngine final : public Engine {
 public:
  explicit DockerEngine(std::string socket) : socket_(std::move(socket)), http_(make_http_client()) {}

  Result<std::string> version() override {
    NG_CHECK(negotiate());
    return version_;
  }

  Result<ImageInfo> image(std::string_view reference) override {
    NG_TRY(const Json json, get("/images/" + escaped(reference) + "/json", "the image " + std::string(reference)));
    ImageInfo info;
    info.id = text_at(json, "Id");
    if (!info.id.starts_with("sha256:")) info.id = "sha256:" + info.id;  // podman gives the bare number
    info.labels = texts_at(at(json, "Config"), "Labels");
    info.size_bytes = number_at(json, "Size");
    info.digest = digest_of(json, reference);
    if (info.digest.empty()) info.digest = info.id;
    return info;
  }

  Status pull(std::string_view reference, const std::optional<RegistryLogin>& login) override {
    NG_TRY(const auto parsed, formats::parse_image_ref(reference));
    const std::string name = parsed.registry + "/" + parsed.repository;
    HttpRequest request;
    request.method = "POST";
    request.timeout = minutes(60);
    request.max_bytes = std::size_t{1} << 30U;  // lines of progress, read and dropped
    if (login) {
      const Json secret = {
          {"username", login->username}, {"password", login->password}, {"serveraddress", parsed.registry}};
      request.headers.emplace_back("X-Registry-Auth", base64(dump_json(secret), Base64::url));
    }
    PullProgress progress;
    std::string body;
    request.on_data = [&](std::string_view bytes) {
      progress.feed(bytes);
      if (body.size() < 4096) body += bytes.substr(0, 4096);
      return true;
    };
    auto response =
        call(request, "/images/create?fromImage=" + url_encode(name) + "&tag=" + url_encode(parsed.reference()));
    if (!response) return with_context(response.error(), "pulling " + parsed.text());
    response->body = body;
    Status status = progress.finish();
    if (!is_ok(*response)) {
      const std::string why = message_of(*response);
      status = fail(response->status == 404 ? Code::not_found : pull_code(why), why);
    }
    if (status) return {};
    Error error = status.error();
    error.message = fmt::format("the engine could not pull {}: {}", parsed.text(), error.message);
    return tl::unexpected<Error>(std::move(error));
  }

  Status remove_image(std::string_view id) override {
    NG_TRY(const auto response, send("DELETE", "/images/" + escaped(id), {}, seconds(120)));
    if (is_ok(response) || response.status == 404) return {};
    return failed("removing the image " + std::string(id), response);
  }

  Result<std::string> create(const ContainerSpec& spec) override {
    const std::string query = spec.name.empty() ? "" : "?name=" + url_encode(spec.name);
    NG_TRY(const auto response, send("POST", "/containers/create" + query, body_of(spec), seconds(60)));
    if (!is_ok(response)) return failed("creating a container of " + spec.image, response);
    NG_TRY(const Json json, parse_json(response.body));
    const std::string id = text_at(json, "Id");
    if (id.empty()) return fail(Code::measure, "the engine created a container of " + spec.image + " without an id");
    return id;
  }

  Status start(std::string_view id) override {
    NG_TRY(const auto response, send("POST", "/containers/" + escaped(id) + "/start", {}, seconds(60)));
    if (is_ok(response) || response.status == 304) return {};
    return failed("starting the container", response);
  }

  Result<ContainerState> inspect(std::string_view id) override {
    NG_TRY(const Json json, get("/containers/" + escaped(id) + "/json", "the container " + std::string(id)));
    const Json& state = at(json, "State");
    ContainerState out;
    out.running = true_at(state, "Running");
    out.exit_code = static_cast<int>(number_at(state, "ExitCode"));
    out.oom_killed = true_at(state, "OOMKilled");
    out.pid = static_cast<long>(number_at(state, "Pid"));
    out.started_at = text_at(state, "StartedAt");
    return out;
  }

  Result<ContainerStats> stats(std::string_view id) override {
    NG_TRY(const Json json,
           get("/containers/" + escaped(id) + "/stats?stream=false&one-shot=true", "the container " + std::string(id)));
    const Json& cpu = at(json, "cpu_stats");
    ContainerStats out;
    out.cpu_seconds = static_cast<double>(number_at(at(cpu, "cpu_usage"), "total_usage")) / 1e9;
    out.throttled_periods = number_at(at(cpu, "throttling_data"), "throttled_periods");
    out.memory_peak_bytes = number_at(at(json, "memory_stats"), "max_usage");
    return out;
  }

  Result<std::string> logs(std::string_view id, int tail_lines) override {
    const auto query = fmt::format("/logs?stdout=true&stderr=true&tail={}", tail_lines);
    NG_TRY(const auto response, send("GET", "/containers/" + escaped(id) + query, {}, seconds(30)));
    if (!is_ok(response)) return failed("reading a container's log", response);
    return demultiplex(response.body);
  }

  Status stop(std::string_view id, seconds grace) override {
    const auto path = fmt::format("/containers/{}/stop?t={}", escaped(id), grace.count());
    NG_TRY(const auto response, send("POST", path, {}, grace + seconds(60)));
    if (is_ok(response) || response.status == 304) return {};
    return failed("stopping a container", response);
  }

  Status remove(std::string_view id) override {
    // 409: it is being removed already. Done when it is gone.
    for (int attempt = 0; attempt < 100; ++attempt) {
      NG_TRY(const auto response, send("DELETE", "/containers/" + escaped(id) + "?force=true&v=true", {}, seconds(60)));
      if (is_ok(response) || response.status == 404) return {};
      if (response.status != 409) return failed("removing a container", response);
      std::this_thread::sleep_for(milliseconds(100));
    }
    return fail(Code::measure, "a container was not removed within 10 s: " + std::string(id));
  }

  Result<std::vector<ListedContainer>> list(std::string_view label) override {
    const Json filters = {{"label", Json::array({std::string(label)})}};
    NG_TRY(const Json json,
           get("/containers/json?all=true&filters=" + url_encode(dump_json(filters)), "the containers"));
    std::vector<ListedContainer> out;
    if (!json.is_array()) return fail(Code::bad_data, "the engine's list of containers is no list");
    for (const Json& one : json) {
      ListedContainer container{text_at(one, "Id"), "", texts_at(one, "Labels"), number_at(one, "Created")};
      const Json& names = at(one, "Names");
      if (names.is_array() && !names.empty() && names[0].is_string()) container.name = names[0].get<std::string>();
      if (container.name.starts_with('/')) container.name.erase(0, 1);
      out.push_back(std::move(container));
    }
    return out;
  }

  Result<std::string> exec(std::string_view id, const std::vector<std::string>& argv) override {
    const Json wanted = {{"AttachStdout", true}, {"AttachStderr", true}, {"Cmd", argv}};
    NG_TRY(const auto made, send("POST", "/containers/" + escaped(id) + "/exec", wanted, seconds(30)));
    if (!is_ok(made)) return failed("running a command in a container", made);
    NG_TRY(const Json json, parse_json(made.body));
    const std::string run = escaped(text_at(json, "Id"));
    NG_TRY(const auto ran, send("POST", "/exec/" + run + "/start", {{"Detach", false}, {"Tty", false}}, minutes(30)));
    if (!is_ok(ran)) return failed("running a command in a container", ran);
    std::string output = demultiplex(ran.body);
    NG_TRY(const Json ended, get("/exec/" + run + "/json", "the command's end"));
    const auto code = number_at(ended, "ExitCode");
    if (code == 0 && !at(ended, "ExitCode").is_null()) return output;
    return fail(Code::measure, fmt::format("\"{}\" in the container ended with exit code {}: {}",
                                           argv.empty() ? "" : argv.front(), code, output.substr(0, 2000)));
  }

 private:
  // "host/name@sha256:..." of the reference's own repository, else the first one known.
  static std::string digest_of(const Json& json, std::string_view reference) {
    const auto wanted = formats::parse_image_ref(reference);
    if (wanted && !wanted->digest.empty()) return wanted->digest;
    std::string first;
    const Json& known = at(json, "RepoDigests");
    if (!known.is_array()) return {};
    for (const Json& one : known) {
      const auto parsed = formats::parse_image_ref(one.is_string() ? one.get<std::string>() : "");
      if (!parsed) continue;
      if (wanted && parsed->registry == wanted->registry && parsed->repository == wanted->repository)
        return parsed->digest;
      if (first.empty()) first = parsed->digest;
    }
    return first;
  }

  static tl::unexpected<Error> failed(const std::string& doing, const HttpResponse& response) {
    const Code code = response.status == 404 ? Code::not_found : Code::measure;
    return fail(code, doing + " failed; the engine says: " + message_of(response));
  }

  Result<Json> get(const std::string& path, const std::string& what) {
    NG_TRY(const auto response, send("GET", path, {}, seconds(30)));
    if (response.status == 404)
      return fail(Code::not_found, "the engine has not " + what + ": " + message_of(response));
    if (!is_ok(response)) return failed("asking the engine for " + what, response);
    return parse_json(response.body);
  }

  Result<HttpResponse> send(const std::string& method, const std::string& path, const Json& body,
                            milliseconds timeout) {
    HttpRequest request;
    request.method = method;
    request.timeout = timeout;
    if (!body.is_null()) {
      request.headers.emplace_back("Content-Type", "application/json");
      request.body = dump_json(body);
    }
    return call(request, path);
  }

  Result<HttpResponse> call(HttpRequest& request, const std::string& path) {
    NG_CHECK(negotiate());
    return call_plainly(request, "/v" + api_ + path);
  }

  Result<HttpResponse> call_plainly(HttpRequest& request, const std::string& path) {
    request.url = "http://engine" + path;
    request.unix_socket = socket_;
    auto response = http_->send(request);
    if (!response && response.error().code == Code::bad_data) {  // not our user's mistake: nothing can be measured
      return fail(Code::measure, "what answers at " + socket_ + " is no container engine: " + response.error().message);
    }
    if (response || response.error().code != Code::away) return response;
    Error error = response.error();
    if (::access(socket_.c_str(), F_OK) != 0) {
      error.message = "there is no container engine at " + socket_ +
                      "; start it (systemctl start docker, or systemctl start "
                      "podman.socket), or leave \"engine\" out of the config to use plain processes";
    } else if (::access(socket_.c_str(), W_OK) != 0) {
      error.message =
          "this user may not use the container engine at " + socket_ + "; add the user to its group (docker)";
    } else {
      error.message = "the container engine at " + socket_ + " did not answer: " + error.message;
    }
    return tl::unexpected<Error>(std::move(error));
  }

  // 1.41 where the engine takes it, else the nearest that it does.
  Status negotiate() {
    if (!api_.empty()) return {};
    HttpRequest request;
    NG_TRY(const auto response, call_plainly(request, "/version"));
    if (!is_ok(response)) return failed("asking for the engine's version", response);
    NG_TRY(const Json json, parse_json(response.body));
    const auto minor = [](const std::string& version) {
      return version.starts_with("1.") ? std::atoi(version.c_str() + 2) : 0;
    };
    const int newest = minor(text_at(json, "ApiVersion"));
    const int oldest = minor(text_at(json, "MinAPIVersion"));
    if (newest == 0) return fail(Code::measure, "what answers at " + socket_ + " is no container engine");
    if (newest < 40)
      return fail(Code::measure,
                  fmt::format("the engine's API is 1.{}; 1.40 (Docker 19.03) is the oldest that will do", newest));
    api_ = fmt::format("1.{}", std::max(std::min(41, newest), oldest));
    const Json& parts = at(json, "Components");
    const bool podman = parts.is_array() && !parts.empty() && text_at(parts[0], "Name").starts_with("Podman");
    version_ = (podman ? "podman " : "Docker ") + text_at(json, "Version");
    return {};
  }

  std::string socket_;
  std::unique_ptr<HttpClient> http_;
  std::string api_, version_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(std::string_view address) {
  constexpr std::string_view scheme = "unix://";
  if (!address.starts_with("unix:///")) {
    return fail(Code::usage,
                "an engine's address is unix:// and the path of its socket, not \"" + std::string(address) + "\"");
  }
  return std::make_unique<DockerEngine>(std::string(address.substr(scheme.size())));
}

}  // namespace nightgate::targets
