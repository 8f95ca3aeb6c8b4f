#include "gate/measure/left_overs.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "gate/base/json.hpp"
#include "gate/base/process.hpp"
#include "gate/measure/processes.hpp"

namespace nightgate::measure {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds term_grace{2000};

// A process by number and start time, so that a later one with the same number isn't taken for it.
struct Mark {
  pid_t pid = 0;
  unsigned long long ticks = 0;
  [[nodiscard]] bool alive() const { return process_start_ticks(pid) == ticks; }
};

json to_json(const Mark& mark) { return {{"pid", mark.pid}, {"ticks", mark.ticks}}; }

Result<Mark> mark_of(const JsonReader& reader) {
  NG_TRY(const auto pid, reader.integer("pid", 1, 1 << 30));
  NG_TRY(const auto ticks, reader.integer("ticks", 0, INT64_MAX));
  return Mark{static_cast<pid_t>(pid), static_cast<unsigned long long>(ticks)};
}

std::string boot_id() {
  auto text = read_file("/proc/sys/kernel/random/boot_id", 256);
  if (!text) return {};
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

struct Record {
  Mark owner;
  std::string boot;
  std::vector<Mark> processes;
};

Result<Record> read_record(const fs::path& file) {
  NG_TRY(const auto text, read_file(file, 1U << 20U));
  NG_TRY(const auto parsed, parse_json(text));
  const JsonReader reader(parsed, file.string());
  Record record;
  NG_TRY(record.boot, reader.string("boot"));
  NG_TRY(const auto owner, reader.child("owner"));
  NG_TRY(record.owner, mark_of(owner));
  NG_TRY(const auto processes, reader.child("processes"));
  for (const auto& each : processes.elements()) {
    NG_TRY(record.processes.emplace_back(), mark_of(each));
  }
  return record;
}

// Processes of the dead run: those that carry its uuid, and the recorded groups whose leader is still the same one.
std::vector<Mark> processes_of(const std::string& uuid, const std::vector<Mark>& recorded) {
  std::set<pid_t> groups;
  for (const auto& mark : recorded) {
    if (mark.alive()) groups.insert(mark.pid);
  }
  std::vector<Mark> out;
  for (const auto& process : all_processes()) {
    if (process.pid == ::getpid() || process.state == 'Z') continue;
    if (groups.contains(process.group) || run_of(process.pid) == uuid)
      out.push_back({process.pid, process.start_ticks});
  }
  return out;
}

void end_all(const std::vector<Mark>& marks) {
  const auto signal_all = [&](int signal) {
    for (const auto& mark : marks) {
      if (mark.alive()) ::kill(mark.pid, signal);
    }
  };
  signal_all(SIGCONT);  // a stopped one would not see the next
  signal_all(SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + term_grace;
  const auto alive = [](const Mark& mark) {
    const auto now = process_stat(mark.pid);
    return now && now->start_ticks == mark.ticks && now->state != 'Z';
  };
  while (std::ranges::any_of(marks, alive) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  signal_all(SIGKILL);
}

// True when the run of this directory is over (or its record was never finished).
bool is_over(const Result<Record>& record) { return !record || record->boot != boot_id() || !record->owner.alive(); }

Status clean_containers(std::string_view project, const std::set<std::string>& living, targets::Engine& engine,
                        std::vector<std::string>& said) {
  NG_TRY(const auto containers, engine.list(fmt::format("{}={}", label_project, project)));
  for (const auto& container : containers) {
    const auto run = container.labels.find(std::string(label_run));
    if (run == container.labels.end() || living.contains(run->second)) continue;
    if (auto removed = engine.remove(container.id); !removed && removed.error().code != Code::not_found) {
      return with_context(std::move(removed).error(), "removing a left-over container");
    }
    said.push_back(fmt::format("removed the left-over container {} of run {}", container.name, run->second));
  }
  return {};
}

}  // namespace

void end_processes(const std::vector<ProcessStat>& processes) {
  std::vector<Mark> marks;
  for (const auto& process : processes) {
    const Mark mark{process.pid, process.start_ticks};
    if (mark.alive()) marks.push_back(mark);
  }
  if (!marks.empty()) end_all(marks);
}

Result<RunRecord> RunRecord::make(const fs::path& state) {
  RunRecord record;
  record.uuid_ = make_uuid();
  record.directory_ = state / "run" / record.uuid_;
  NG_CHECK(make_directories(record.directory_, true));
  NG_CHECK(record.write());
  return record;
}

RunRecord::~RunRecord() {
  if (uuid_.empty() || directory_.empty()) return;
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

Status RunRecord::add_process(pid_t pid) {
  pids_.push_back(pid);
  return write();
}

Status RunRecord::write() const {
  json processes = json::array();
  for (const pid_t pid : pids_) {
    if (const auto ticks = process_start_ticks(pid)) processes.push_back(to_json({pid, *ticks}));
  }
  const auto own_ticks = process_start_ticks(::getpid()).value_or(0);
  const json all = {
      {"boot", boot_id()}, {"owner", to_json({::getpid(), own_ticks})}, {"processes", std::move(processes)}};
  return write_file(directory_ / "record.json", dump_json(all), 0600);
}

Result<std::vector<std::string>> clean_left_overs(const fs::path& state, std::string_view project,
                                                  targets::Engine* engine) {
  std::vector<std::string> said;
  std::set<std::string> living;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(state / "run", error)) {
    const auto uuid = entry.path().filename().string();
    const auto record = read_record(entry.path() / "record.json");
    if (!is_over(record)) {
      living.insert(uuid);
      continue;
    }
    const bool this_boot = record && record->boot == boot_id();
    const auto processes = processes_of(uuid, this_boot ? record->processes : std::vector<Mark>{});
    end_all(processes);
    for (const auto& mark : processes)
      said.push_back(fmt::format("ended the left-over process {} of run {}", mark.pid, uuid));
    fs::remove_all(entry.path(), error);
    said.push_back(fmt::format("removed the directory of run {}", uuid));
  }
  if (engine != nullptr) NG_CHECK(clean_containers(project, living, *engine, said));
  return said;
}

}  // namespace nightgate::measure
