#include "gate/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace nightgate::compare {
namespace {

struct Cell {  // one deployment under one scenario
  const config::Deployment* deployment;
  const config::Scenario* scenario;
  bool decided = false;
};

Result<std::vector<Cell>> cells_of(const config::Config& config, const Options& options) {
  for (const auto& wanted : options.scenarios) {
    if (config.find_scenario(wanted) == nullptr) {
      return fail(Code::usage, fmt::format("no scenario '{}' in the config", wanted));
    }
  }
  std::vector<Cell> cells;
  for (const auto& deployment : config.deployments) {
    for (const auto& scenario : config.scenarios) {
      if (!scenario.runs_on(deployment.name)) continue;
      const auto& only = options.scenarios;
      if (!only.empty() && std::find(only.begin(), only.end(), scenario.name) == only.end()) continue;
      cells.push_back({&deployment, &scenario});
    }
  }
  return cells;
}

std::string full_name(const Cell& cell, std::string_view metric) {
  return fmt::format("{}.{}.{}", cell.deployment->name, cell.scenario->name, metric);
}

class Run {
 public:
  Run(const config::Config& config, const Options& options, measure::Measurer& measurer, Clock& clock,
      Observer& observer)
      : config_(config), options_(options), measurer_(measurer), clock_(clock), observer_(observer) {}

  Result<Outcome> go(const std::vector<targets::Target>& arms) {
    outcome_.arms = arms;
    began_ = clock_.monotonic();
    NG_TRY(cells_, cells_of(config_, options_));
    if (identical()) return outcome_;
    NG_CHECK(check_equivalence());
    if (!outcome_.differences.empty()) return outcome_;
    NG_CHECK(measure_aa());
    judge();
    if (!outcome_.aa_complaint.empty()) return finish();
    while (!all_decided() && outcome_.rounds < options_.max_pairs) {
      if (minutes() >= options_.max_minutes) {
        outcome_.out_of_budget = true;
        break;
      }
      NG_CHECK(round());
      judge();
      observer_.round(outcome_.rounds, outcome_.heads);
    }
    return finish();
  }

 private:
  double minutes() const { return std::chrono::duration<double, std::ratio<60>>(clock_.monotonic() - began_).count(); }

  Outcome finish() {
    outcome_.minutes = minutes();
    return std::move(outcome_);
  }

  bool identical() {
    bool all = true;
    for (std::size_t arm = 1; arm < outcome_.arms.size(); ++arm) {
      ArmOutcome head;
      head.arm = static_cast<int>(arm);
      if (outcome_.arms[arm].digest == outcome_.arms[0].digest) {
        head.verdict = judge::PairVerdict::same;
        head.reason = "base and head are the same target (" + outcome_.arms[0].digest.substr(0, 19) +
                      "): nothing was measured or judged";
      } else {
        all = false;
      }
      outcome_.heads.push_back(std::move(head));
    }
    return all;
  }
  bool is_identical(std::size_t arm) const { return outcome_.arms[arm].digest == outcome_.arms[0].digest; }

  // Arms that answer differently are not compared; a check that could not fail is a mistake in the config.
  Status check_equivalence() {
    if (config_.compare.equivalence.empty()) return {};
    for (const auto& cell : cells_) {
      std::vector<std::vector<measure::Measurer::Answer>> answers;
      for (const auto& arm : outcome_.arms) {
        NG_TRY(auto got, measurer_.answers(arm, *cell.deployment, *cell.scenario, config_.compare.equivalence));
        answers.push_back(std::move(got));
      }
      NG_CHECK(not_vacuous(answers[0]));
      for (std::size_t arm = 1; arm < answers.size(); ++arm) differences(answers[0], answers[arm]);
    }
    if (outcome_.differences.empty()) return {};
    for (auto& head : outcome_.heads)
      head.reason = "the arms answer differently; a speed verdict would be about two programs";
    return {};
  }

  static Status not_vacuous(const std::vector<measure::Measurer::Answer>& answers) {
    for (const auto& a : answers) {
      if (a.status < 200 || a.status > 299) {
        return fail(Code::usage, fmt::format("compare.equivalence: {} answers {} on base; compare answers that succeed "
                                             "after the fixture",
                                             a.request, a.status));
      }
      if (a.body.empty()) {
        return fail(Code::usage, fmt::format("compare.equivalence: {} has an empty answer on base, so it can't tell "
                                             "two programs apart",
                                             a.request));
      }
    }
    const bool alike = answers.size() > 1 && std::all_of(answers.begin(), answers.end(),
                                                         [&](const auto& a) { return a.hash == answers.front().hash; });
    if (!alike) return {};
    return fail(Code::usage,
                "compare.equivalence: all requests have the same answer on base; choose requests whose "
                "answers depend on the data");
  }

  void differences(const std::vector<measure::Measurer::Answer>& base,
                   const std::vector<measure::Measurer::Answer>& head) {
    for (std::size_t i = 0; i < std::min(base.size(), head.size()); ++i) {
      if (base[i].hash == head[i].hash && base[i].status == head[i].status) continue;
      outcome_.differences.push_back({base[i].request, base[i].body.substr(0, 2000), head[i].body.substr(0, 2000),
                                      base[i].status, head[i].status});
    }
  }

  // A failed measurement is a step too: it is told, and its pair is void. Three in a row of one arm end the run.
  Result<bool> measure(const Cell& cell, int arm, int pair, int side) {
    Step step{arm, pair, side, {}, {}};
    auto got =
        measurer_.measure(outcome_.arms[static_cast<std::size_t>(arm)], *cell.deployment, *cell.scenario, starts_++);
    if (!got && got.error().code != Code::measure) return tl::unexpected<Error>(std::move(got).error());
    if (got) {
      step.measurement = std::move(*got);
      step.failure = step.measurement.no_verdict;
    } else {
      step.measurement.deployment = cell.deployment->name;
      step.measurement.scenario = cell.scenario->name;
      step.failure = got.error().text();
    }
    const bool good = step.failure.empty();
    auto& failures = failures_[arm];
    failures = good ? 0 : failures + 1;
    if (!good) {
      outcome_.void_pairs.push_back(
          fmt::format("{} of {}.{}, {}: {}", pair < 0 ? "A/A" : fmt::format("pair {}", pair + 1), cell.deployment->name,
                      cell.scenario->name, name_of(arm), step.failure));
    }
    observer_.measured(step);
    outcome_.steps.push_back(std::move(step));
    if (failures >= 3) {
      return fail(Code::measure, fmt::format("{} could not be measured three times in a row; last: {}", name_of(arm),
                                             outcome_.steps.back().failure));
    }
    return good;
  }
  std::string name_of(int arm) const {
    const auto& label = outcome_.arms[static_cast<std::size_t>(arm)].label;
    return arm == 0 ? "base (" + label + ")"
                    : fmt::format("head{} ({})", outcome_.arms.size() > 2 ? fmt::format(" {}", arm) : "", label);
  }

  Status measure_aa() {
    for (int pair = 0; pair < options_.aa_pairs; ++pair) {
      for (const auto& cell : cells_) {
        for (int side = 0; side < 2; ++side) NG_CHECK(measure(cell, 0, -1 - pair, side));
      }
    }
    outcome_.aa_complaint = judge::aa_complaint(paired(1), options_.rules);
    return {};
  }

  // Every arm once per undecided cell; the order turns each round (two arms: A B, B A; more: they rotate).
  Status round() {
    const auto arms = static_cast<int>(outcome_.arms.size());
    for (const auto& cell : cells_) {
      if (cell.decided) continue;
      for (int i = 0; i < arms; ++i) {
        const int arm = (i + outcome_.rounds) % arms;
        if (arm != 0 && is_identical(static_cast<std::size_t>(arm))) continue;
        NG_CHECK(measure(cell, arm, outcome_.rounds, 0));
      }
    }
    ++outcome_.rounds;
    return {};
  }

  struct Slot {
    std::map<int, double> base, head;
    std::map<int, std::pair<std::optional<double>, std::optional<double>>> aa;
    config::MetricInfo info;
    const Cell* cell = nullptr;
    std::string short_name;
  };

  std::map<std::string, Slot> slots(int arm) const {
    std::map<std::string, Slot> out;
    for (const auto& step : outcome_.steps) {
      const auto cell = std::find_if(cells_.begin(), cells_.end(), [&](const Cell& c) {
        return c.deployment->name == step.measurement.deployment && c.scenario->name == step.measurement.scenario;
      });
      for (const auto& [metric, info] : step.measurement.metrics) {
        if (!info.gated) continue;
        auto& slot = out[full_name(*cell, metric)];
        slot.info = info;
        slot.cell = &*cell;
        slot.short_name = metric;
        const auto value = step.failure.empty() ? step.measurement.value(metric) : std::nullopt;
        if (!value) continue;
        if (step.pair < 0) {
          (step.side == 0 ? slot.aa[step.pair].first : slot.aa[step.pair].second) = value;
        } else if (step.arm == 0) {
          slot.base[step.pair] = *value;
        } else if (step.arm == arm) {
          slot.head[step.pair] = *value;
        }
      }
    }
    return out;
  }

  std::vector<judge::PairedMetric> paired(int arm) const {
    std::vector<judge::PairedMetric> out;
    for (const auto& [name, slot] : slots(arm)) {
      judge::PairedMetric m;
      m.metric = name;
      m.better = slot.info.better == config::Better::higher ? judge::Better::higher : judge::Better::lower;
      for (const auto& [pair, value] : slot.base) {
        const auto head = slot.head.find(pair);
        if (head == slot.head.end()) {
          ++m.missing;
          continue;
        }
        m.base.push_back(value);
        m.head.push_back(head->second);
      }
      for (const auto& [pair, both] : slot.aa) {
        if (!both.first || !both.second) continue;
        m.aa_first.push_back(*both.first);
        m.aa_second.push_back(*both.second);
      }
      out.push_back(std::move(m));
    }
    return out;
  }

  void judge() {
    for (auto& head : outcome_.heads) {
      if (is_identical(static_cast<std::size_t>(head.arm))) continue;
      const auto input = paired(head.arm);
      const auto results = judge::judge_pairs(input, options_.rules);
      const auto by_name = slots(head.arm);
      head.metrics.clear();
      for (std::size_t i = 0; i < results.size(); ++i) {
        const auto& slot = by_name.at(results[i].metric);
        head.metrics.push_back({slot.cell->scenario->name, slot.cell->deployment->name, results[i].metric, slot.info,
                                results[i], input[i].base, input[i].head});
      }
      summarise(head);
      if (!outcome_.aa_complaint.empty()) head.reason = "the machine differs from itself: " + outcome_.aa_complaint;
    }
    // A cell whose metrics are all decided against every head needs no more starts: always-valid means it may stop.
    for (auto& cell : cells_) {
      cell.decided =
          outcome_.rounds > 0 && std::all_of(outcome_.heads.begin(), outcome_.heads.end(), [&](const ArmOutcome& head) {
            return is_identical(static_cast<std::size_t>(head.arm)) ||
                   std::all_of(head.metrics.begin(), head.metrics.end(), [&](const MetricOutcome& m) {
                     return m.scenario != cell.scenario->name || m.deployment != cell.deployment->name ||
                            m.result.verdict != judge::PairVerdict::no_verdict;
                   });
          });
    }
  }

  static void summarise(ArmOutcome& head) {
    using judge::PairVerdict;
    int better = 0, worse = 0, open = 0, rates = 0;
    double logs = 0;
    for (const auto& m : head.metrics) {
      better += m.result.verdict == PairVerdict::better ? 1 : 0;
      worse += m.result.verdict == PairVerdict::worse ? 1 : 0;
      open += m.result.verdict == PairVerdict::no_verdict ? 1 : 0;
      if (m.info.better == config::Better::higher && m.result.pairs > 0) {
        logs += std::log(m.result.index / 100);
        ++rates;
      }
    }
    head.geometric_index = rates > 0 ? 100 * std::exp(logs / rates) : 100;
    head.trade = better > 0 && worse > 0;
    head.verdict = worse > 0                          ? PairVerdict::worse
                   : open > 0 || head.metrics.empty() ? PairVerdict::no_verdict
                   : better > 0                       ? PairVerdict::better
                                                      : PairVerdict::same;
    head.reason = head.metrics.empty()
                      ? "no gated metric was measured"
                      : fmt::format("{} worse, {} better, {} same, {} without a verdict", worse, better,
                                    static_cast<int>(head.metrics.size()) - worse - better - open, open);
  }

  bool all_decided() const {
    return std::all_of(cells_.begin(), cells_.end(), [](const Cell& c) { return c.decided; });
  }

  const config::Config& config_;
  const Options& options_;
  measure::Measurer& measurer_;
  Clock& clock_;
  Observer& observer_;
  Outcome outcome_;
  std::vector<Cell> cells_;
  std::map<int, int> failures_;
  int starts_ = 0;
  std::chrono::nanoseconds began_{};
};

}  // namespace

judge::PairVerdict Outcome::verdict() const {
  using judge::PairVerdict;
  if (!aa_complaint.empty() || !differences.empty()) return PairVerdict::no_verdict;
  const auto any = [&](PairVerdict v) {
    return std::any_of(heads.begin(), heads.end(), [&](const ArmOutcome& h) { return h.verdict == v; });
  };
  for (const auto v : {PairVerdict::worse, PairVerdict::no_verdict, PairVerdict::better}) {
    if (any(v)) return v;
  }
  return PairVerdict::same;
}

Result<Outcome> run(const config::Config& config, const std::vector<targets::Target>& arms, const Options& options,
                    measure::Measurer& measurer, Clock& clock, Observer& observer) {
  if (arms.size() < 2) return fail(Code::usage, "compare needs a base and at least one head");
  return Run(config, options, measurer, clock, observer).go(arms);
}

}  // namespace nightgate::compare
