#include "gate/measure/quiet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "gate/base/files.hpp"

namespace nightgate::measure {
namespace {

// A small file's text without the line's end; nullopt when it can't be read.
std::optional<std::string> word_in(const fs::path& path) {
  auto text = read_file(path, 4096);
  if (!text) return std::nullopt;
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return *std::move(text);
}

CpuSet cpus_in(const fs::path& path) {
  const auto text = word_in(path);
  if (!text || text->empty()) return {};
  const auto cpus = parse_cpus(*text);
  return cpus ? *cpus : CpuSet{};
}

bool has(const CpuSet& cpus, int cpu) { return std::ranges::find(cpus, cpu) != cpus.end(); }

// The kernel's CPU directory as it is on the machine itself, for what a person types.
constexpr std::string_view cpu_files = "/sys/devices/system/cpu";

Quietness governor(const CpuSet& used, const fs::path& cpu_root) {
  std::map<std::string, CpuSet> others;  // governor -> CPUs
  int known = 0;
  for (const int cpu : used) {
    const auto name = word_in(cpu_root / fmt::format("cpu{}/cpufreq/scaling_governor", cpu));
    if (!name) continue;
    ++known;
    if (*name != "performance") others[*name].push_back(cpu);
  }
  if (known == 0) return {"governor", true, "the frequency is not in this kernel's hands (a virtual machine?)"};
  if (others.empty()) return {"governor", true, "performance"};
  std::string found;
  for (const auto& [name, cpus] : others) {
    found += fmt::format("{}{} on CPUs {}", found.empty() ? "" : ", ", name, format_cpus(cpus));
  }
  return {"governor", false, found + ": clocks rise and fall with the load. `cpupower frequency-set -g performance`"};
}

Quietness turbo(const fs::path& cpu_root) {
  const auto on = [](std::string_view file, std::string_view off) {
    return Quietness{"turbo", false,
                     fmt::format("on: clocks follow heat and neighbours. `echo {} > {}/{}`", off, cpu_files, file)};
  };
  if (const auto no_turbo = word_in(cpu_root / "intel_pstate/no_turbo")) {
    if (*no_turbo == "0") return on("intel_pstate/no_turbo", "1");
    return {"turbo", true, "off"};
  }
  if (const auto boost = word_in(cpu_root / "cpufreq/boost")) {
    if (*boost == "1") return on("cpufreq/boost", "0");
    return {"turbo", true, "off"};
  }
  return {"turbo", true, "not in this kernel's hands"};
}

// The CPUs that share a core with one of `used`, and are neither that one nor offline.
CpuSet siblings_of(const Topology& topology, const CpuSet& used) {
  CpuSet out;
  for (const auto& mine : topology.cpus) {
    if (!has(used, mine.number)) continue;
    for (const auto& other : topology.cpus) {
      if (other.core == mine.core && other.number != mine.number && !has(out, other.number))
        out.push_back(other.number);
    }
  }
  std::ranges::sort(out);
  return out;
}

Quietness smt(const Topology& topology, const Placement& placement) {
  if (!topology.smt()) return {"smt", true, "off, or this machine has none"};
  const CpuSet siblings = siblings_of(topology, placement.broker);
  if (siblings.empty()) return {"smt", true, "no CPU of the broker shares its core"};
  const bool own = std::ranges::any_of(siblings, [&](int cpu) { return has(placement.broker, cpu); });
  return {"smt", false,
          fmt::format("CPUs {} share cores with the broker's ({}){}. `echo off > {}/smt/control`",
                      format_cpus(siblings), format_cpus(placement.broker),
                      own ? ", which has both halves of a core" : ": whatever runs there slows it down", cpu_files)};
}

// Which of the places where other people's processes live may run on the measured CPUs?
Quietness cpusets(const Topology& topology, const CpuSet& used, const fs::path& root) {
  if (used.size() >= topology.cpus.size()) {
    return {
        "cpusets", false,
        "every CPU is measured on, so the system runs on them too. Leave it some: \"broker_cpus\" and \"load_cpus\" "
        "under \"machine\""};
  }
  const CpuSet isolated = cpus_in(root / "sys/devices/system/cpu/isolated");
  if (!used.empty() && std::ranges::all_of(used, [&](int cpu) { return has(isolated, cpu); })) {
    return {"cpusets", true, "the kernel keeps others off (isolcpus)"};
  }
  std::string open, known;
  for (const auto* slice : {"system.slice", "user.slice", "init.scope"}) {
    const CpuSet cpus = cpus_in(root / "sys/fs/cgroup" / slice / "cpuset.cpus.effective");
    if (cpus.empty()) continue;
    known = slice;
    if (std::ranges::any_of(used, [&](int cpu) { return has(cpus, cpu); })) open += fmt::format(" {}", slice);
  }
  if (!known.empty() && open.empty()) return {"cpusets", true, "system, users and init keep off the measured CPUs"};
  const auto cpus = format_cpus(used);
  if (known.empty()) {
    return {"cpusets", false,
            fmt::format("nothing keeps others off CPUs {} (no CPU sets of systemd under cgroup v2): isolcpus={}, or "
                        "cgroup v2 and the slices' AllowedCPUs=",
                        cpus, cpus)};
  }
  return {"cpusets", false,
          fmt::format("processes of{} may run on the measured CPUs ({}). `systemctl set-property system.slice "
                      "AllowedCPUs=...` with the other CPUs, likewise for each",
                      open, cpus)};
}

Quietness counters(const fs::path& root) {
  const auto text = word_in(root / "proc/sys/kernel/perf_event_paranoid");
  int level = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), level).ec != std::errc{}) {
    return {"counters", true, "this kernel has none"};
  }
  // The kernel's part of a request is counted too, which 2 already forbids to who lacks CAP_PERFMON.
  if (level <= 1) return {"counters", true, "may be read by every user"};
  return {"counters", false,
          fmt::format("kernel.perf_event_paranoid is {}: without CAP_PERFMON (the unit has it) there are no "
                      "instructions per request. `sysctl kernel.perf_event_paranoid=1`",
                      level)};
}

}  // namespace

std::vector<Quietness> look_at_quietness(const Topology& topology, const Placement& placement, const fs::path& root) {
  const fs::path cpu_root = root / "sys/devices/system/cpu";
  const CpuSet used = placement.all();
  return {governor(used, cpu_root), turbo(cpu_root), smt(topology, placement), cpusets(topology, used, root),
          counters(root)};
}

}  // namespace nightgate::measure
