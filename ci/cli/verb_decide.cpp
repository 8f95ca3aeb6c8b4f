// accept, void, undo: people's decisions, kept with their reason and judged again from the night they are about.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "gate/base/json.hpp"
#include "gate/judging.hpp"

namespace nightgate::cli {
namespace {

struct Desk {
  config::Config config;
  std::unique_ptr<store::Store> store;
  std::string machine;
};

Result<Desk> open_desk(const Options& options) {
  NG_TRY(auto config, load_config(options));
  NG_TRY(auto store, open_store(config));
  auto machine = machine_name(options, config);
  return Desk{std::move(config), std::move(store), std::move(machine)};
}

Result<int> keep(const Options& options, Desk& desk, store::Decision decision, store::Sequence judge_from,
                 std::string_view said) {
  decision.project = desk.config.project;
  decision.machine = desk.machine;
  decision.reason = options.reason;
  decision.who = user_name();
  decision.at = system_clock().now();
  NG_TRY(const auto kept, desk.store->put_decision(decision));
  if (judge_from == 0) judge_from = kept.night;  // undo: from the night of what was taken back
  NG_TRY(const auto judged, judging::judge_nights(*desk.store, desk.config, desk.machine, judge_from));
  NG_TRY(const auto open, desk.store->open_trips(desk.config.project));
  if (options.json) {
    print_json(options, {{"decision", kept.id},
                         {"metric", kept.metric},
                         {"night", kept.night},
                         {"nights_judged_again", judged.size()},
                         {"open_trips", open.size()}});
  } else {
    print(fmt::format("{}; {} nights judged again, {} trip groups open\n", said, judged.size(), open.size()));
  }
  return 0;
}

Result<store::Night> last_night(Desk& desk) {
  NG_TRY(auto night, desk.store->last_judged(desk.config.project, desk.machine));
  if (!night)
    return fail(Code::usage, fmt::format("machine {} has no judged night yet, so there is nothing to decide{}",
                                         desk.machine, other_machines(*desk.store, desk.config, desk.machine)));
  return std::move(*night);
}

}  // namespace

Result<int> verb_accept(const Options& options) {
  NG_TRY(auto desk, open_desk(options));
  NG_TRY(const auto night, last_night(desk));
  const auto& metric = options.positional.at(0);
  NG_TRY(const auto verdicts, desk.store->verdicts(desk.config.project, desk.machine, night.sequence));
  const auto row = std::find_if(verdicts.begin(), verdicts.end(), [&](const auto& v) { return v.metric == metric; });
  if (row == verdicts.end()) {
    std::vector<std::string> names;
    for (const auto& v : verdicts) names.push_back(v.metric);
    std::string hint;
    for (const auto& name : near_matches(metric, names)) hint += (hint.empty() ? "; did you mean " : ", ") + name;
    return fail(Code::usage, fmt::format("night {} has no metric '{}'{}", night.sequence, metric, hint));
  }
  if (!row->red) {
    const bool suspect = row->verdict == judge::name(judge::Verdict::suspect);
    return fail(Code::usage, fmt::format("{} is not red ({}): there is nothing to accept{}", metric, row->verdict,
                                         suspect ? " yet; the next night decides" : ""));
  }
  store::Decision decision;
  decision.kind = store::DecisionKind::accept;
  decision.metric = metric;
  decision.night = night.sequence;
  return keep(options, desk, decision, night.sequence,
              fmt::format("{} accepted at {}: a new level begins", metric, figure(row->value)));
}

Result<int> verb_void(const Options& options) {
  NG_TRY(auto desk, open_desk(options));
  NG_TRY(const auto night, desk.store->night(desk.config.project, desk.machine, options.night));
  if (!night)
    return fail(Code::usage, fmt::format("machine {} has no night {}{}", desk.machine, options.night,
                                         other_machines(*desk.store, desk.config, desk.machine)));
  if (night->voided)
    return fail(Code::usage, fmt::format("night {} is already out ({})", options.night, night->void_reason));
  store::Decision decision;
  decision.kind = store::DecisionKind::void_night;
  decision.night = options.night;
  return keep(options, desk, decision, options.night, fmt::format("night {} taken out", options.night));
}

Result<int> verb_undo(const Options& options) {
  NG_TRY(auto desk, open_desk(options));
  store::Decision decision;
  decision.kind = store::DecisionKind::undo;
  return keep(options, desk, decision, 0, "the last decision was taken back");
}

}  // namespace nightgate::cli
