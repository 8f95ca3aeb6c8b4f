#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/cli/night_view.hpp"
#include "gate/judge/gate.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

constexpr int nights_looked_at = 14;

struct Status {
  std::string machine;
  std::vector<store::Night> nights;  // newest first
  std::vector<store::Verdict> verdicts;
  std::vector<store::TripGroup> trips;
  std::vector<store::Bisect> unfinished;
  std::vector<std::string> others;  // machines with nights, when this one has none
};

std::string_view name(store::NightState state) {
  switch (state) {
    case store::NightState::measuring:
      return "measuring or interrupted";
    case store::NightState::measured:
      return "measured, not judged";
    case store::NightState::judged:
      return "judged";
    case store::NightState::no_verdict:
      return "no verdict";
  }
  return "unknown";
}

std::vector<std::string> next_steps(const Status& s) {
  std::vector<std::string> out;
  if (s.nights.empty()) out.emplace_back("run `nightgate nightly` for the first night");
  for (const auto& other : s.others)
    out.push_back(fmt::format("nights of {} are there: `nightgate status --machine {}`", other, other));
  for (const auto& group : s.trips) {
    if (group.answer.empty()) {
      out.push_back(
          fmt::format("trip {} has no culprit yet: the next night bisects it, or run `nightgate bisect --trip {}`",
                      group.id, group.id));
    } else {
      out.push_back(fmt::format("trip {}: repair it (two good nights close it), or `nightgate accept {} --reason ...`",
                                group.id, group.trips.front().metric));
    }
  }
  for (const auto& b : s.unfinished)
    out.push_back(fmt::format("bisect {} is not finished: `nightgate bisect --resume {}`", b.id, b.id));
  for (const auto& v : s.verdicts) {
    if (v.verdict == judge::name(judge::Verdict::suspect)) {
      out.push_back(v.metric + " is suspect: the next night decides");
    }
  }
  return out;
}

json to_json(const Status& s) {
  json out = {{"machine", s.machine},     {"nights", json::array()},     {"red", json::array()},
              {"suspect", json::array()}, {"no_verdict", json::array()}, {"warming_up", json::array()},
              {"unfit", json::array()},   {"next", next_steps(s)}};
  for (const auto& n : s.nights) {
    out["nights"].push_back({{"night", n.sequence},
                             {"started", to_rfc3339(n.started)},
                             {"state", name(n.state)},
                             {"reason", n.reason},
                             {"environment_suspect", n.environment},
                             {"target", n.target ? json(n.target->label) : json()},
                             {"voided", n.voided}});
  }
  for (const auto& group : s.trips) out["red"].push_back(trip_json(group));
  for (const auto& v : s.verdicts) {
    const json row = {{"metric", v.metric},
                      {"verdict", v.verdict},
                      {"change", number_or_null(v.change)},
                      {"reason", v.reason},
                      {"since", v.suspect_since ? json(*v.suspect_since) : json()},
                      {"nights_left", v.nights_left}};
    if (v.verdict == "suspect") out["suspect"].push_back(row);
    if (v.verdict == "no_verdict" || v.verdict == "environment_suspect") out["no_verdict"].push_back(row);
    if (v.verdict == "warming_up") out["warming_up"].push_back(row);
    if (v.verdict == "unfit") out["unfit"].push_back(row);
  }
  return out;
}

// Red is 1. A newest night that nobody judged yet, or one that has no verdict, is never shown as a pass.
int exit_code_of(const Status& s) {
  if (!s.trips.empty()) return 1;
  if (s.nights.empty()) return s.others.empty() ? 0 : 4;  // what others found says nothing of this machine
  const auto& newest = s.nights.front();
  if (newest.voided) return 0;
  const bool open = std::any_of(s.verdicts.begin(), s.verdicts.end(), [](const store::Verdict& v) {
    return v.verdict == judge::name(judge::Verdict::no_verdict) ||
           v.verdict == judge::name(judge::Verdict::environment_suspect);
  });
  return newest.state == store::NightState::judged && !newest.environment && !open ? 0 : 4;
}

std::string to_text(const Status& s) {
  std::string out;
  if (s.nights.empty()) {
    out = fmt::format("machine {}: no night yet\n", s.machine);
  } else {
    const auto& n = s.nights.front();
    const auto& why = n.voided ? n.void_reason : n.reason;
    out = clean(fmt::format("machine {}: last night {} ({}), {}{}", s.machine, n.sequence, to_rfc3339(n.started),
                            n.voided ? "taken out" : name(n.state), why.empty() ? "" : ": " + why)) +
          "\n";
  }
  const bool unsure = exit_code_of(s) == 4;
  out += unsure && s.nights.empty() ? "NO VERDICT about this machine\n"
         : unsure                   ? "NO VERDICT about the newest night, or a part of it\n"
         : s.trips.empty()          ? "nothing red\n"
                                    : fmt::format("RED: {} trip groups\n", s.trips.size());
  for (const auto& group : s.trips) out += trip_text(group);
  int warming = 0;
  for (const auto& v : s.verdicts) {
    if (v.verdict == "warming_up") ++warming;
    if (v.verdict != "suspect" && v.verdict != "no_verdict" && v.verdict != "environment_suspect" &&
        v.verdict != "unfit")
      continue;
    out +=
        clean(fmt::format("  {:<20} {} {}{}{}", v.verdict, v.metric, std::isfinite(v.change) ? percent(v.change) : "",
                          v.suspect_since ? fmt::format(" since night {}", *v.suspect_since) : "",
                          v.reason.empty() ? "" : "  " + v.reason)) +
        "\n";
  }
  if (warming > 0) out += fmt::format("  {} metrics are warming up\n", warming);
  for (const auto& n : s.nights) {
    if (n.state == store::NightState::no_verdict)
      out += clean(fmt::format("  night {} without verdict: {}", n.sequence, n.reason)) + "\n";
  }
  for (const auto& step : next_steps(s)) out += "next: " + clean(step) + "\n";
  return out;
}

}  // namespace

Result<int> verb_status(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto store, open_store(config));
  Status s;
  s.machine = machine_name(options, config);
  NG_CHECK(known_machine(options, *store, config));
  NG_TRY(s.nights, store->nights(config.project, s.machine, store::newest, nights_looked_at));
  if (s.nights.empty()) {
    NG_TRY(const auto machines, store->machines(config.project));
    for (const auto& m : machines) {
      NG_TRY(const auto nights, store->nights(config.project, m.name, store::newest, 1));
      if (!nights.empty()) s.others.push_back(m.name);
    }
  }
  NG_TRY(const auto last, store->last_judged(config.project, s.machine));
  if (last) {
    NG_TRY(s.verdicts, store->verdicts(config.project, s.machine, last->sequence));
  }
  NG_TRY(s.trips, store->open_trips(config.project));
  s.trips.erase(std::remove_if(s.trips.begin(), s.trips.end(), [&](const auto& g) { return g.machine != s.machine; }),
                s.trips.end());
  NG_TRY(const auto bisects, store->bisects(config.project, 20));
  for (const auto& b : bisects) {
    if (b.state == store::BisectState::running) s.unfinished.push_back(b);
  }
  if (options.json) {
    print_json(options, to_json(s));
  } else {
    print(to_text(s));
  }
  return exit_code_of(s);
}

}  // namespace nightgate::cli
