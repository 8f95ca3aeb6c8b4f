// The night, step by step:
//
//   find target -> nothing to do? -> machine fit? -> measure target and control (T C C T) -> store every sample
//   -> judge -> record -> bisect what tripped, within the night's time -> tell
//
// A crash at any step loses nothing that was measured: the same call made again goes on with the unfinished night.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/clock.hpp"
#include "gate/judging.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/targets/target.hpp"
#include "store/store.hpp"

namespace nightgate::nightly {

enum class End { nothing_to_do, judged, no_verdict };

struct Failure {
  std::string what;  // deployment.scenario, or what else failed
  std::string why;
  bool broken = false;  // the broker or the load broke (exit 3), not the conditions (exit 4)
};

// All that is to be said about a night.
struct Outcome {
  End end = End::judged;
  std::string message;  // one sentence: why nothing was done, or why there is no verdict
  store::Night night;
  measure::MachineInfo machine;
  targets::Target target;
  std::optional<targets::Merge> merge;  // where the target comes from a repository
  std::optional<targets::Target> control;
  std::vector<measure::Measurement> measurements;  // of the target
  std::vector<Failure> failures;
  judge::NightVerdict verdict;               // when judged
  std::vector<store::TripGroup> opened;      // tonight's trips
  std::vector<store::TripClosing> closed;    // repaired tonight
  std::vector<store::TripGroup> open_trips;  // everything red after tonight
  std::vector<std::string> cleaned;          // left-overs of a killed run
  std::vector<std::string> notes;            // announcements: new levels, a resumed night ...
  // By the table in design.md: 1 when anything is red, 3 when something broke, 4 without a full verdict, else 0.
  [[nodiscard]] int exit_code() const;
};

// Filled by the program: the night starts a bisect and tells people without knowing how.
class Bisecting {
 public:
  virtual ~Bisecting() = default;
  // Bisects the group's strongest metric until the deadline (monotonic time) and stores the answer with the trip.
  // An unfinished one goes on the next night. Returns one sentence for people.
  [[nodiscard]] virtual Result<std::string> bisect(const store::TripGroup& group,
                                                   std::chrono::nanoseconds deadline) = 0;
};
class Telling {
 public:
  virtual ~Telling() = default;
  virtual void step(std::string_view) {}                              // what happens now
  virtual void measured(const measure::Measurement&, store::Role) {}  // each start
  virtual Status tell(const Outcome&) { return {}; }                  // at the end: page, issue, status, webhook
};

struct Options {
  bool force = false;              // measure although nothing is new
  store::Sequence attempt_of = 0;  // measure that night once more
};
struct Parts {  // all borrowed
  const config::Config& config;
  targets::History* history;  // null: no repository
  targets::Finder& finder;
  measure::Measurer& measurer;
  store::Recorder& recorder;  // the store, or the spool while the database is away
  store::Store* store;        // null while the database is away: measured, not judged
  Clock& clock;
  Bisecting& bisecting;
  Telling& telling;
  measure::StopFlag stop;
};

// An error only where not even a night could be recorded (bad config, no store at all, stopped by the user).
[[nodiscard]] Result<Outcome> run(const Parts& parts, const Options& options);

}  // namespace nightgate::nightly
