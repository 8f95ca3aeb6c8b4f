// compare, step by step: arms measured in alternating pairs on fresh starts until every metric is decided.
//
//   answers alike? -> base against itself (A/A) -> pairs A B, B A, ... -> judged after every round -> outcome
//
// Needs no store. The caller holds the host's lock and has prepared the targets.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/clock.hpp"
#include "gate/judge/pairs.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::compare {

struct Options {
  int max_pairs = 40;
  double max_minutes = 30;
  int aa_pairs = 1;  // base against base, before anything is judged
  judge::PairRules rules;
  std::vector<std::string> scenarios;  // names; empty: all
};

// One measurement, in the order it was made.
struct Step {
  int arm = 0;    // 0 is base
  int pair = -1;  // -1: A/A
  int side = 0;   // within an A/A pair: first or second
  measure::Measurement measurement;
  std::string failure;  // the broker broke or conditions were out of bounds; the pair is void
};

struct MetricOutcome {
  std::string scenario, deployment, metric;  // metric: full name
  config::MetricInfo info;
  judge::PairResult result;
  std::vector<double> base, head;  // the pairs, for the raw table
};
// Head arm `arm` against base.
struct ArmOutcome {
  int arm = 1;
  judge::PairVerdict verdict = judge::PairVerdict::no_verdict;
  std::string reason;
  std::vector<MetricOutcome> metrics;  // gated ones, in the order of the config
  bool trade = false;                  // better in one metric and worse in another: shown as such, never netted
  double geometric_index = 100;        // over the rate-like metrics with matched pairs, base = 100
};
struct Difference {  // an equivalence request that the arms answer differently
  std::string request, base_body, head_body;
  int base_status = 0, head_status = 0;
};
struct Outcome {
  std::vector<targets::Target> arms;
  std::vector<ArmOutcome> heads;
  std::vector<Difference> differences;
  std::vector<Step> steps;
  std::vector<std::string> void_pairs;  // what happened in each
  std::string aa_complaint;             // base differed from itself: nothing is judged
  int rounds = 0;
  double minutes = 0;
  bool out_of_budget = false;
  [[nodiscard]] judge::PairVerdict verdict() const;  // worse, else no_verdict, else better, else same
};

// What a person sees while it runs.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void measured(const Step&) {}
  virtual void round(int, const std::vector<ArmOutcome>&) {}
};

// Code::measure when an arm can't be measured at all (three failures in a row), Code::usage for a vacuous equivalence
// check or a scenario that does not exist. Everything else is an Outcome.
[[nodiscard]] Result<Outcome> run(const config::Config& config, const std::vector<targets::Target>& arms,
                                  const Options& options, measure::Measurer& measurer, Clock& clock,
                                  Observer& observer);

}  // namespace nightgate::compare
