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
  int aa_pairs = 1;                  // base against base, before anything is judged
  int aa_retry_pairs = 2;            // and once more of the scenarios in which a metric differed from itself
  std::chrono::seconds aa_pause{5};  // before that: what disturbed the first may be over
  bool ladder = false;               // judge each arm against the one below it, too
  judge::PairRules rules;
  std::vector<std::string> scenarios;  // names; empty: all
  measure::StopFlag stop;              // somebody wants no more pairs; empty: never
};

// One measurement, in the order it was made.
struct Step {
  int arm = 0;    // 0 is base
  int pair = -1;  // below 0: A/A
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
// What is said of an arm against another one.
struct ArmOutcome {
  int arm = 1;
  int reference = 0;  // what it is judged against: base, or in a ladder the arm below
  judge::PairVerdict verdict = judge::PairVerdict::no_verdict;
  std::string reason;
  bool identical = false;              // the same digest: nothing is judged
  bool differs = false;                // the two answer differently: nothing is judged
  std::vector<MetricOutcome> metrics;  // gated ones, by name
  bool trade = false;                  // better in one metric and worse in another: shown as such, never netted
  double geometric_index = 100;        // over the judged rate-like metrics with matched pairs; NaN without any
};
struct Difference {  // an equivalence request that an arm answers otherwise than base
  int arm = 1;
  std::string where;  // deployment.scenario
  std::string request, base_body, head_body;
  int base_status = 0, head_status = 0;
};
struct Outcome {
  std::vector<targets::Target> arms;
  std::vector<ArmOutcome> heads;  // every arm against base
  std::vector<ArmOutcome> rungs;  // of a ladder: every arm from the second head on against the one below
  std::vector<Difference> differences;
  std::vector<Step> steps;
  std::vector<std::string> void_pairs;  // what happened in each
  std::string aa_complaint;             // no metric of base agreed with itself: nothing is judged
  bool aa_retried = false;
  int rounds = 0;
  int comparisons = 1;  // that share the error
  double minutes = 0;
  bool ladder = false;
  bool out_of_budget = false;
  bool stopped = false;  // on request
  // worse, else no_verdict, else better, else same; over the heads and the rungs.
  [[nodiscard]] judge::PairVerdict verdict() const;
};

// What a person sees while it runs.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void measured(const Step&) {}
  virtual void differs_from_itself(const std::vector<std::string>&) {}  // metrics; another A/A follows
  virtual void round(int, const Outcome&) {}
};

// Code::measure when base, or the only head, can't be measured at all (three failures in a row) or the run was stopped
// before its first pair was whole; Code::usage for a vacuous equivalence check or a scenario that does not exist.
// Everything else is an Outcome.
[[nodiscard]] Result<Outcome> run(const config::Config& config, const std::vector<targets::Target>& arms,
                                  const Options& options, measure::Measurer& measurer, Clock& clock,
                                  Observer& observer);

}  // namespace nightgate::compare
