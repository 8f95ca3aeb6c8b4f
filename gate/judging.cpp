#include "gate/judging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/judge/replay.hpp"

namespace nightgate::judging {
namespace {

tl::unexpected<Error> unreadable(Error error) {
  error.code = Code::no_verdict;  // the night was measured; what it means can't be said until history can be read
  return with_context(std::move(error), "reading the history that tonight is judged against");
}

using Aliases = std::map<std::string, std::string>;

const std::string& today(const std::string& metric, const Aliases& aliases) {
  const auto alias = aliases.find(metric);
  return alias == aliases.end() ? metric : alias->second;
}

store::Verdict to_row(const judge::MetricVerdict& verdict, const judge::Rules& rules) {
  store::Verdict row;
  row.metric = verdict.metric;
  row.verdict = judge::name(verdict.verdict);
  row.state = judge::name(verdict.state);
  row.reason = verdict.reason;
  row.value = verdict.value;
  row.baseline = verdict.baseline;
  row.change = verdict.change;
  row.red = verdict.red;
  row.nights_left = verdict.nights_left;
  if (verdict.suspect_since) row.suspect_since = verdict.suspect_since->sequence;
  row.explanation = explanation_json(verdict, rules);
  return row;
}

store::TripGroup to_row(const judge::TripGroup& group, const judge::NightVerdict& night, const std::string& project,
                        const std::string& machine) {
  store::TripGroup row;
  row.project = project;
  row.machine = machine;
  row.first = group.first.sequence;
  row.last_good = group.last_good.sequence;
  row.tripped = night.night.sequence;
  for (const auto& name : group.metrics) {
    const auto verdict = std::find_if(night.metrics.begin(), night.metrics.end(),
                                      [&](const judge::MetricVerdict& v) { return v.metric == name && v.trip; });
    if (verdict == night.metrics.end()) continue;
    store::Trip trip;
    trip.metric = name;
    trip.kind = judge::name(verdict->trip->kind);
    trip.change = verdict->trip->change;
    trip.baseline = verdict->trip->baseline;
    trip.level = verdict->trip->level;
    trip.tripped = night.night.sequence;
    row.trips.push_back(std::move(trip));
  }
  return row;
}

store::Judgement to_row(const judge::NightVerdict& night, const std::string& run, const store::Night& key,
                        const judge::Rules& rules) {
  store::Judgement row;
  row.run = run;
  row.environment = night.environment_suspect;
  row.open_question = night.any_open_question;
  row.reason = night.reason;
  for (const auto& verdict : night.metrics) {
    row.verdicts.push_back(to_row(verdict, rules));
    if (verdict.verdict == judge::Verdict::recovered) {
      row.closed.push_back({verdict.metric, store::TripState::recovered});
    }
  }
  for (const auto& group : night.groups) row.opened.push_back(to_row(group, night, key.project, key.machine));
  return row;
}

using Decisions = std::vector<store::Decision>;

// Those of these nights, after < night <= last, that stand; by the names of today.
Decisions between(const Decisions& decisions, store::Sequence after, store::Sequence last,
                  const config::Config& config) {
  Decisions out;
  for (auto decision : decisions) {
    if (decision.undone || decision.night <= after || decision.night > last) continue;
    decision.project = config.project;
    decision.metric = today(decision.metric, config.aliases);
    out.push_back(std::move(decision));
  }
  return out;
}

void apply(const Decisions& decisions, judge::GateState& state) {
  for (const auto& decision : decisions) {
    if (decision.kind == store::DecisionKind::accept) state.accept(decision.metric);
    if (decision.kind == store::DecisionKind::pin) state.pin();
  }
}

Result<judge::GateState> state_before(store::Store& store, const config::Config& config, const std::string& machine,
                                      store::Sequence before, store::Sequence& after) {
  auto snapshot = store.snapshot_before(config.project, machine, before);
  if (!snapshot) return unreadable(std::move(snapshot).error());
  after = store::oldest;  // nights that were imported before the first one have numbers below 1
  if (!snapshot->has_value()) return judge::GateState{};
  auto state = judge::GateState::load((*snapshot)->text);
  if (!state) {
    return fail(Code::no_verdict,
                fmt::format("the state kept after night {} can't be read by this version of "
                            "nightgate: use the one that wrote it, or judge everything again by "
                            "`nightgate void NIGHT --reason ...` of the first night and `nightgate undo`",
                            (*snapshot)->sequence));
  }
  after = (*snapshot)->sequence;
  // An alias that was declared since: the series goes on under its new name.
  for (const auto& [old_name, new_name] : config.aliases) state->rename(old_name, new_name);
  return std::move(*state);
}

}  // namespace

void prepare(judge::NightInput& input, const config::Config& config) {
  for (auto& reading : input.readings) {
    reading.metric = today(reading.metric, config.aliases);
    reading.group = judge::load_of(reading.metric);
  }
  for (auto& missing : input.missing) missing.metric = today(missing.metric, config.aliases);
}

judge::Rules rules_of(const config::Config& config) {
  judge::Rules rules;
  rules.trip_after = config.gate.trip_after;
  rules.min_change = config.gate.min_change;
  rules.window = config.gate.window;
  rules.min_gap_hours = config.night.min_gap_hours;
  return rules;
}

std::string explanation_json(const judge::MetricVerdict& verdict, const judge::Rules& rules) {
  // Pairs in a list: the database keeps no order of an object's keys, and they are in reading order.
  auto out = nlohmann::json::array();
  for (const auto& [name, value] : judge::explain(verdict, rules)) out.push_back({{"name", name}, {"value", value}});
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<JudgedNight>> judge_nights(store::Store& store, const config::Config& config,
                                              const std::string& machine, store::Sequence from,
                                              const Progress& progress) {
  NG_TRY(const auto held, store.hold_judging(config.project, machine, std::chrono::minutes(10)));
  store::Sequence after = store::oldest;
  NG_TRY(auto state, state_before(store, config, machine, from == 0 ? store::newest : from, after));
  auto inputs = store.inputs_after(config.project, machine, after);
  if (!inputs) return unreadable(std::move(inputs).error());
  auto decisions = store.decisions(config.project, machine);
  if (!decisions) return unreadable(std::move(decisions).error());

  for (const auto& [old_name, new_name] : config.aliases) {
    NG_CHECK(store.rename_trips(config.project, old_name, new_name));
  }

  const auto rules = rules_of(config);
  std::vector<JudgedNight> out;
  for (auto& [run, input] : *inputs) {
    prepare(input, config);
    // An accept holds also when the night that it was said in was taken out since.
    const auto earlier = between(*decisions, after, input.night.sequence - 1, config);
    const auto tonight = between(*decisions, input.night.sequence - 1, input.night.sequence, config);
    apply(earlier, state);
    JudgedNight judged{judge::step(state, input, rules), {}, {}};
    apply(tonight, state);
    after = input.night.sequence;
    store::Night key;
    key.project = config.project;
    key.machine = machine;
    auto judgement = to_row(judged.verdict, run, key, rules);
    if (store::keeps_snapshot(input.night.sequence, inputs->back().input.night.sequence)) {
      judgement.snapshot = state.save();
    }
    judged.closed = judgement.closed;
    NG_TRY(judged.opened, store.put_judgement(judgement));
    for (const auto* decided : {&earlier, &tonight}) {
      for (const auto& decision : *decided) {
        if (decision.kind == store::DecisionKind::accept) NG_CHECK(store.accept_again(decision));
      }
    }
    out.push_back(std::move(judged));
    if (progress) progress(out.size(), inputs->size());
  }
  return out;
}

}  // namespace nightgate::judging
