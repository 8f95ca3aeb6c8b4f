// Inside the judge: the memory of one series and the judgement of one night of it. Others use gate.hpp.
//
// x = log value, larger is worse, with tonight's machine and the machine class taken out. d = x - baseline.
#pragma once
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gate/judge/gate.hpp"
#include "gate/judge/stats.hpp"

namespace nightgate::judge {

inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// A level: the stretch of nights that share a baseline.
struct Level {
  SortedRing window;                // x of the accepted nights
  std::deque<std::int64_t> nights;  // machine night numbers of those, for the same-digest rule
  std::vector<double> first;        // x of its first nights, until the pinned baseline is set
  double pinned = no_number;
  int accepted = 0;     // nights accepted on it, counted up to what anybody asks for
  int pinned_hold = 0;  // accepted nights running beyond the pinned threshold
  NightRef last_accepted;
};

// A night that still can be evidence.
struct Evidence {
  NightRef night;
  NightRef good_before;  // last accepted night before it
  double x = 0;
  double d = 0;       // as judged in its night
  bool held = false;  // not accepted
};

struct OpenTrip {
  Trip trip;
  Level old;
  double size = 0;   // log, > 0: working level - old baseline
  int age = 0;       // judged nights since
  int good_run = 0;  // good nights running, min_gap_hours apart
  NightRef last_good_run;
  std::vector<double> good_x;  // of those nights: they enter the old level when the trip closes
};

struct RecentGain {
  Level old;
  double size = 0;  // log, > 0
  int age = 0;
};

struct Excursion {
  std::int64_t night = 0;  // judged-night number of the series
  double amplitude = 0;    // log, > 0
};

// A night that measured an unchanged target elsewhere than its level: the machine or its surroundings moved.
struct ShiftedNight {
  NightRef night;
  std::int64_t number = 0;
  double x = 0;
  double d = 0;
};

struct Run {  // consecutive nights beyond the bare threshold on one side
  int sign = 0;
  int length = 0;
  double smallest = 0;
};

struct ControlLink {
  std::string digest;
  double reference = 0;  // log of this control on the machine as it usually is
};

struct ClassOffset {
  std::int64_t id = 0;    // hash of the class name
  std::int64_t last = 0;  // judged-night number, to drop the longest unseen
  double offset = 0;      // x = ... - offset
  bool usable = false;    // enough nights to judge by
  bool fixed = false;     // no longer learning
  std::vector<double> learning;
};

struct Series {
  std::string metric;
  Better better = Better::higher;
  std::string definition;
  double reference = 0;  // log of the first value: x is kept relative to it, so that numbers stay short
  bool warm = false;     // past its warm-up
  std::int64_t judged = 0;
  int warm_up = 0;   // nights of warm-up under the rules of the last night
  double sigma = 0;  // noise of the last judged night, for the summary
  NightRef last_seen;
  Level level;
  SortedRing residuals;       // d of accepted nights, across levels
  double spread = no_number;  // of the residuals; NaN: to be worked out again
  SortedRing steps;           // |difference of neighbouring residuals|
  SortedRing tail;            // d of all nights that did not become a new level
  SortedRing recent;          // x of the last nights on whatever level, to see whether it alternates between two
  double last_residual = no_number;
  double last_x = no_number;  // of the last night that was not ambiguous
  std::deque<Evidence> evidence;
  std::vector<OpenTrip> open;  // oldest first
  std::optional<RecentGain> gain;
  std::vector<Excursion> excursions;
  std::vector<ShiftedNight> shifted;  // since the last night that was judged
  Run run;
  std::optional<NightRef> suspect_since;
  std::string unfit_reason;  // not empty: set aside
  std::vector<ControlLink> controls;
  std::vector<ClassOffset> classes;
};

struct Thresholds {
  double sigma = 0;
  double inflation = 1;
  double flap = 0;
  double bare = 0;  // without tail, inflation and flap: what starts an excursion
  std::array<double, Numbers::max_lines> worse{};
  std::array<double, Numbers::max_lines> better{};
  double lowest_worse = 0;  // +inf while every line sleeps
  double lowest_better = 0;
  double pinned = 0;
};

Series make_series(const Reading& reading, const Rules& rules);
// Forgets the level and everything measured against it, keeps what is known about noise. x of tonight becomes its first
// night.
void restart_level(Series& series, const Rules& rules);
Level make_level(const Rules& rules);
Thresholds thresholds(Series& series, const Rules& rules);
bool has_baseline(const Series& series);
double noise_of(Series& series, const Rules& rules);  // sigma of one night, log
// Lets the memories have the sizes the rules ask for.
void fit_memory(Series& series, const Rules& rules);

// Tonight as a series sees it: the machine is already out.
struct SeriesNight {
  NightRef night;
  std::int64_t number = 0;  // of the machine's nights
  double x = 0;
  bool same_digest = false;      // an accepted night of this level had the same digest
  bool class_unsettled = false;  // the machine class is new to this series: no trip can be told from it
};
// Judges, remembers, and fills verdict, state, reason, suspect_since, trip, nights_left and numbers of `out`.
void judge_night(Series& series, const SeriesNight& tonight, const Rules& rules, MetricVerdict& out);

// The state as others see it.
SeriesState state_of(const Series& series);
double change_of(Better better, double d);  // log difference -> s x (ratio - 1)

}  // namespace nightgate::judge
