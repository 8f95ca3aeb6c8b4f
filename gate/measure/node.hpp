// One program or container of a deployment while it runs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/process.hpp"
#include "gate/base/result.hpp"
#include "gate/measure/left_overs.hpp"
#include "gate/measure/names.hpp"
#include "gate/measure/ports.hpp"
#include "gate/measure/processes.hpp"
#include "gate/targets/engine.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::measure {

enum class Role { service, broker };

struct NodeContext {
  const config::Config& config;
  targets::Engine* engine = nullptr;  // null: plain processes
  const targets::Target& target;
  const Names& names;
  RunRecord& record;
};

// Destroying it stops the process group, or removes the container. Movable; borrows node and engine.
class RunningNode {
 public:
  // The port must be free. Returns once the program runs, which says nothing about whether it answers. Code::measure
  // when the port is taken (by whom), Code::usage when there is nothing to start.
  [[nodiscard]] static Result<RunningNode> start(const config::Node& node, Role role, CpuSet cpus,
                                                 const NodeContext& context);
  RunningNode(RunningNode&&) noexcept = default;
  RunningNode& operator=(RunningNode&&) noexcept = default;
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;
  ~RunningNode();

  [[nodiscard]] const config::Node& node() const { return *node_; }
  [[nodiscard]] Role role() const { return role_; }
  [[nodiscard]] std::string text() const;  // "the broker 'b'", "the service 'mongo'"
  [[nodiscard]] const CpuSet& cpus() const { return cpus_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_container() const { return !container_.id.empty(); }
  [[nodiscard]] const std::string& container_id() const { return container_.id; }

  // Code::measure with how it ended and its log's last lines when it doesn't run any more (or was restarted).
  [[nodiscard]] Status alive();
  // Cheap, for many times a second: false only when it is surely gone; alive() then says how.
  [[nodiscard]] bool looks_alive();
  // Its processes now: the group, the session and all descendants; of a container its whole control group.
  [[nodiscard]] std::vector<ProcessStat> processes() const;
  // Is whoever listens on the port one of ours? Says who it is when not. Remembers the sockets.
  [[nodiscard]] Status listens_itself();
  // After listens_itself(): the same sockets still listen; Code::measure when they don't (a restart inside).
  [[nodiscard]] Status still_listens() const;
  // Runs the configured reset command: inside a container, else on the host in `directory`.
  [[nodiscard]] Status reset(const Names& names, const fs::path& directory);
  [[nodiscard]] std::string log_tail() const;
  [[nodiscard]] Result<std::string> whole_log() const;  // at most 64 MiB
  void stop();

 private:
  struct Container {  // removes itself
    targets::Engine* engine = nullptr;
    std::string id;
    std::string started_at;
    Container() = default;
    Container(Container&& other) noexcept;
    Container& operator=(Container&& other) noexcept;
    Container(const Container&) = delete;
    Container& operator=(const Container&) = delete;
    ~Container() { remove(); }
    void remove();
  };
  RunningNode() = default;
  [[nodiscard]] Status start_process(const NodeContext& context);
  [[nodiscard]] Status start_container(const std::string& image, const NodeContext& context);
  [[nodiscard]] Status container_alive() const;
  [[nodiscard]] tl::unexpected<Error> ended(const std::string& how) const;

  const config::Node* node_ = nullptr;
  Role role_ = Role::broker;
  CpuSet cpus_;
  pid_t pid_ = -1;
  std::optional<Child> child_;
  Container container_;
  std::vector<unsigned long long> sockets_;
  long oom_kills_ = 0;  // of the machine when it started
};

// What a program gets of our environment: enough to find programs and write files, no secrets.
[[nodiscard]] std::map<std::string, std::string> plain_environment();
// "; its log ends:\n..." or nothing.
[[nodiscard]] std::string log_note(const std::string& tail);

}  // namespace nightgate::measure
