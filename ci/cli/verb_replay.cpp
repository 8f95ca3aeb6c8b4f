#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/cli/histories.hpp"
#include "gate/judging.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

std::string time_of(const judge::NightRef& night) { return to_rfc3339(Instant(Micros(night.instant))); }

json with_machine(json out, const std::string& machine) {
  if (!machine.empty()) out["machine"] = machine;
  return out;
}

json to_json(const judge::ReplayResult& r) {
  json out = {{"nights", r.nights},          {"metrics", r.metrics},   {"trips", json::array()},
              {"suspects", json::array()},   {"gains", json::array()}, {"environment", json::array()},
              {"warming_up", json::array()}, {"unfit", json::array()}};
  for (const auto& t : r.trips) {
    out["trips"].push_back(with_machine({{"metric", t.trip.metric},
                                         {"kind", judge::name(t.trip.kind)},
                                         {"suspect_at", time_of(t.trip.first)},
                                         {"tripped_at", time_of(t.trip.tripped)},
                                         {"change", t.trip.change},
                                         {"recovered_at", t.recovered ? json(time_of(*t.recovered)) : json()}},
                                        t.machine));
  }
  for (const auto& s : r.suspects)
    out["suspects"].push_back(
        with_machine({{"metric", s.metric}, {"at", time_of(s.first)}, {"change", s.change}}, s.machine));
  for (const auto& g : r.gains) {
    out["gains"].push_back(with_machine(
        {{"metric", g.metric}, {"first_at", time_of(g.first)}, {"at", time_of(g.confirmed)}, {"change", g.change}},
        g.machine));
  }
  for (const auto& e : r.environment) out["environment"].push_back(time_of(e.night));
  for (const auto& w : r.warming_up)
    out["warming_up"].push_back(with_machine({{"metric", w.metric}, {"nights_left", w.nights_left}}, w.machine));
  for (const auto& u : r.unfit)
    out["unfit"].push_back(with_machine({{"metric", u.metric}, {"reason", u.reason}}, u.machine));
  return out;
}

std::string to_text(const judge::ReplayResult& r) {
  auto out = fmt::format("{} nights, {} metrics: {} trips, {} suspect nights, {} gains\n", r.nights, r.metrics,
                         r.trips.size(), r.suspects.size(), r.gains.size());
  for (const auto& t : r.trips) {
    out += fmt::format("  trip    {:<36} {:>8} {:<5} suspect {}  tripped {}  {}\n", t.trip.metric,
                       percent(t.trip.change), judge::name(t.trip.kind), time_of(t.trip.first), time_of(t.trip.tripped),
                       t.recovered ? "recovered " + time_of(*t.recovered) : "not recovered");
  }
  for (const auto& g : r.gains)
    out += fmt::format("  gain    {:<36} {:>8}       {}\n", g.metric, percent(g.change), time_of(g.confirmed));
  for (const auto& e : r.environment)
    out += fmt::format("  no verdict, environment suspect: {} {}\n", time_of(e.night), e.reason);
  for (const auto& u : r.unfit) out += fmt::format("  set aside {}: {}\n", u.metric, u.reason);
  if (!r.warming_up.empty()) out += fmt::format("  {} metrics still warming up\n", r.warming_up.size());
  return out;
}

// Nobody accepts a change in a replay: after some nights what changed is the level.
judge::Rules forgetting(judge::Rules rules) {
  rules.forget_nights = judge::replay_rules().forget_nights;
  return rules;
}

// The store's nights as they were judged: control, digest, definition, the config's rules and names.
Result<judge::ReplayResult> replay_store(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  auto rules = forgetting(judging::rules_of(config));
  if (options.min_change > 0) rules.min_change = options.min_change;
  NG_TRY(const auto store, open_store(config));
  NG_TRY(const auto machines, store->machines(config.project));
  judge::Replay replay(rules);
  for (const auto& machine : machines) {
    if (!options.machine.empty() && machine.name != options.machine) continue;
    NG_TRY(auto inputs, store->inputs_after(config.project, machine.name, store::oldest));
    for (auto& stored : inputs) {
      judging::prepare(stored.input, config);
      replay.night(machine.name, stored.input);
    }
  }
  return replay.result();
}

}  // namespace

Result<int> verb_replay(const Options& options) {
  judge::ReplayResult result;
  if (options.positional.empty()) {
    NG_TRY(result, replay_store(options));
  } else {
    judge::Rules rules;
    if (options.min_change > 0) rules.min_change = options.min_change;
    NG_TRY(const auto history, read_history(options, options.positional[0]));
    result = judge::replay(to_judge(history.rows), judge::replay_rules(rules));
  }
  if (options.json) {
    print_json(options, to_json(result));
  } else {
    print(to_text(result));
  }
  return 0;
}

}  // namespace nightgate::cli
