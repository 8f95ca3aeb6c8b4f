// A container engine over its unix socket: Docker Engine API (1.41 and later), podman's compatible one too.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/base/result.hpp"

namespace nightgate::targets {

struct ContainerSpec {
  std::string image;  // id or reference by digest, already pulled
  std::string name;
  std::vector<std::string> command;      // empty: the image's entry point and command
  std::vector<std::string> args;         // with an empty command: replace the image's command, keep its entry point
  std::vector<std::string> environment;  // "NAME=value"
  std::map<std::string, std::string> labels;
  std::string cpuset;  // "0-3"
  std::int64_t memory_bytes = 0;
  std::int64_t pids_limit = 4096;
  std::string network = "host";
  std::vector<std::string> tmpfs;    // container paths kept in RAM
  std::vector<std::string> volumes;  // container paths on anonymous volumes, removed with the container
};
struct ContainerState {
  bool running = false;
  int exit_code = 0;
  bool oom_killed = false;
  long pid = 0;            // on the host; 0 when not running
  std::string started_at;  // changes when it restarted
};
struct ContainerStats {  // cumulative since its start
  double cpu_seconds = 0;
  std::int64_t memory_peak_bytes = 0;  // 0: the engine does not say
  std::int64_t throttled_periods = 0;
};
struct ImageInfo {
  std::string id, digest;  // digest "sha256:..." of the manifest where known, else the id
  std::map<std::string, std::string> labels;
  std::int64_t size_bytes = 0;
};
struct ListedContainer {
  std::string id, name;
  std::map<std::string, std::string> labels;
  std::int64_t created_unix = 0;
};
struct RegistryLogin {
  std::string username, password;
};

// One object per thread. Errors: Code::away (no engine; says how to start one), Code::not_found, Code::measure.
class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual Result<std::string> version() = 0;
  [[nodiscard]] virtual Result<ImageInfo> image(std::string_view reference) = 0;  // not_found: not here yet
  [[nodiscard]] virtual Status pull(std::string_view reference, const std::optional<RegistryLogin>& login) = 0;
  [[nodiscard]] virtual Status remove_image(std::string_view id) = 0;
  [[nodiscard]] virtual Result<std::string> create(const ContainerSpec& spec) = 0;  // the container's id
  [[nodiscard]] virtual Status start(std::string_view id) = 0;
  [[nodiscard]] virtual Result<ContainerState> inspect(std::string_view id) = 0;
  [[nodiscard]] virtual Result<ContainerStats> stats(std::string_view id) = 0;
  [[nodiscard]] virtual Result<std::string> logs(std::string_view id, int tail_lines) = 0;
  [[nodiscard]] virtual Status stop(std::string_view id, std::chrono::seconds grace) = 0;
  [[nodiscard]] virtual Status remove(std::string_view id) = 0;  // force, with its anonymous volumes
  // Containers, running or not, that carry the label ("name" or "name=value").
  [[nodiscard]] virtual Result<std::vector<ListedContainer>> list(std::string_view label) = 0;
  // Runs a command inside; Code::measure with its output when it does not exit with 0.
  [[nodiscard]] virtual Result<std::string> exec(std::string_view id, const std::vector<std::string>& argv) = 0;
};
// `address` is "unix:///path/to.sock".
[[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(std::string_view address);

}  // namespace nightgate::targets
