#include "gate/measure/placement.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <optional>
#include <set>

namespace nightgate::measure {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// What is being placed, with the CPUs it got; order = order of choosing.
struct Party {
  std::string name;
  CpuSet cpus;
  bool given = false;  // by the config
};

std::optional<int> core_of(const Topology& topology, int cpu) {
  const auto it = std::ranges::find(topology.cpus, cpu, &Topology::Cpu::number);
  if (it == topology.cpus.end()) return std::nullopt;
  return it->core;
}

CpuSet numbers(const Topology& topology) {
  CpuSet out;
  for (const auto& cpu : topology.cpus) out.push_back(cpu.number);
  return out;
}

Result<Party> given_party(const Topology& topology, std::string name, const std::string& text) {
  Party party{std::move(name), {}, !text.empty()};
  if (text.empty()) return party;
  auto parsed = parse_cpus(text);
  if (!parsed || parsed->empty()) {
    return fail(Code::usage,
                fmt::format("the CPUs of {}: '{}' is not a list of CPUs such as \"0-3,8\"", party.name, text));
  }
  for (const int cpu : *parsed) {
    if (!core_of(topology, cpu)) {
      return fail(Code::usage, fmt::format("the CPUs of {}: CPU {} is not one that may be used here ({} may)",
                                           party.name, cpu, format_cpus(numbers(topology))));
    }
  }
  party.cpus = *std::move(parsed);
  return party;
}

// The lowest logical CPU of each core that none of the parties uses.
CpuSet free_cpus(const Topology& topology, const std::vector<Party>& parties) {
  std::set<int> used;
  for (const auto& party : parties) {
    for (const int cpu : party.cpus) used.insert(*core_of(topology, cpu));
  }
  CpuSet out;
  for (const auto& cpu : topology.cpus) {
    if (used.insert(cpu.core).second) out.push_back(cpu.number);
  }
  return out;
}

CpuSet slice(const CpuSet& from, std::size_t begin, std::size_t count) {
  CpuSet out;
  for (std::size_t i = begin; i < std::min(from.size(), begin + count); ++i) out.push_back(from[i]);
  return out;
}

// A core used by two parties, as a sentence; empty when there is none.
std::string overlap(const Topology& topology, const std::vector<Party>& parties) {
  std::map<int, const Party*> user;
  for (const auto& party : parties) {
    for (const int cpu : party.cpus) {
      const auto [it, fresh] = user.emplace(*core_of(topology, cpu), &party);
      if (!fresh && it->second != &party) {
        return fmt::format("{} (CPUs {}) and {} (CPUs {}) meet on the physical core of CPU {}", it->second->name,
                           format_cpus(it->second->cpus), party.name, format_cpus(party.cpus), cpu);
      }
    }
  }
  return {};
}

// Gives CPUs to the parties without any: parties[0] is the broker, parties[1] the load, the others one core each. With
// too few cores the load keeps one of its own as long as there are two, and the others use the broker's.
void choose(const Topology& topology, std::vector<Party>& parties) {
  const CpuSet left = free_cpus(topology, parties);
  const auto wanting =
      std::ranges::count_if(parties.begin() + 2, parties.end(), [](const Party& party) { return !party.given; });
  auto own = static_cast<std::size_t>(wanting);
  Party& broker = parties[0];
  Party& load = parties[1];
  const std::size_t first_two = (broker.given ? 0U : 1U) + (load.given ? 0U : 1U);
  if (left.size() < first_two + own) own = 0;  // not enough: they go to the broker's
  std::size_t for_load = 0;
  if (!load.given && left.size() > own) {
    for_load = broker.given ? left.size() - own : (left.size() - own) / 2;
  }
  const std::size_t for_broker = broker.given ? 0 : left.size() - own - for_load;
  if (!broker.given) broker.cpus = slice(left, 0, for_broker);
  if (!load.given) load.cpus = slice(left, left.size() - for_load, for_load);
  if (broker.cpus.empty()) broker.cpus = load.cpus.empty() ? numbers(topology) : load.cpus;
  if (load.cpus.empty()) load.cpus = broker.cpus;
  std::size_t next = for_broker;
  for (auto party = parties.begin() + 2; party != parties.end(); ++party) {
    if (!party->given) party->cpus = own == 0 ? broker.cpus : slice(left, next++, 1);
  }
}

}  // namespace

int Topology::cores() const {
  std::set<int> seen;
  for (const auto& cpu : cpus) seen.insert(cpu.core);
  return static_cast<int>(seen.size());
}

Result<Topology> read_topology(const fs::path& root) {
  NG_TRY(const auto online_text, read_file(root / "online", 4096));
  NG_TRY(const auto online, parse_cpus(trimmed(online_text)));
  Topology topology;
  for (const int number : online) {
    const auto dir = root / fmt::format("cpu{}", number) / "topology";
    int core = number;  // where the kernel says nothing each CPU counts as a core
    if (const auto text = read_file(dir / "thread_siblings_list", 4096)) {
      if (const auto siblings = parse_cpus(trimmed(*text)); siblings && !siblings->empty()) {
        core = *std::ranges::min_element(*siblings);
      }
    }
    topology.cpus.push_back({number, core});
  }
  std::ranges::sort(topology.cpus, {}, &Topology::Cpu::number);
  return topology;
}

Topology restrict_to(const Topology& topology, const CpuSet& allowed) {
  Topology out;
  std::ranges::copy_if(topology.cpus, std::back_inserter(out.cpus), [&](const Topology::Cpu& cpu) {
    return std::ranges::find(allowed, cpu.number) != allowed.end();
  });
  return out;
}

CpuSet own_affinity() {
  CpuSet out;
  // CPU_SETSIZE (1024) is what a plain cpu_set_t holds; larger machines would need CPU_ALLOC.
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out.push_back(static_cast<int>(cpu));
  }
  return out;
}

const CpuSet& Placement::of(const config::Node& node) const {
  const auto it = own.find(node.name);
  return it == own.end() ? broker : it->second;
}

CpuSet Placement::all() const {
  std::set<int> seen(broker.begin(), broker.end());
  seen.insert(load.begin(), load.end());
  for (const auto& [name, cpus] : own) seen.insert(cpus.begin(), cpus.end());
  return {seen.begin(), seen.end()};
}

std::string Placement::text() const {
  auto out = fmt::format("broker {}, load {}", format_cpus(broker), format_cpus(load));
  for (const auto& [name, cpus] : own) out += fmt::format(", {} {}", name, format_cpus(cpus));
  return shared ? out + ", shared" : out;
}

Result<Placement> place(const Topology& topology, const config::Machine& machine,
                        const config::Deployment& deployment) {
  if (topology.cpus.empty()) return fail(Code::measure, "there is no CPU that nightgate may use (affinity, cpuset)");
  std::vector<Party> parties;
  NG_TRY(parties.emplace_back(), given_party(topology, "the broker", machine.broker_cpus));
  NG_TRY(parties.emplace_back(), given_party(topology, "the load generator", machine.load_cpus));
  for (const auto* nodes : {&deployment.services, &deployment.brokers}) {
    for (const auto& node : *nodes) {
      if (node.placement != config::Placement::own) continue;
      NG_TRY(parties.emplace_back(), given_party(topology, node.name, node.cpus));
    }
  }
  choose(topology, parties);
  Placement out;
  if (const auto why = overlap(topology, parties); !why.empty()) {
    if (!machine.shared_cpus) {
      return fail(Code::measure,
                  fmt::format("{}, and this machine has {} core{} for {} parties. Give them other CPUs, or say "
                              "\"cpus\": \"shared\" under \"machine\" to accept that they disturb each other",
                              why, topology.cores(), topology.cores() == 1 ? "" : "s", parties.size()));
    }
    out.shared = true;
  }
  out.broker = parties[0].cpus;
  out.load = parties[1].cpus;
  for (auto party = parties.begin() + 2; party != parties.end(); ++party) out.own.emplace(party->name, party->cpus);
  return out;
}

}  // namespace nightgate::measure
