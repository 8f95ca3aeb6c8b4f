// What a start leaves in the state directory while it runs, so that whoever comes after a kill -9 can tidy up: only
// what is provably ours, never anybody else's.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "gate/base/files.hpp"
#include "gate/base/result.hpp"
#include "gate/measure/processes.hpp"
#include "gate/targets/engine.hpp"

namespace nightgate::measure {

inline constexpr std::string_view label_project = "nightgate.project";
inline constexpr std::string_view label_run = "nightgate.run";
inline constexpr std::string_view label_created = "nightgate.created";

// <state>/run/<uuid>/ with logs, sockets and record.json: who made it, which processes it started. The directory is
// removed when the object dies, so it must outlive the processes. Containers are found by their labels.
class RunRecord {
 public:
  [[nodiscard]] static Result<RunRecord> make(const fs::path& state);
  RunRecord(RunRecord&& other) noexcept = default;
  RunRecord& operator=(RunRecord&&) = delete;
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;
  ~RunRecord();

  [[nodiscard]] const std::string& uuid() const { return uuid_; }
  [[nodiscard]] const fs::path& directory() const { return directory_; }
  // A leader of a process group that was just started.
  [[nodiscard]] Status add_process(pid_t pid);

 private:
  RunRecord() = default;
  [[nodiscard]] Status write() const;
  std::string uuid_;
  fs::path directory_;
  std::vector<pid_t> pids_;
};

// Asks those that are still the same processes to end, and makes them after two seconds.
void end_processes(const std::vector<ProcessStat>& processes);

// Ends the processes and removes the directories and containers of runs whose nightgate is gone. A process counts as
// ours when it carries the run's uuid in its environment, or is in the record with the same start time; a container
// by its labels. `engine` may be null. Says what was removed, a line each.
[[nodiscard]] Result<std::vector<std::string>> clean_left_overs(const fs::path& state, std::string_view project,
                                                                targets::Engine* engine);

}  // namespace nightgate::measure
