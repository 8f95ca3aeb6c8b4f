// Measuring a night: target and control alternate start by start (T C C T), every start is stored before the next.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gate/nightly.hpp"

namespace nightgate::nightly {

// One deployment under one scenario, with what its numbers depend on.
struct Cell {
  const config::Deployment* deployment;
  const config::Scenario* scenario;
  std::string definition;  // hash
  [[nodiscard]] std::string name() const { return deployment->name + "." + scenario->name; }
};
// Every combination that the config asks for; stores the definitions' texts.
[[nodiscard]] Result<std::vector<Cell>> cells_of(const Parts& parts);
// One fingerprint of them all and of what is measured beside the target.
[[nodiscard]] std::string fingerprint(const std::vector<Cell>& cells);

// The control's arm that opens the night: itself against itself. Never a control of the judge's.
inline constexpr int self_arm = 1;

struct Measured {
  std::vector<measure::Measurement> target, control;
  std::vector<measure::Measurement> self;  // A/A: two starts of the control, before anything else
  std::vector<Failure> failures;           // one per cell at most
};
// Measures what is not in `outcome.night`'s run yet. `deadline` is monotonic: cells beyond it fail with "out of time".
// Errors: the store can't take a measurement, or the user stopped.
[[nodiscard]] Result<Measured> measure_all(const Parts& parts, const Outcome& outcome, const std::vector<Cell>& cells,
                                           std::chrono::nanoseconds deadline);

// "A/A of the control: d.s.rate 1.2 % apart, ..."; empty where it was not measured.
[[nodiscard]] std::string self_note(const std::vector<measure::Measurement>& self);

// What the judge gets: per gated metric the median over the starts, the control's beside it; cells that failed and
// metrics that the last judged night had (under the same definition) and tonight has not are `missing` by name.
[[nodiscard]] judge::NightInput readings_of(const Outcome& outcome, const std::vector<Cell>& cells,
                                            const Measured& measured, const std::optional<judge::NightInput>& last);
// What failed before anybody knew its figures' names (a first night) is missing by the name that it will have, so that
// the night never looks whole: the rate of wrk and the open loop, what the config declares of a command, else the cell.
void add_unnamed(judge::NightInput& input, const std::vector<Cell>& cells, const std::vector<Failure>& failures,
                 std::vector<store::MetricInfo>& infos);

}  // namespace nightgate::nightly
