#include "gate/measure/node.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>

#include "gate/base/log.hpp"

namespace nightgate::measure {
namespace {

constexpr int log_lines = 20;

// Number of processes the kernel has killed for want of memory since boot.
long oom_kills() {
  const auto text = read_file("/proc/vmstat", 1U << 20U);
  if (!text) return 0;
  const auto at = text->find("\noom_kill ");
  long value = 0;
  if (at != std::string::npos) std::from_chars(text->data() + at + 10, text->data() + text->size(), value);
  return value;
}

Status port_is_free(const config::Node& node, const std::string& who) {
  if (node.port == 0) return {};
  const auto taken = listeners(node.port);
  if (taken.empty()) return {};
  return fail(Code::measure, fmt::format("port {} of {} is taken by {}; stop it, or give {} another port", node.port,
                                         who, taken.front().text(), node.name));
}

// The program of a process: the target's own where it has one of that name, else next to the config, else by PATH.
std::string program_of(const std::string& name, const targets::Target& target, const fs::path& directory) {
  if (name.starts_with('/')) return name;
  std::error_code ignored;
  if (const auto* from = std::get_if<targets::DirectoryTarget>(&target.form)) {
    if (fs::is_regular_file(from->path / name, ignored)) return fs::absolute(from->path / name).string();
  }
  if (name.find('/') != std::string::npos) return fs::absolute(directory / name).string();
  return name;
}

std::vector<std::string> with_suffix(const std::vector<std::string>& volumes, std::string_view suffix) {
  std::vector<std::string> out;
  for (const auto& volume : volumes) {
    if (volume.ends_with(suffix)) out.push_back(volume.substr(0, volume.size() - suffix.size()));
  }
  return out;
}

}  // namespace

std::map<std::string, std::string> plain_environment() {
  std::map<std::string, std::string> out;
  for (const char* name : {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name)) out[name] = value;
  }
  return out;
}

std::string log_note(const std::string& tail) { return tail.empty() ? std::string() : "; its log ends:\n" + tail; }

RunningNode::Container::Container(Container&& other) noexcept
    : engine(other.engine), id(std::move(other.id)), started_at(std::move(other.started_at)) {
  other.id.clear();
}

RunningNode::Container& RunningNode::Container::operator=(Container&& other) noexcept {
  if (this != &other) {
    remove();
    engine = other.engine;
    id = std::move(other.id);
    started_at = std::move(other.started_at);
    other.id.clear();
  }
  return *this;
}

void RunningNode::Container::remove() {
  if (id.empty() || engine == nullptr) return;
  // A short grace: an engine's own "remove" kills at once, which is right for whoever ignores the signal.
  (void)engine->stop(id, std::chrono::seconds(2));
  if (const auto removed = engine->remove(id); !removed && removed.error().code != Code::not_found) {
    log::warning(fmt::format("container {} could not be removed: {}", id, removed.error().text()));
  }
  id.clear();
}

RunningNode::~RunningNode() = default;

std::string RunningNode::text() const {
  return fmt::format("the {} '{}'", role_ == Role::broker ? "broker" : "service", node_->name);
}

Result<RunningNode> RunningNode::start(const config::Node& node, Role role, CpuSet cpus, const NodeContext& context) {
  RunningNode out;
  out.node_ = &node;
  out.role_ = role;
  out.cpus_ = std::move(cpus);
  out.oom_kills_ = oom_kills();
  NG_CHECK(port_is_free(node, out.text()));
  const auto* image = std::get_if<targets::ImageTarget>(&context.target.form);
  if (!node.image.empty()) {
    NG_CHECK(out.start_container(node.image, context));
  } else if (role == Role::broker && image != nullptr) {
    NG_CHECK(out.start_container(image->reference, context));
  } else {
    NG_CHECK(out.start_process(context));
  }
  return out;
}

Status RunningNode::start_process(const NodeContext& context) {
  Command command;
  NG_TRY(command.argv, context.names.expand(node_->command));
  NG_TRY(const auto args, context.names.expand(node_->args));
  if (command.argv.empty()) {
    return fail(Code::usage, fmt::format("{} has neither an image nor a command to start", text()));
  }
  command.argv.front() = program_of(command.argv.front(), context.target, context.config.directory);
  command.argv.insert(command.argv.end(), args.begin(), args.end());
  command.clear_environment = true;
  command.environment = plain_environment();
  for (const auto& [name, value] : node_->environment) {
    NG_TRY(command.environment[name], context.names.expand(value));
  }
  command.environment[std::string(run_variable)] = context.record.uuid();
  command.directory = context.record.directory();
  command.cpus = cpus_;
  auto child = Child::start(command, context.record.directory() / (node_->name + ".log"));
  if (!child) {
    auto error = std::move(child).error();
    if (error.code == Code::not_found) error.code = Code::measure;
    return with_context(std::move(error), "starting " + text());
  }
  pid_ = child->pid();
  child_ = std::move(*child);
  return context.record.add_process(pid_);
}

Status RunningNode::start_container(const std::string& image, const NodeContext& context) {
  if (context.engine == nullptr) {
    return fail(Code::usage, fmt::format("{} is an image ({}), and the config names no \"engine\"", text(), image));
  }
  targets::Engine& engine = *context.engine;
  auto info = engine.image(image);
  if (!info) {  // never pulled here: pulling during a measurement would disturb it
    return with_context(std::move(info).error(), fmt::format("looking for {}'s image {}", text(), image));
  }
  targets::ContainerSpec spec;
  spec.image = info->id;
  spec.name = fmt::format("nightgate-{}-{}", context.record.uuid().substr(0, 8), node_->name);
  NG_TRY(spec.command, context.names.expand(node_->command));
  NG_TRY(spec.args, context.names.expand(node_->args));
  for (const auto& [name, value] : node_->environment) {
    NG_TRY(const auto expanded, context.names.expand(value));
    spec.environment.push_back(name + "=" + expanded);
  }
  spec.environment.push_back(fmt::format("{}={}", run_variable, context.record.uuid()));
  spec.labels = {{std::string(label_project), context.config.project},
                 {std::string(label_run), context.record.uuid()},
                 {std::string(label_created), std::to_string(std::time(nullptr))}};
  spec.cpuset = format_cpus(cpus_);
  spec.memory_bytes = static_cast<std::int64_t>(node_->memory_mb * 1048576.0);
  spec.tmpfs = with_suffix(node_->volumes, ":ram");
  spec.volumes = with_suffix(node_->volumes, ":disk");
  NG_TRY(container_.id, engine.create(spec));
  container_.engine = &engine;
  if (auto started = engine.start(container_.id); !started) {
    return with_context(std::move(started).error(), "starting " + text());
  }
  NG_TRY(const auto state, engine.inspect(container_.id));
  container_.started_at = state.started_at;
  pid_ = static_cast<pid_t>(state.pid);
  return {};
}

tl::unexpected<Error> RunningNode::ended(const std::string& how) const {
  return fail(Code::measure, fmt::format("{} {}{}", text(), how, log_note(log_tail())));
}

Status RunningNode::container_alive() const {
  NG_TRY(const auto state, container_.engine->inspect(container_.id));
  if (state.oom_killed) return ended("was killed by the kernel: out of memory");
  if (!state.running) return ended(fmt::format("ended: exit code {}", state.exit_code));
  if (state.started_at != container_.started_at) return ended("was restarted");
  return {};
}

Status RunningNode::alive() {
  if (is_container()) return container_alive();
  if (child_ && child_->running()) return {};
  if (!child_ || !child_->ending()) return fail(Code::measure, fmt::format("{} does not run", text()));
  auto how = "ended: " + ending_text(*child_->ending());
  if (std::holds_alternative<Signalled>(*child_->ending()) && oom_kills() > oom_kills_) {
    how += ", and the kernel killed for want of memory meanwhile";
  }
  return ended(how);
}

bool RunningNode::looks_alive() {
  if (child_) return child_->running();
  const auto stat = process_stat(pid_);
  return stat && stat->state != 'Z';
}

std::vector<ProcessStat> RunningNode::processes() const {
  std::vector<ProcessStat> out;
  if (pid_ <= 0) return out;
  if (!is_container()) return family_of(pid_, all_processes());
  const auto group = container_cgroup(pid_);
  for (auto& process : all_processes()) {
    if (process.pid == pid_ || (!group.empty() && container_cgroup(process.pid) == group))
      out.push_back(std::move(process));
  }
  return out;
}

Status RunningNode::listens_itself() {
  sockets_.clear();
  if (node_->port == 0) return {};
  const auto mine = processes();
  for (const auto& listener : listeners(node_->port)) {
    sockets_.push_back(listener.inode);
    const auto same = [&](const ProcessStat& process) { return process.pid == listener.pid; };
    if (listener.pid < 0 || std::ranges::any_of(mine, same)) continue;
    return fail(Code::measure, fmt::format("port {} is answered by {}, which is not {} (process {})", node_->port,
                                           listener.text(), text(), pid_));
  }
  return {};
}

Status RunningNode::still_listens() const {
  if (sockets_.empty()) return {};
  std::vector<unsigned long long> now;
  for (const auto inode : listening_inodes(node_->port)) now.push_back(inode);
  if (now == sockets_) return {};
  return ended(now.empty() ? fmt::format("does not listen on port {} any more", node_->port)
                           : fmt::format("was restarted inside: another socket listens on port {}", node_->port));
}

Status RunningNode::reset(const Names& names, const fs::path& directory) {
  if (node_->reset.empty()) return {};
  NG_TRY(const auto argv, names.expand(node_->reset));
  if (is_container()) {
    if (auto done = container_.engine->exec(container_.id, argv); !done) {
      return with_context(std::move(done).error(), "resetting " + text());
    }
    return {};
  }
  Command command;
  command.argv = argv;
  command.directory = directory;
  NG_TRY(const auto output, run(command, std::chrono::minutes(5)));
  if (output.ok()) return {};
  return fail(Code::measure, fmt::format("the reset command of {} failed: {}{}", text(), ending_text(output.ending),
                                         log_note(output.err.empty() ? output.out : output.err)));
}

std::string RunningNode::log_tail() const {
  if (child_) return tail_of(child_->log_file(), log_lines);
  if (!is_container()) return {};
  auto logs = container_.engine->logs(container_.id, log_lines);
  return logs ? *std::move(logs) : std::string();
}

Result<std::string> RunningNode::whole_log() const {
  if (child_) return read_file(child_->log_file());
  constexpr int many_lines = 1000000;
  return is_container() ? container_.engine->logs(container_.id, many_lines) : Result<std::string>(std::string());
}

void RunningNode::stop() {
  if (child_) {
    auto family = processes();
    child_->stop();  // its group; whoever left that is ended one by one
    std::erase_if(family, [&](const ProcessStat& process) { return process.pid == pid_; });
    end_processes(family);
  }
  container_.remove();
}

}  // namespace nightgate::measure
