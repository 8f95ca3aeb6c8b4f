#include "ci/report/night_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ci/report/page.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::report {
namespace {

// The valid repeat whose rate is the lower median: the figures of a row come from one repeat.
const store::Repeat* shown_repeat(const store::Measurement& m) {
  std::vector<const store::Repeat*> valid;
  for (const auto& r : m.repeats) {
    if (!r.voided && !r.samples.empty()) valid.push_back(&r);
  }
  if (valid.empty()) return nullptr;
  const auto main = [](const store::Repeat* r) {
    const auto rate = r->samples.find("rate");
    return rate != r->samples.end() ? rate->second : r->samples.begin()->second;
  };
  std::stable_sort(valid.begin(), valid.end(), [&](const auto* a, const auto* b) { return main(a) < main(b); });
  return valid[(valid.size() - 1) / 2];
}

// Short metric name -> its unit, chosen once for all figures of the row that have it: p50 and p99 are both in ms.
std::map<std::string, Scaled> units_of_row(const store::Measurement& m, const store::Repeat& repeat) {
  std::map<std::string, std::string> units;
  std::map<std::string, double> largest;
  for (const auto& [name, value] : repeat.samples) {
    const auto full = m.deployment + "." + m.scenario + "." + name;
    const auto info = std::find_if(m.metrics.begin(), m.metrics.end(), [&](const auto& i) { return i.name == full; });
    auto& unit = units[name];
    if (info != m.metrics.end()) unit = info->unit;
    auto& so_far = largest[unit];
    so_far = std::max(so_far, std::abs(value));
  }
  std::map<std::string, Scaled> out;
  for (const auto& [name, unit] : units) out[name] = scale_for(largest[unit], unit);
  return out;
}

// A condition as the measuring names it, in words and with its unit.
std::pair<std::string, std::string> condition_words(const std::string& name) {
  static const std::map<std::string, std::pair<std::string, std::string>> known = {
      {"load1", {"load average", "processes"}},
      {"foreign_cpu", {"other processes on these CPUs", "CPUs"}},
      {"steal", {"stolen by the host", "of the time, 1 = all"}},
      {"memory_pressure", {"memory pressure", "%"}},
      {"free_memory_gb", {"free memory", "GiB"}},
      {"free_disk_gb", {"free disk", "GiB"}},
      {"swapped_pages", {"swapped", "pages"}},
      {"oom_kills", {"killed for want of memory", "processes"}},
      {"clock_step_s", {"the clock was set by", "s"}},
      {"throttled", {"throttled by a CPU quota", "periods"}},
      {"stopped", {"stopped by a signal", "1 = yes"}},
      {"mhz", {"slowest CPU", "MHz"}}};
  const auto at = known.find(name);
  return at == known.end() ? std::pair(name, std::string()) : at->second;
}

}  // namespace

Units units_of(const NightModel& model) {
  Units out;
  for (const auto& m : model.metrics) out.emplace(m.name, m.unit);
  return out;
}
std::string_view unit_of(const Units& units, const std::string& metric) {
  const auto at = units.find(metric);
  return at != units.end() ? at->second : "";
}

std::string figures_table(const NightModel& model) {
  std::vector<std::string> names;
  for (const auto& m : model.measurements) {
    if (m.role != store::Role::target) continue;
    for (const auto& info : m.metrics) {
      const auto prefix = m.deployment + "." + m.scenario + ".";
      const auto name = info.name.rfind(prefix, 0) == 0 ? info.name.substr(prefix.size()) : info.name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  const auto order = [](const std::string& n) {
    constexpr std::string_view first[] = {"rate", "p50", "p95", "p99", "max"};
    const auto at = std::find(std::begin(first), std::end(first), n);
    return at - std::begin(first);
  };
  std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  std::vector<std::string> head{"deployment.scenario", "start"};
  std::vector<bool> numeric{false, true};
  for (const auto& name : names) {
    head.push_back(name);
    numeric.push_back(true);
  }
  Table table("Figures of one repeat each (the lower median by rate), target and control", head, numeric);
  for (const auto& m : model.measurements) {
    const auto* repeat = shown_repeat(m);
    std::vector<Html> row{html(fmt::format("{}.{}{}", m.deployment, m.scenario,
                                           m.role != store::Role::control ? ""
                                           : m.arm == 0                   ? " (control)"
                                                                          : " (control, A/A)")),
                          html(fmt::format("{}", m.start + 1))};
    const auto units = repeat == nullptr ? std::map<std::string, Scaled>() : units_of_row(m, *repeat);
    for (const auto& name : names) {
      const auto unit = units.find(name);
      row.push_back(html(unit == units.end()
                             ? "–"
                             : number(repeat->samples.at(name) * unit->second.factor) + " " + unit->second.unit));
    }
    table.row(row);
  }
  return table.str();
}

// What the same version differed by tonight, from start to start: no smaller change means anything.
std::string control_table(const NightModel& model) {
  std::map<std::string, std::vector<double>> starts;
  for (const auto& m : model.measurements) {
    if (m.role != store::Role::control) continue;
    for (const auto& [name, value] : m.values)  // those of the A/A that opened the night, and those beside the target
      starts[m.deployment + "." + m.scenario + "." + name].push_back(value.median);
  }
  Table table("Control against itself: how far its starts lie apart tonight", {"metric", "starts", "apart"},
              {false, true, true});
  for (const auto& v : model.verdicts) {
    const auto at = starts.find(v.metric);
    if (at == starts.end() || at->second.size() < 2) continue;
    const auto [low, high] = std::minmax_element(at->second.begin(), at->second.end());
    if (!(*low > 0)) continue;
    table.row({html(v.metric), html(fmt::format("{}", at->second.size())),
               html(fmt::format("{:.1f} %", 100 * (*high / *low - 1)))});
  }
  return table.empty() ? std::string() : table.str();
}

std::string conditions_table(const NightModel& model) {
  std::map<std::string, std::pair<double, double>> seen;  // lowest and highest
  int repeats = 0, voided = 0;
  for (const auto& m : model.measurements) {
    for (const auto& r : m.repeats) {
      ++repeats;
      voided += r.voided ? 1 : 0;
      for (const auto& [name, value] : r.conditions) {
        const auto [at, is_new] = seen.emplace(name, std::pair(value, value));
        if (is_new) continue;
        at->second.first = std::min(at->second.first, value);
        at->second.second = std::max(at->second.second, value);
      }
    }
  }
  Table table(fmt::format("Conditions over {} repeats, {} of them done again", repeats, voided),
              {"condition", "lowest", "highest", "unit"}, {false, true, true, false});
  for (const auto& [name, range] : seen) {
    const auto [words, unit] = condition_words(name);
    // Microseconds of a clock are nothing to read.
    const auto shown = [](double value) { return html(value > 0 && value < 0.001 ? "< 0.001" : number(value)); };
    table.row({html(words), shown(range.first), shown(range.second), html(unit)});
  }
  return table.str();
}

// A number names its flags. Environments are left out: people put more into them than a page should show.
std::string started_table(const NightModel& model) {
  Table table("What was started", {"deployment", "who", "command and arguments"}, {false, false, false});
  std::set<std::string> seen;
  for (const auto& m : model.measurements) {
    const auto text = model.definitions.find(m.definition);
    if (m.role != store::Role::target || text == model.definitions.end() || text->second.empty()) continue;
    if (!seen.insert(m.deployment).second) continue;  // the same in each of its scenarios
    const auto parsed = parse_json(text->second);
    if (!parsed || !parsed->is_object()) continue;
    for (const auto* kind : {"services", "brokers"}) {
      const auto nodes = parsed->find(kind);
      if (nodes == parsed->end() || !nodes->is_array()) continue;
      for (const auto& node : *nodes) {
        if (!node.is_object()) continue;
        std::string line = node.value("image", std::string());
        for (const auto* key : {"command", "args"}) {
          const auto words = node.find(key);
          if (words == node.end() || !words->is_array()) continue;
          for (const auto& word : *words)
            line += (line.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : "");
        }
        table.row({html(m.deployment), html(node.value("name", std::string())),
                   html(line.empty() ? "as the target starts it" : shorten(line, 400))});
      }
    }
  }
  return table.empty() ? std::string() : table.str();
}

std::vector<std::pair<std::string, std::string>> facts(const NightModel& model) {
  std::vector<std::pair<std::string, std::string>> out = {
      {"target", model.night.target
                     ? fmt::format("{} {}", model.night.target->label, model.night.target->digest.substr(0, 19))
                     : "none"},
      {"began", minute_of(to_rfc3339(model.night.started))},
      {"attempt", fmt::format("{}", model.night.attempt)},
      {"machine", model.night.machine + (model.night.machine_class.empty() ? "" : ", " + model.night.machine_class)},
      {"nightgate", model.run.version}};
  for (const auto* text : {&model.run.conditions, &model.run.settings}) {
    const auto parsed = parse_json(text->empty() ? "{}" : *text);
    if (!parsed || !parsed->is_object()) continue;
    for (const auto& [name, value] : parsed->items())
      out.emplace_back(name, value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  out.erase(std::remove_if(out.begin(), out.end(), [](const auto& row) { return row.second.empty(); }), out.end());
  return out;
}

}  // namespace nightgate::report
