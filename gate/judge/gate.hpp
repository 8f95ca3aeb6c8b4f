// The gate: what is remembered about the series of one machine, and the verdict of one night.
//
//   GateState state;                                    // or GateState::load(text kept after the night before)
//   NightVerdict verdict = step(state, tonight, rules); // reads only the state and tonight, never the history
//   keep(verdict, state.save());                        // the state is bounded: its size follows the series, not the
//   nights
//
// One GateState per (project, machine). Pure: no clock, no I/O, no threads of its own, no exceptions thrown on purpose;
// the same input gives the same output to the last bit. A GateState may be used by one thread at a time.
//
// `void NIGHT` and `undo` are the caller's: take the state kept before that night and step through the later nights
// again, leaving the night (or the decision) out. Renamed metrics (aliases) are resolved by the caller before this
// room.
//
// Scales: values are in the metric's own unit and must be > 0 and finite. "change" is s x (value / reference - 1), s =
// +1 where higher is better and -1 where lower is better: negative is worse, everywhere. "log" figures are natural
// logarithms with the sign turned so that larger is worse.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nightgate::judge {

enum class Better { higher, lower };

// A night as others name it. `sequence` orders the nights of a machine; `instant` is microseconds since 1970 in UTC.
struct NightRef {
  std::int64_t sequence = 0;
  std::int64_t instant = 0;
  bool operator==(const NightRef&) const = default;
};

// The same metric of a control (a fixed old version measured in the same night). A new control overlaps the old one for
// a night: that night gives both values, and the judge links them. Without an overlap the series begins a new level.
struct ControlValue {
  std::string digest;  // of the control target; never empty
  double value = 0;
};

struct Reading {
  std::string metric;  // full name: deployment.scenario.metric
  Better better = Better::higher;
  std::string definition;  // fingerprint of what shapes the number; empty = not known (then never compared)
  double value = 0;
  std::vector<ControlValue> controls;  // none: no control tonight
  // Figures of one load (rate, p50, p99 ...) move together when the code changes: one group is one witness of the
  // machine, however many figures it has. Empty: a group of its own.
  std::string group = {};
};

struct MissingReading {
  std::string metric;
  std::string reason;  // why there is no number tonight, in words for a person
};

struct NightInput {
  NightRef night;
  std::string machine_class;  // CPU model, core count, SMT; empty = not known
  std::string digest;         // of the target; empty = not known (then the same-digest rule does not apply)
  std::vector<Reading> readings;
  std::vector<MissingReading> missing;  // expected tonight, but without a number
  // Nobody said what was expected (a history from elsewhere): the night before says it.
  bool as_the_night_before = false;
};

// One line of evidence: `count` of the last `nights` nights (tonight among them) beyond
// max(floor_share x min_change, sigmas x noise, tail x quantile of the series' own bad nights, flap memory).
struct EvidenceLine {
  int count = 2;
  int nights = 2;
  double floor_share = 1;
  double sigmas = 5;
  double tail = 1.3;
  double quantile = 1;
  int min_residuals = 5;  // the line sleeps until that many nights' residuals are known
  double agree = 0;       // smallest of the counted nights / largest, at least ...
  double alone = 2;       // ... unless the smallest is beyond this many thresholds by itself
};

// Defaults are the measured ones (README.md); change them only with the harness at hand.
struct ExpertRules {
  int warm_up = 6;             // nights before the first judgement of a level that has no past
  int residual_memory = 120;   // residuals behind the noise estimate
  int tail_memory = 60;        // nights behind the own-worst-nights threshold
  double prior_sigma = 0.008;  // noise of a series nobody knows yet, as if seen on prior_nights nights
  double prior_nights = 20;
  double inflation_slope = 1.6;  // noise counts 1 + slope x autocorrelation for evidence over more than two nights
  double inflation_max = 1.7;
  double young_nights = 32;  // with fewer residuals n the noise counts 1 + caution x (1/n - 1/young_nights)
  double young_clear = 6;    // caution for the first line
  double young_slow = 90;    // caution for the others
  std::vector<EvidenceLine> lines = {{2, 2, 1.0, 5.5, 1.3, 1.0, 5, 0.6},
                                     {4, 4, 0.65, 2.7, 1.1, 0.85, 10, 0},
                                     {4, 5, 0.8, 2.7, 1.1, 0.9, 20, 0},
                                     {5, 7, 0.5, 1.75, 1.1, 0.75, 20, 0}};
  double seen_before = 1.05;  // the first line needs this times the worst accepted night of the level
  int flap_memory = 60;       // nights an excursion is remembered
  int flap_count = 3;         // excursions needed before they raise the thresholds
  double flap_factor = 1.2;
  int settle = 3;  // nights of a new level taken as they are
  int pinned_nights = 15;
  double pinned_floor_share = 1.4;
  double pinned_sigmas = 2.75;
  double pinned_tail = 1.15;
  double pinned_quantile = 0.8;
  int pinned_median = 5;
  int pinned_hold = 3;
  int gain_memory = 8;            // nights in which a lost gain is not a regression
  double gain_lost_share = 0.3;   // of the gain, that may be missing from the way back to the old level
  double unfit_threshold = 0.25;  // a series that needs more than this (log) is set aside
  int unfit_residuals = 20;       // not said before that many are known
  double luck_share = 3;          // worse by more than this times min_change is never called good, however noisy
  int modes_memory = 120;         // nights in which a series is watched for alternating between two levels
  int modes_nights = 20;          // needed to tell
  int modes_switches = 4;         // between the two; a change and its repair are two
  double modes_apart = 0.08;      // log
  double modes_share = 0.15;      // of the nights, on either level at least
  double modes_explained = 0.9;   // of the variance, by the two levels (one bell: 0.64, flat: 0.75)
  double machine_bandwidth = 0.05;
  double machine_fast_weight = 0.5;
  double machine_rival = 0.6;
  double machine_share = 0.3;
  int machine_min_series = 3;
  int machine_min_ambiguity = 6;
};

struct Rules {
  int trip_after = 2;         // bad nights in a row that trip when the shift is clear
  double min_change = 0.05;   // 5 %: the floor of that clear case; the slower lines scale with it
  int window = 30;            // accepted nights behind the rolling baseline
  double min_gap_hours = 12;  // nights nearer than this to the last counted one add no evidence (0: every night counts)
  int recover_nights = 2;     // good nights that close a trip
  int forget_nights = 0;  // nights after which a trip's old level is forgotten and nobody is red any more (0: never)
  ExpertRules expert;
};
// Rules as `replay` uses them: nobody accepts there, so the old level is forgotten after 10 nights, one clear good
// night is a recovery, and every recorded night counts.
Rules replay_rules(Rules rules = {});

// Text forms are lower-case names ("warming_up"); they are persistent: do not rename.
enum class Verdict {
  good,
  suspect,              // worse than noise allows, not enough evidence yet; held out of the baseline
  trip,                 // a confirmed regression, new tonight
  red,                  // a trip of an earlier night is still open
  recovery_pending,     // red, and tonight looks repaired; another good night closes the trip
  recovered,            // the trip is closed by good nights
  gain_pending,         // better than noise allows, not confirmed
  gain,                 // confirmed: the level moves
  gain_lost,            // back to the level before a recent gain
  warming_up,           // not judged yet: see nights_left
  no_verdict,           // no number, or nothing to judge it by; see reason
  unfit,                // too noisy to gate; see reason
  environment_suspect,  // the machine, not the code, or they can't be told apart; see reason
  new_level,            // a new level begins (definition or control changed); never trips
  accepted              // for records of a person's decision; step() never gives it
};
enum class TripKind { step, slow, creep };
std::string_view name(Verdict);
std::string_view name(TripKind);

// State machine of one series (README.md has the picture):
//   warming_up -> steady -> suspect -> red -> steady; steady <-> suspect; any -> warming_up (new level);
//   steady <-> unfit. gain_pending is `steady` with open evidence upwards.
enum class SeriesState { warming_up, steady, suspect, red, unfit };
std::string_view name(SeriesState);

struct Trip {
  std::string metric;
  TripKind kind = TripKind::step;
  NightRef first;      // first night of its evidence = bad end of a bisect
  NightRef last_good;  // last accepted night before it = good end of a bisect
  NightRef tripped;
  double change = 0;
  double baseline = 0;  // level before, in the metric's unit
  double level = 0;     // level after
};

// The numbers behind a verdict. Log figures; NaN or 0 where they don't apply.
struct Numbers {
  static constexpr std::size_t max_lines = 6;
  Better better = Better::higher;
  double residual = 0;  // log(value) - machine - baseline; > 0 is worse
  double machine = 0;   // log of tonight's machine against its usual self; > 0 is slower
  double class_offset = 0;
  double baseline = 0;  // log
  double pinned = 0;    // log; NaN before it exists
  double pinned_threshold = 0;
  double sigma = 0;      // noise of one night
  double inflation = 1;  // of sigma, for evidence over more than two nights (bad nights cluster)
  double flap = 0;
  int baseline_nights = 0;
  int residuals = 0;
  std::array<double, max_lines> threshold{};  // per evidence line; +inf while the line sleeps
  std::array<int, max_lines> beyond{};        // nights of the line beyond its threshold, worse side
  int lines = 0;
  int met = -1;  // the line that tripped or confirmed a gain tonight; -1: none (a creep trip has none)
};

struct MetricVerdict {
  std::string metric;
  Verdict verdict = Verdict::no_verdict;
  SeriesState state = SeriesState::warming_up;  // after tonight
  std::string reason;   // why (no_verdict, unfit, environment_suspect, new_level ...) and what would help; else empty
  double value = 0;     // tonight's; NaN when missing
  double baseline = 0;  // expected tonight on tonight's machine, in the metric's unit; NaN when unknown
  double change = 0;    // of value against it; NaN when unknown
  bool red = false;     // an open trip after tonight, whatever tonight's verdict is
  int nights_left = 0;  // warming_up: nights still needed
  std::optional<NightRef> suspect_since;  // first held-out night of the open suspicion
  std::optional<Trip> trip;               // trip: the new one; red, recovery_pending, recovered: the one meant
  Numbers numbers;
};

// Metrics that fell in the same night and direction: one bisect, on the first.
struct TripGroup {
  NightRef first;
  NightRef last_good;                // newest last_good among the members
  bool creep = false;                // came slowly: has no night in which it fell, so it is not bisected by itself
  std::vector<std::string> metrics;  // strongest (largest change in units of its noise) first
};

struct MachineEstimate {
  double log_speed = 0;  // > 0: slower than usual
  int series = 0;        // that took part
  bool estimated = false;
  bool ambiguous = false;
  double share = 0;  // of all weight, at the peak
  double rival = 0;  // second peak / peak
};

struct NightVerdict {
  NightRef night;
  bool environment_suspect =
      false;  // the whole night: nothing of it entered the state (series with a control are still judged)
  std::string reason;
  MachineEstimate machine;
  std::vector<MetricVerdict> metrics;  // tonight's readings in their order, then the missing ones by name
  std::vector<TripGroup> groups;       // of tonight's trips
  bool any_open_question =
      false;  // a suspicion, warm-up, unconfirmed gain or recovery: measure again even if nothing merged
};

// Lines for `history --explain NIGHT`: name and number or word, in reading order.
std::vector<std::pair<std::string, std::string>> explain(const MetricVerdict& verdict, const Rules& rules);

struct SeriesSummary {
  std::string metric;
  SeriesState state = SeriesState::warming_up;
  int nights_left = 0;  // warming_up
  NightRef last_seen;
  std::optional<NightRef> suspect_since;
  std::vector<Trip> open_trips;  // oldest first
  std::string unfit_reason;
  double baseline = 0;  // in the metric's unit; NaN before there is one
  double sigma = 0;
};

class GateState {
 public:
  GateState();
  ~GateState();
  GateState(const GateState&);
  GateState(GateState&&) noexcept;
  GateState& operator=(const GateState&);
  GateState& operator=(GateState&&) noexcept;

  // Versioned text; load(save()) behaves the same to the last bit. load() of anything else (cut off, another version)
  // is empty: a failed read is no verdict, never an empty history.
  std::string save() const;
  static std::optional<GateState> load(std::string_view text);

  std::vector<SeriesSummary> summary() const;  // sorted by metric
  bool empty() const;                          // nothing was ever judged

  // People's decisions. Both say whether there was anything to do.
  // accept: open trips are closed as accepted and the working level becomes the level; an open suspicion becomes the
  // level.
  bool accept(std::string_view metric);
  // rename: the series `from` goes on under the name `to`; false when there is no `from` or `to` is taken.
  bool rename(std::string_view from, std::string_view to);
  // pin: a release was made; the pinned baseline of every series becomes tonight's rolling one.
  void pin();

  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Judges one night and remembers it. Nights come in order of their sequence; a night not after the last one judged is
// no verdict for every metric and changes nothing (re-judge from an older state instead).
NightVerdict step(GateState& state, const NightInput& night, const Rules& rules);
// The same, into a verdict whose memory is used again: for replaying many nights.
void step(GateState& state, const NightInput& night, const Rules& rules, NightVerdict& out);

}  // namespace nightgate::judge
