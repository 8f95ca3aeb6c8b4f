#include "gate/compare_judging.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

namespace nightgate::compare {
namespace {

struct Slot {
  std::map<int, double> reference, arm;  // by pair
  std::map<int, std::pair<std::optional<double>, std::optional<double>>> aa;
  config::MetricInfo info;
  std::string deployment, scenario;
};

std::map<std::string, Slot> slots(const std::vector<Step>& steps, int reference, int arm) {
  std::map<std::string, Slot> out;
  for (const auto& step : steps) {
    const auto& m = step.measurement;
    for (const auto& [metric, info] : m.metrics) {
      if (!info.gated) continue;
      auto& slot = out[fmt::format("{}.{}.{}", m.deployment, m.scenario, metric)];
      slot.info = info;
      slot.deployment = m.deployment;
      slot.scenario = m.scenario;
      const auto value = step.failure.empty() ? m.value(metric) : std::nullopt;
      if (!value) continue;
      if (step.pair < 0) {
        (step.side == 0 ? slot.aa[step.pair].first : slot.aa[step.pair].second) = value;
      } else if (step.arm == reference) {
        slot.reference[step.pair] = *value;
      } else if (step.arm == arm) {
        slot.arm[step.pair] = *value;
      }
    }
  }
  return out;
}

judge::PairedMetric paired_of(const std::string& name, const Slot& slot) {
  judge::PairedMetric m;
  m.metric = name;
  m.better = slot.info.better == config::Better::higher ? judge::Better::higher : judge::Better::lower;
  for (const auto& [pair, value] : slot.reference) {
    const auto other = slot.arm.find(pair);
    if (other == slot.arm.end()) {
      ++m.missing_head;
      continue;
    }
    m.base.push_back(value);
    m.head.push_back(other->second);
  }
  m.missing_base = static_cast<int>(slot.arm.size() - m.head.size());
  for (const auto& [pair, both] : slot.aa) {
    if (!both.first || !both.second) continue;
    m.aa_first.push_back(*both.first);
    m.aa_second.push_back(*both.second);
  }
  return m;
}

void summarise(ArmOutcome& out) {
  using judge::PairVerdict;
  int better = 0, worse = 0, open = 0, rates = 0;
  double logs = 0;
  for (const auto& m : out.metrics) {
    better += m.result.verdict == PairVerdict::better ? 1 : 0;
    worse += m.result.verdict == PairVerdict::worse ? 1 : 0;
    open += m.result.verdict == PairVerdict::no_verdict ? 1 : 0;
    // What may not be judged (A/A) has no part in a summary either.
    const bool judged = m.result.verdict != PairVerdict::no_verdict || m.result.open;
    if (m.info.better != config::Better::higher || m.result.pairs == 0 || !judged) continue;
    logs += std::log(m.result.index / 100);
    ++rates;
  }
  out.geometric_index = rates > 0 ? 100 * std::exp(logs / rates) : std::numeric_limits<double>::quiet_NaN();
  out.trade = better > 0 && worse > 0;
  out.verdict = worse > 0                         ? PairVerdict::worse
                : open > 0 || out.metrics.empty() ? PairVerdict::no_verdict
                : better > 0                      ? PairVerdict::better
                                                  : PairVerdict::same;
  out.reason = out.metrics.empty() ? "no gated metric was measured"
                                   : fmt::format("{} worse, {} better, {} same, {} without a verdict", worse, better,
                                                 static_cast<int>(out.metrics.size()) - worse - better - open, open);
}

}  // namespace

std::vector<judge::PairedMetric> paired(const std::vector<Step>& steps, int reference, int arm) {
  std::vector<judge::PairedMetric> out;
  for (const auto& [name, slot] : slots(steps, reference, arm)) out.push_back(paired_of(name, slot));
  return out;
}

void judge_arm(ArmOutcome& out, const std::vector<Step>& steps, std::pair<int, int> measured_as,
               const judge::PairRules& rules, const Refused& refused) {
  const auto by_name = slots(steps, measured_as.first, measured_as.second);
  std::vector<judge::PairedMetric> input;
  for (const auto& [name, slot] : by_name) {
    input.push_back(paired_of(name, slot));
    if (const auto why = refused.find(name); why != refused.end()) input.back().refused = why->second;
  }
  auto results = judge::judge_pairs(input, rules);
  out.metrics.clear();
  std::size_t i = 0;
  for (const auto& [name, slot] : by_name) {
    out.metrics.push_back({slot.scenario, slot.deployment, name, slot.info, std::move(results[i]),
                           std::move(input[i].base), std::move(input[i].head)});
    ++i;
  }
  summarise(out);
}

}  // namespace nightgate::compare
