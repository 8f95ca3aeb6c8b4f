#include "gate/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "gate/compare_judging.hpp"

namespace nightgate::compare {
namespace {

using judge::PairVerdict;

struct Cell {  // one deployment under one scenario
  const config::Deployment* deployment;
  const config::Scenario* scenario;
  bool settled = false;
  [[nodiscard]] std::string name() const { return deployment->name + "." + scenario->name; }
  [[nodiscard]] bool has_fixture() const {
    return !scenario->fixture.calls.empty() || !scenario->fixture.command.empty();
  }
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

using Answers = std::vector<measure::Measurer::Answer>;

// A check that could not fail is a mistake in the config.
Status not_vacuous(const Answers& answers) {
  for (const auto& a : answers) {
    if (a.status < 200 || a.status > 299) {
      return fail(Code::usage, fmt::format("compare.equivalence: {} answers {} on base; compare answers that succeed "
                                           "after the fixture",
                                           a.request, a.status));
    }
    if (a.empty) {
      return fail(Code::usage, fmt::format("compare.equivalence: {} has an answer without content on base, so it can't "
                                           "tell two programs apart",
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

class Run {
 public:
  Run(const config::Config& config, const Options& options, measure::Measurer& measurer, Clock& clock,
      Observer& observer)
      : config_(config),
        options_(options),
        measurer_(measurer),
        clock_(clock),
        observer_(observer),
        rules_(options.rules) {
    rules_.max_pairs = options.max_pairs;
  }

  Result<Outcome> go(const std::vector<targets::Target>& arms) {
    outcome_.arms = arms;
    outcome_.ladder = options_.ladder;
    began_ = clock_.monotonic();
    NG_TRY(cells_, cells_of(config_, options_));
    plan();
    if (!anything_to_measure()) return finish();
    NG_CHECK(check_equivalence());
    if (!anything_to_measure()) return finish();
    NG_CHECK(measure_aa());
    judge();
    while (outcome_.aa_complaint.empty() && !all_settled() && outcome_.rounds < options_.max_pairs) {
      if (stopped()) break;
      if (minutes() >= options_.max_minutes) {
        outcome_.out_of_budget = true;
        break;
      }
      NG_CHECK(round());
      judge();
      observer_.round(outcome_.rounds, outcome_);
    }
    if (outcome_.stopped && outcome_.rounds == 0)
      return fail(Code::measure, "stopped on request before the first pair was whole; nothing is judged");
    return finish();
  }

 private:
  [[nodiscard]] double minutes() const {
    return std::chrono::duration<double, std::ratio<60>>(clock_.monotonic() - began_).count();
  }
  bool stopped() {
    outcome_.stopped = outcome_.stopped || (options_.stop && options_.stop());
    return outcome_.stopped;
  }

  Outcome finish() {
    outcome_.minutes = minutes();
    return std::move(outcome_);
  }

  // Who is judged against whom, and which arms are the same target (measured once).
  void plan() {
    const auto& arms = outcome_.arms;
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      std::size_t first = 0;
      while (arms[first].digest != arms[arm].digest) ++first;
      measured_as_.push_back(static_cast<int>(first));
    }
    for (int arm = 1; arm < static_cast<int>(arms.size()); ++arm) {
      outcome_.heads.push_back(comparison(0, arm));
      if (options_.ladder && arm > 1) outcome_.rungs.push_back(comparison(arm - 1, arm));
    }
    // Two that are answered by the same measurements are one question.
    std::set<std::pair<int, int>> questions;
    for_each([&](const ArmOutcome& c) {
      if (!c.identical) questions.insert(sides_of(c));
    });
    outcome_.comparisons = std::max(1, static_cast<int>(questions.size()));
    rules_.comparisons = outcome_.comparisons;
  }
  ArmOutcome comparison(int reference, int arm) const {
    ArmOutcome out;
    out.arm = arm;
    out.reference = reference;
    const auto [a, b] = sides_of(out);
    if (a != b) return out;
    out.identical = true;
    out.verdict = PairVerdict::same;
    out.reason = fmt::format("{} and {} are the same target ({}): nothing was measured or judged",
                             reference == 0 ? "base" : outcome_.arms[static_cast<std::size_t>(reference)].label,
                             reference == 0 ? "head" : outcome_.arms[static_cast<std::size_t>(arm)].label,
                             outcome_.arms[static_cast<std::size_t>(arm)].digest.substr(0, 19));
    return out;
  }
  [[nodiscard]] std::pair<int, int> sides_of(const ArmOutcome& c) const {
    return {measured_as_[static_cast<std::size_t>(c.reference)], measured_as_[static_cast<std::size_t>(c.arm)]};
  }
  template <typename F>
  void for_each(F&& use) {
    for (auto& c : outcome_.heads) use(c);
    for (auto& c : outcome_.rungs) use(c);
  }
  // Arms that are measured: one of each digest, without those that were taken out.
  [[nodiscard]] std::vector<int> measured_arms() const {
    std::vector<int> out;
    for (int arm = 0; arm < static_cast<int>(outcome_.arms.size()); ++arm) {
      if (measured_as_[static_cast<std::size_t>(arm)] == arm && out_.count(arm) == 0) out.push_back(arm);
    }
    return out;
  }
  [[nodiscard]] bool anything_to_measure() const { return measured_arms().size() > 1; }

  // An arm is taken out of the run; what was asked of it has no verdict, with this reason.
  void take_out(int arm, const std::string& why, bool differs) {
    out_.emplace(arm, why);
    for_each([&](ArmOutcome& c) {
      const auto [a, b] = sides_of(c);
      if (c.identical || (a != arm && b != arm)) return;
      c.differs = c.differs || differs;
      const bool worse = c.verdict == PairVerdict::worse;  // found before: it stays found
      c.reason = worse ? c.reason + "; then " + why : why;
      if (!worse) c.verdict = PairVerdict::no_verdict;
    });
  }

  // Arms that answer differently are not compared. Asked where there is a fixture: without one every store is empty.
  Status check_equivalence() {
    const auto& requests = config_.compare.equivalence;
    if (requests.empty()) return {};
    const bool fixtures = std::any_of(cells_.begin(), cells_.end(), [](const Cell& c) { return c.has_fixture(); });
    for (const auto& cell : cells_) {
      if (fixtures && !cell.has_fixture()) continue;
      NG_TRY(const auto base, measurer_.answers(outcome_.arms[0], *cell.deployment, *cell.scenario, requests));
      NG_CHECK(not_vacuous(base));
      for (const int arm : measured_arms()) {
        if (arm == 0) continue;
        const auto& target = outcome_.arms[static_cast<std::size_t>(arm)];
        auto head = measurer_.answers(target, *cell.deployment, *cell.scenario, requests);
        if (!head && (head.error().code != Code::measure || stopped() || measured_arms().size() == 2))
          return tl::unexpected<Error>(std::move(head).error());
        const auto name = outcome_.arms.size() > 2 ? target.label : "head";
        if (!head) {
          take_out(arm, name + " could not be asked for its answers: " + head.error().text(), false);
        } else if (differences(cell, arm, base, *head)) {
          take_out(arm, name + " answers differently from base; a speed verdict would be about two programs", true);
        }
      }
    }
    return {};
  }

  bool differences(const Cell& cell, int arm, const Answers& base, const Answers& head) {
    bool any = false;
    for (std::size_t i = 0; i < std::min(base.size(), head.size()); ++i) {
      if (base[i].hash == head[i].hash && base[i].status == head[i].status) continue;
      any = true;
      outcome_.differences.push_back({arm, cell.name(), base[i].request, base[i].body.substr(0, 2000),
                                      head[i].body.substr(0, 2000), base[i].status, head[i].status});
    }
    return any;
  }

  // A failed measurement is a step too: it is told, and its pair is void. Three in a row of one arm: it is given up,
  // which ends the run where it is base or nothing is left to compare.
  Status measure(const Cell& cell, int arm, int pair, int side) {
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
    if (!good && stopped()) return {};  // not the arm's fault
    auto& failures = failures_[arm];
    failures = good ? 0 : failures + 1;
    if (!good) {
      outcome_.void_pairs.push_back(fmt::format("{} of {}, {}: {}", pair < 0 ? "A/A" : fmt::format("pair {}", pair + 1),
                                                cell.name(), name_of(arm), step.failure));
    }
    observer_.measured(step);
    outcome_.steps.push_back(std::move(step));
    if (failures < 3) return {};
    const auto why = fmt::format("{} could not be measured three times in a row; last: {}", name_of(arm),
                                 outcome_.steps.back().failure);
    if (arm != 0) take_out(arm, why, false);
    return arm == 0 || !anything_to_measure() ? Status(fail(Code::measure, why)) : Status{};
  }
  [[nodiscard]] std::string name_of(int arm) const {
    const auto& label = outcome_.arms[static_cast<std::size_t>(arm)].label;
    return arm == 0 ? "base (" + label + ")"
                    : fmt::format("head{} ({})", outcome_.arms.size() > 2 ? fmt::format(" {}", arm) : "", label);
  }

  // Base against itself, once more where a metric differed. What then still differs is not judged; when that is all
  // there is, nothing is.
  Status measure_aa() {
    NG_CHECK(measure_aa_pairs(options_.aa_pairs, [](const Cell&) { return true; }));
    refuse();
    NG_CHECK(measure_aa_again());
    const auto metrics = paired(outcome_.steps, 0, -1);
    for (const auto& cell : cells_) {
      if (stopped() || has_aa(cell)) continue;
      return fail(Code::measure, fmt::format("{} of base could not be measured against itself; last: {}", cell.name(),
                                             outcome_.void_pairs.empty() ? "" : outcome_.void_pairs.back()));
    }
    if (metrics.empty() || refused_.size() < metrics.size()) return {};
    for (const auto& [name, why] : refused_)
      outcome_.aa_complaint += (outcome_.aa_complaint.empty() ? "" : "; ") + name + ": " + why;
    return {};
  }
  Status measure_aa_again() {
    std::vector<std::string> names;
    for (const auto& [name, why] : refused_) names.push_back(name);
    const auto concerned = [&](const Cell& cell) {
      return !has_aa(cell) || std::any_of(names.begin(), names.end(),
                                          [&](const auto& name) { return name.starts_with(cell.name() + "."); });
    };
    if (std::none_of(cells_.begin(), cells_.end(), concerned)) return {};
    if (stopped() || minutes() >= options_.max_minutes) return {};
    observer_.differs_from_itself(names);
    clock_.sleep_for(options_.aa_pause);
    outcome_.aa_retried = true;
    NG_CHECK(measure_aa_pairs(options_.aa_retry_pairs, concerned));
    refuse();
    return {};
  }
  // Both sides of at least one A/A pair were measured.
  [[nodiscard]] bool has_aa(const Cell& cell) const {
    std::map<int, int> good;
    for (const auto& step : outcome_.steps) {
      if (step.pair < 0 && step.failure.empty() && step.measurement.deployment == cell.deployment->name &&
          step.measurement.scenario == cell.scenario->name)
        ++good[step.pair];
    }
    return std::any_of(good.begin(), good.end(), [](const auto& pair) { return pair.second == 2; });
  }
  template <typename F>
  Status measure_aa_pairs(int pairs, F&& concerned) {
    for (int pair = 0; pair < pairs; ++pair) {
      for (const auto& cell : cells_) {
        if (!concerned(cell)) continue;
        for (int side = 0; side < 2 && !stopped(); ++side) NG_CHECK(measure(cell, 0, aa_pair_, side));
      }
      --aa_pair_;
    }
    return {};
  }
  void refuse() {
    const auto metrics = paired(outcome_.steps, 0, -1);
    const auto why = judge::aa_refusals(metrics, rules_);
    refused_.clear();
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (!why[i].empty()) refused_[metrics[i].metric] = why[i];
    }
  }

  // Every arm once per open cell; the order turns each round (two arms: A B, B A; more: they rotate).
  Status round() {
    for (const auto& cell : cells_) {
      if (cell.settled) continue;
      const auto arms = measured_arms();
      for (std::size_t i = 0; i < arms.size(); ++i) {
        const int arm = arms[(i + static_cast<std::size_t>(outcome_.rounds)) % arms.size()];
        if (out_.count(arm) != 0) continue;
        NG_CHECK(measure(cell, arm, outcome_.rounds, 0));
        if (stopped()) return {};  // a pair without its other half is not counted
      }
    }
    ++outcome_.rounds;
    return {};
  }

  void judge() {
    for_each([&](ArmOutcome& c) {
      const auto sides = sides_of(c);
      if (c.identical || out_.count(sides.first) != 0 || out_.count(sides.second) != 0) return;
      judge_arm(c, outcome_.steps, sides, rules_, refused_);
      if (!outcome_.aa_complaint.empty()) {
        c.verdict = PairVerdict::no_verdict;
        c.reason = "the machine differs from itself: " + outcome_.aa_complaint;
      }
    });
    // A cell whose metrics are all decided in every comparison needs no more starts: always-valid means it may stop.
    for (auto& cell : cells_) cell.settled = outcome_.rounds > 0 && settled(cell);
  }
  bool settled(const Cell& cell) {
    bool open = false;
    for_each([&](const ArmOutcome& c) {
      const auto [a, b] = sides_of(c);
      if (c.identical || out_.count(a) != 0 || out_.count(b) != 0) return;
      open = open || std::any_of(c.metrics.begin(), c.metrics.end(), [&](const MetricOutcome& m) {
               return m.scenario == cell.scenario->name && m.deployment == cell.deployment->name && m.result.open;
             });
    });
    return !open;
  }

  [[nodiscard]] bool all_settled() const {
    return std::all_of(cells_.begin(), cells_.end(), [](const Cell& c) { return c.settled; });
  }

  const config::Config& config_;
  const Options& options_;
  measure::Measurer& measurer_;
  Clock& clock_;
  Observer& observer_;
  judge::PairRules rules_;
  Outcome outcome_;
  std::vector<Cell> cells_;
  std::vector<int> measured_as_;    // for each arm the first one of the same digest
  std::map<int, std::string> out_;  // arms taken out of the run, and why
  Refused refused_;
  std::map<int, int> failures_;
  int starts_ = 0;
  int aa_pair_ = -1;
  std::chrono::nanoseconds began_{};
};

}  // namespace

PairVerdict Outcome::verdict() const {
  const auto any = [&](PairVerdict v) {
    const auto is = [&](const ArmOutcome& c) { return c.verdict == v; };
    return std::any_of(heads.begin(), heads.end(), is) || std::any_of(rungs.begin(), rungs.end(), is);
  };
  if (!aa_complaint.empty()) return PairVerdict::no_verdict;
  for (const auto v : {PairVerdict::worse, PairVerdict::no_verdict, PairVerdict::better}) {
    if (any(v)) return v;
  }
  return PairVerdict::same;
}

Result<Outcome> run(const config::Config& config, const std::vector<targets::Target>& arms, const Options& options,
                    measure::Measurer& measurer, Clock& clock, Observer& observer) {
  if (arms.size() < 2) return fail(Code::usage, "compare needs a base and at least one head");
  if (options.ladder && arms.size() < 3)
    return fail(Code::usage, "a ladder needs a base and at least two candidates: compare BASE C1 C2 --ladder");
  return Run(config, options, measurer, clock, observer).go(arms);
}

}  // namespace nightgate::compare
