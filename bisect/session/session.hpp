// A bisect, step by step: from a range of merges to the one that made a metric slower, resumable anywhere.
//
//   plan (merges, targets, expected cost) -> [pilot, when nothing is known of size and noise] -> blocks, each measured
//   back to back and stored start by start -> answer -> the group's other metrics checked at the culprit
//
// The state is a function of what is stored: the same bisect asked for again goes on where it was killed.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bisect/search/search.hpp"
#include "config/config.hpp"
#include "gate/base/clock.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/targets/target.hpp"
#include "store/store.hpp"

namespace nightgate::session {

// What is asked. Either a trip, or an unfinished bisect, or a range and a metric.
struct Request {
  std::int64_t trip = 0;
  std::int64_t resume = 0;
  std::string good, bad;  // commits, tags, dates, "night:N", "last-good"
  std::string metric;     // full name
  double error = 0.01;
  int max_measurements = 400;
  bool force = false;           // skip the reproduction check; the answer is marked unverified
  bool all = false;             // go on to further culprits when the first explains only part
  double shift = 0, noise = 0;  // log shift and noise as another bisect of the range left them; 0: to be found out
};

// A point of the range: the good end (0), then one per merge.
struct Point {
  targets::Merge merge;
  std::optional<targets::Target> target;
  std::string why_not;  // why there is no target
};

// Everything that stays the same for the whole bisect.
struct Plan {
  std::int64_t id = 0;
  std::string run;  // uuid
  std::int64_t trip = 0;
  std::string deployment, scenario, metric;  // metric: short name
  std::string full_metric;
  store::Better better = store::Better::higher;
  std::string unit;
  std::vector<Point> points;
  search::Problem problem;
  bool needs_pilot = false;  // shift, and noise where nothing is known of it, are measured first
  std::string noise_source;  // where problem.noise comes from, for people
  Instant started{};
};

// The group's other metrics at the named merge: a few fresh starts of it and of its parent.
struct AlsoChecked {
  std::string metric;
  double change = 0;   // negative: worse
  bool moved = false;  // beyond the gate's min_change, in the same direction
  std::string failure;
};

struct Outcome {
  Plan plan;
  search::Answer answer;
  std::vector<store::BisectStep> steps;
  std::vector<AlsoChecked> also;
  std::vector<std::int64_t> further;  // bisects of the parts left and right (--all)
  bool finished = false;              // false: out of time or stopped; the same call goes on
  std::string stopped_because;
  double minutes = 0;  // of measuring, all attempts together
  measure::MachineInfo machine;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void planned(const Plan&, int /*expected_measurements*/) {}
  virtual void block(const search::NextBlock&) {}
  virtual void measured(const Plan&, const store::BisectStep&) {}
  virtual void progress(const Plan&, const search::Progress&, double /*minutes_left*/) {}
  virtual void other_load(const std::string& /*load*/) {}  // of the trip: measured on both sides of the culprit now
};

struct Parts {  // all borrowed
  const config::Config& config;
  targets::History& history;
  targets::Finder& finder;
  measure::Measurer& measurer;
  store::Store& store;
  Clock& clock;
  Observer& observer;
  measure::StopFlag stop;
};

// Runs until there is an answer or the deadline (monotonic). Errors: Code::usage (unknown commit, good newer than bad,
// equal ends, unknown metric with near matches named), Code::not_found (trip or bisect id), Code::measure (nothing can
// be measured here). The answer goes to the store, and to the trip when there is one.
[[nodiscard]] Result<Outcome> run(const Parts& parts, const Request& request, std::chrono::nanoseconds deadline);

// Is the first the revert of the second? A message may hold the beginning of a sha only.
[[nodiscard]] bool reverts(const targets::Merge& revert, const targets::Merge& merge);
// The document of `bisect --json` (design.md), one line. Also what the store keeps as the answer.
[[nodiscard]] std::string answer_json(const Outcome& outcome);
// "culprit #123 'title' by A. Author (5d2f01c), 99.2 %, -34 %": one sentence for people, nights and issues.
[[nodiscard]] std::string one_sentence(const Outcome& outcome);

// ---- before anything is measured, and before the host's lock is taken ----
// What a request is checked against.
struct Desk {
  const config::Config& config;
  targets::History& history;
  std::string machine;            // whose nights "night:N" and "last-good" mean
  store::Store* store = nullptr;  // null: only what needs no store is checked
};
// Is the request one that could be carried out: ends that are commits in order, a metric that the config yields, a trip
// or bisect that exists? Cheap; asks no registry. Errors as of run().
[[nodiscard]] Status check_request(const Desk& desk, const Request& request);

// A plan's deployment, scenario and metric from its full name; the error names near matches. `store` may be null.
struct Cell {
  std::string deployment, scenario, metric;
};
[[nodiscard]] Result<Cell> find_metric(const config::Config& config, store::Store* store, const std::string& full_name);
// "night:12" and "last-good" (the newest night in which this metric was good) as commits; anything else unchanged.
[[nodiscard]] Result<std::string> look_up_end(const std::string& text, const std::string& metric,
                                              const std::string& project, const std::string& machine,
                                              store::Store& store);
[[nodiscard]] Result<std::string> commit_of_night(store::Store& store, const std::string& project,
                                                  const std::string& machine, store::Sequence sequence);

// sd of the log of one fresh start, as far as the store knows it for this machine and metric: by `check --noise`, else
// from the starts of the last nights. Nothing when it knows neither.
struct KnownNoise {
  double sd = 0;
  std::string source;  // "check --noise of 2026-11-30, 12 starts"
};
[[nodiscard]] Result<std::optional<KnownNoise>> known_noise(store::Store& store, const std::string& project,
                                                            const std::string& machine, const Cell& cell,
                                                            const std::string& full_metric);

// ---- parts of run(), public for tests ----
[[nodiscard]] Result<Plan> make_plan(const Parts& parts, const Request& request, const measure::MachineInfo& machine);
[[nodiscard]] std::string plan_json(const Plan& plan);
// Restores merges, metric and problem; targets are found again by the caller.
[[nodiscard]] Result<Plan> plan_from_json(const std::string& text);
// Shift, and noise unless it is known, from the pilot's steps (blocks below 0), four of them; false while there are
// fewer. `least_shift`: smaller ones are not looked for (the search finds down to 0.4 of what it is told).
bool apply_pilot(Plan& plan, const std::vector<store::BisectStep>& steps, double least_shift);

}  // namespace nightgate::session
