// release, step by step: the new release against the last one in alternating pairs, then rounds of the new one alone
// until every scenario has enough fresh starts for an absolute figure.
//
// The caller holds the host's lock and has prepared the targets.
#pragma once

#include "gate/compare.hpp"

namespace nightgate::release {

struct Options {
  compare::Options compare;
  int rounds = 5;  // fresh starts of the new release behind each absolute figure, the pairs' among them
};
// A metric of the new release, gated or not.
struct Figure {
  std::string deployment, scenario, metric;  // metric: full name
  config::MetricInfo info;
  std::vector<double> values;  // a median per fresh start
};
struct Outcome {
  compare::Outcome compare;  // arms: the last release, the new one
  std::vector<Figure> figures;
  std::vector<std::string> failures;  // rounds that gave no figure
};

// Errors as compare::run. When the two can't be compared (the machine differs from itself, they answer differently) no
// further round is measured: figures are those of the pairs, if any.
[[nodiscard]] Result<Outcome> run(const config::Config& config, const targets::Target& from, const targets::Target& to,
                                  const Options& options, measure::Measurer& measurer, Clock& clock,
                                  compare::Observer& observer);

}  // namespace nightgate::release
