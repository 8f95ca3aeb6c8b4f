#include "gate/measure/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <cctype>

namespace nightgate::measure {
namespace {

std::string tidy(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// The value of the first "key : value" line with that key.
std::string value_of(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (const auto colon = line.find(':'); colon != std::string_view::npos && tidy(line.substr(0, colon)) == key) {
      return tidy(line.substr(colon + 1));
    }
    at = end + 1;
  }
  return {};
}

}  // namespace

std::string machine_class_text(std::string_view cpu_model, int cores, bool smt) {
  return fmt::format("{}, {} core{}{}", cpu_model, cores, cores == 1 ? "" : "s", smt ? ", SMT" : "");
}

std::string cpu_model_of(std::string_view cpuinfo) {
  for (const std::string_view key : {"model name", "Model", "cpu model", "Hardware", "cpu"}) {
    if (auto value = value_of(cpuinfo, key); !value.empty()) return value;
  }
  return "unknown CPU";
}

std::string cgroup_version_of(std::string_view mountinfo) {
  const bool v1 = mountinfo.find(" - cgroup ") != std::string_view::npos;
  const bool v2 = mountinfo.find(" - cgroup2 ") != std::string_view::npos;
  if (v1) return v2 ? "hybrid" : "v1";
  return v2 ? "v2" : "none";
}

Result<MachineInfo> read_machine(const config::Machine& machine, const Topology& topology, const Placement& placement) {
  utsname names{};
  if (uname(&names) != 0) return fail(Code::io, "the kernel does not say its name (uname failed)");
  NG_TRY(const auto cpuinfo, read_file("/proc/cpuinfo"));
  NG_TRY(const auto boot_id, read_file("/proc/sys/kernel/random/boot_id", 256));
  MachineInfo info;
  info.name = machine.name.empty() ? std::string(std::begin(names.nodename)) : machine.name;
  info.cpu_model = cpu_model_of(cpuinfo);
  info.cpus = static_cast<int>(topology.cpus.size());
  info.smt = topology.smt();
  info.machine_class = machine.machine_class.empty() ? machine_class_text(info.cpu_model, topology.cores(), info.smt)
                                                     : machine.machine_class;
  info.boot_id = tidy(boot_id);
  info.kernel = fmt::format("{} {}", std::begin(names.sysname), std::begin(names.release));
  if (const auto mounts = read_file("/proc/self/mountinfo")) info.cgroup = cgroup_version_of(*mounts);
  info.broker_cpus = format_cpus(placement.broker);
  info.load_cpus = format_cpus(placement.load);
  info.shared = placement.shared;
  return info;
}

}  // namespace nightgate::measure
