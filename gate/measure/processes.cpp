#include "gate/measure/processes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <set>

#include "gate/base/files.hpp"

namespace nightgate::measure {
namespace {

template <class Number>
Number number_of(std::string_view text) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(at, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

double seconds_of_ticks(std::string_view ticks) {
  static const auto per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return number_of<double>(ticks) / per_second;
}

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const auto fields = split(text.substr(std::min(close + 2, text.size())), ' ');
  if (fields.size() < 20 || fields[0].empty()) return std::nullopt;
  ProcessStat out;
  out.pid = number_of<pid_t>(text);
  out.program = text.substr(open + 1, close - open - 1);
  out.state = fields[0].front();
  out.parent = number_of<pid_t>(fields[1]);
  out.group = number_of<pid_t>(fields[2]);
  out.session = number_of<pid_t>(fields[3]);
  out.cpu_seconds = seconds_of_ticks(fields[11]) + seconds_of_ticks(fields[12]);
  out.waited_children_seconds = seconds_of_ticks(fields[13]) + seconds_of_ticks(fields[14]);
  out.start_ticks = number_of<unsigned long long>(fields[19]);
  return out;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid), 8192);
  return text ? parse_stat(*text) : std::nullopt;
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (const auto pid = number_of<pid_t>(entry.path().filename().native()); pid > 0) out.push_back(pid);
  }
  return out;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> out;
  for (const pid_t pid : all_pids()) {
    if (auto stat = process_stat(pid)) out.push_back(*std::move(stat));
  }
  return out;
}

std::vector<ProcessStat> family_of(pid_t leader, const std::vector<ProcessStat>& all) {
  std::vector<ProcessStat> out;
  std::set<pid_t> members;
  for (bool grew = true; grew;) {  // a parent may stand behind its child: numbers start again
    grew = false;
    for (const auto& process : all) {
      const bool mine = process.pid == leader || process.group == leader || process.session == leader ||
                        members.contains(process.parent);
      if (!mine || !members.insert(process.pid).second) continue;
      out.push_back(process);
      grew = true;
    }
  }
  return out;
}

std::string program_name(pid_t pid) {
  const auto stat = process_stat(pid);
  return stat ? stat->program : std::string();
}

std::string run_of(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/environ", pid));
  if (!text) return {};
  for (const auto entry : split(*text, '\0')) {
    if (entry.size() > run_variable.size() && entry.starts_with(run_variable) && entry[run_variable.size()] == '=') {
      return std::string(entry.substr(run_variable.size() + 1));
    }
  }
  return {};
}

std::optional<std::string> parse_cgroup(std::string_view text, std::string_view controller) {
  for (const auto line : split(text, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    for (const auto name : split(line.substr(first + 1, second - first - 1), ',')) {
      if (name == controller) return std::string(line.substr(second + 1));
    }
  }
  return std::nullopt;
}

std::optional<std::string> cgroup_of(pid_t pid, std::string_view controller) {
  const auto text = read_file(fmt::format("/proc/{}/cgroup", pid), 65536);
  return text ? parse_cgroup(*text, controller) : std::nullopt;
}

std::string container_cgroup(pid_t pid) {
  for (const std::string_view controller : {"", "memory", "cpuacct"}) {
    if (auto group = cgroup_of(pid, controller); group && *group != "/") return *std::move(group);
  }
  return {};
}

}  // namespace nightgate::measure
