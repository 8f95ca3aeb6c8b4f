// What the store keeps, as plain values. Everything is named by natural keys (project, machine, sequence, uuid ...);
// the database's own numbers never leave the room, except the short ids that people type (trip, bisect, ledger).
// Texts called JSON are one valid JSON document, or empty. Doubles that aren't known are NaN.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bisect/search/search.hpp"
#include "gate/base/clock.hpp"
#include "gate/judge/gate.hpp"

namespace nightgate::store {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
using Sequence = std::int64_t;                                            // of a night, per project and machine
inline constexpr Sequence oldest = std::numeric_limits<Sequence>::min();  // "after oldest" = from the first one on
inline constexpr Sequence newest = std::numeric_limits<Sequence>::max();  // "before newest" = from the last one on

struct Machine {
  std::string name;           // key
  std::string machine_class;  // CPU model, cores, SMT; may change (each run keeps its own)
  std::string details;        // JSON
};

struct Target {        // key: project, commit, digest
  std::string commit;  // may be empty
  std::string digest;  // never empty
  std::string label, title, author;
  int pr = 0;  // 0: not known
};

// Texts in the database; do not rename.
enum class RunKind { night, compare, bisect, release, single };
enum class RunState { running, done, failed };
struct Run {
  std::string uuid;  // key; made by whoever starts it
  RunKind kind = RunKind::single;
  std::string project, machine, machine_class;
  Instant started{};
  std::string version;     // nightgate's
  std::string settings;    // JSON: flags, configuration, placement
  std::string conditions;  // JSON: boot id, kernel, engine, load at the start
  RunState state = RunState::running;
  std::optional<Instant> ended;
  std::string result;  // JSON: what compare, release and single runs say at the end
};

enum class Role { target, control, arm, probe };
enum class Better { higher, lower };
struct MetricInfo {  // key: project, name
  std::string name;  // full: deployment.scenario.metric
  std::string unit;
  Better better = Better::higher;
  bool gated = true;
};

struct Repeat {  // key: its measurement, number, attempt
  int number = 0, attempt = 0;
  bool voided = false;
  std::string void_reason;
  Instant begin{}, end{};
  std::map<std::string, double> samples;     // short metric name -> value
  std::map<std::string, double> conditions;  // name -> value
};
struct MeasuredValue {  // of one measurement
  double median = unknown;
  double low = unknown, high = unknown;  // smallest and largest valid repeat
  int repeats = 0;                       // valid ones
};
// One start with its repeats: stored whole or not at all. Key: run, deployment, scenario, role, arm, start.
struct Measurement {
  std::string run, deployment, scenario;
  Role role = Role::target;
  int arm = 0;  // compare: 0 = base, 1 = head ...; bisect: the point; else 0
  int start = 0;
  Target target;
  std::string definition;            // hash; its text is put once with put_definition
  std::vector<MetricInfo> metrics;   // unit and direction of everything in `repeats`
  std::vector<Repeat> repeats;       // empty again once retention has folded it
  std::string no_verdict, log_tail;  // why there is no number; the broker's last lines
  std::map<std::string, MeasuredValue>
      values;  // short metric name -> value; filled by the store from the valid repeats
  bool folded = false;
};

// measuring: begun, maybe killed; measured: every sample and reading is in; judged: verdicts are in.
enum class NightState { measuring, measured, judged, no_verdict };
struct Night {  // key: project, machine, sequence; `run` names its current attempt
  std::string project, machine;
  Sequence sequence = 0;  // 0: not known yet (the store is away and the night is in the spool)
  Instant started{};      // of the first attempt
  int attempt = 1;
  std::string run;
  std::string machine_class;
  std::optional<Target> target;
  std::string definition;  // fingerprint of all definitions together, for "nothing to do?"
  NightState state = NightState::measuring;
  std::string reason;          // of no_verdict, or of an environment suspect
  bool environment = false;    // judged, but the whole night is environment suspect
  bool open_question = false;  // a suspicion, warm-up, unconfirmed gain or recovery is open after it
  bool voided = false;
  std::string void_reason;
  bool resumed = false;   // begin_night only: this is an unfinished night to be continued
  bool imported = false;  // medians without samples
  // Another number whenever the night's row was written since (judged again, voided, a further attempt). Only good for
  // comparing with what the same database said before.
  std::int64_t revision = 0;
};

// A metric's verdict in one night. Key: night, metric.
struct Verdict {
  std::string metric;
  std::string verdict;  // judge::name(Verdict)
  std::string state;    // judge::name(SeriesState)
  std::string reason;
  double value = unknown, baseline = unknown, change = unknown;
  bool red = false;
  int nights_left = 0;
  std::optional<Sequence> suspect_since;
  std::string explanation;  // JSON: the numbers that caused it
};

enum class TripState { open, recovered, accepted, withdrawn };  // withdrawn: a later re-judgement did not confirm it
struct Trip {                                                   // key: group, metric
  std::string metric;
  std::string kind;  // judge::name(TripKind)
  double change = unknown, baseline = unknown, level = unknown;
  Sequence tripped = 0;  // night
  TripState state = TripState::open;
  std::optional<Sequence> closed;  // night that closed it
};
// Metrics that fell in the same night. Key: project, machine, first; a metric that trips later on evidence that begins
// in the same night joins the group.
struct TripGroup {
  std::int64_t id = 0;  // what people type; given by the store
  std::string project, machine;
  Sequence first = 0;      // first night of the evidence: bad end of a bisect
  Sequence last_good = 0;  // good end
  Sequence tripped = 0;
  std::vector<Trip> trips;  // strongest first
  bool open = true;         // any of its trips
  std::int64_t bisect = 0;  // 0: none yet
  std::string answer;       // JSON of the bisect's answer
};

// What judging a night adds, stored in one transaction; a second judgement of the night replaces the first.
struct TripClosing {
  std::string metric;
  TripState state = TripState::recovered;
};
struct Judgement {
  std::string run;  // names the night
  std::vector<Verdict> verdicts;
  std::string snapshot;             // GateState::save() after the night; empty: none is kept of it
  std::vector<TripGroup> opened;    // id, open, bisect, answer unused
  std::vector<TripClosing> closed;  // trips of earlier nights that this night closes
  bool environment = false, open_question = false;
  std::string reason;
};

struct Snapshot {
  Sequence sequence = 0;  // of the night it was taken after
  std::string text;
};
struct StoredInput {  // a night as the judge gets it
  std::string run;
  judge::NightInput input;
};

enum class DecisionKind { accept, void_night, alias, pin, undo };
struct Decision {  // key: project, machine, kind, metric, night, at
  std::int64_t id = 0;
  DecisionKind kind = DecisionKind::accept;
  std::string project;
  std::string machine;  // empty: all (alias, pin)
  std::string metric;   // accept, alias (the old name); may be empty
  Sequence night = 0;   // void_night: which; accept, pin: the last judged night when it was decided
  std::string detail;   // alias: the new name; pin: the release
  std::string reason, who;
  Instant at{};
  bool undone = false;
};

enum class BisectState { running, finished, abandoned };
struct Bisect {         // key: run (of its first start)
  std::int64_t id = 0;  // what people type; given by the store
  std::string run, project, machine, metric;
  std::int64_t trip = 0;  // trip group; 0: asked for by a person
  std::string good, bad;  // commits
  std::string problem;    // JSON: the search's parameters, merges and their targets
  BisectState state = BisectState::running;
  std::string answer;  // JSON; also the answer so far
  Instant started{};
  std::optional<Instant> ended;
};
struct BisectStep {          // key: bisect, seen.block, seen.machine, seen.order
  search::Observation seen;  // value: log, larger is worse
  double value = unknown;    // in the metric's unit
  std::string commit, digest;
  std::string failure;  // why there is no value
  std::string machine;  // name
  std::string run;      // its samples: role probe, arm = point
  Instant at{};
};

struct LedgerEntry {         // key: project, run, label
  std::int64_t id = 0;       // given by the store
  std::string project, run;  // run may be empty: tried elsewhere, or never run
  std::string label, note;
  Instant at{};
  std::string base, head;  // commits or labels
  std::string result;      // JSON
  std::string verdict;     // candidate, kept, dropped, superseded, inconclusive, never_run
  std::string why;
  std::string superseded_by;
};
struct LedgerChange {
  std::int64_t entry = 0;
  std::string verdict, why, superseded_by, who;
  Instant at{};
};

enum class Delivery { pending, sent, dropped };
struct Notification {  // key: project, kind, key
  std::string project;
  std::string kind;  // "issue", "comment", "status", "webhook", "hook" ...
  std::string key;   // what it is about: "trip-12"
  std::string body;  // JSON
  Delivery state = Delivery::pending;
  int tries = 0;
  Instant created{};
  std::optional<Instant> not_before;  // next try
  std::string last_error;
  std::string result;  // JSON: issue number and the like, kept for the next update
};

struct Noise {  // key: project, machine, metric, at
  std::string metric;
  Instant at{};
  std::string machine_class, definition;
  int starts = 0, repeats = 0;
  double within = unknown, between = unknown, drift = unknown;  // sd of the log: in a start, between starts; per hour
  std::string details;                                          // JSON
};

// One night of a series, with what was said about it.
struct SeriesPoint {
  Sequence sequence = 0;
  Instant started{};
  std::string run, commit, digest, machine_class, definition;
  double value = unknown;  // NaN: missing that night
  double baseline = unknown, change = unknown;
  std::string verdict, reason;  // verdict empty: not judged
  bool red = false, voided = false;
};

// The same, without what belongs to the night: for pages that show many nights of many metrics.
struct HistoryPoint {
  Sequence sequence = 0;
  double value = unknown, baseline = unknown, change = unknown;
  std::string verdict, reason;
  std::string definition;  // its first 12 characters
  bool red = false;
  int nights_left = 0;
};
struct MetricHistory {
  std::string metric;
  std::vector<HistoryPoint> points;  // oldest first
};

}  // namespace nightgate::store
