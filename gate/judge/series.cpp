// One night of one series. The order of the questions is the rule: warm-up, environment, repaired?, settling, evidence,
// creep.
#include "gate/judge/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "gate/judge/levels.hpp"

namespace nightgate::judge {
namespace {
constexpr double never = std::numeric_limits<double>::infinity();

// Tonight against the level in force.
struct Tonight {
  const SeriesNight& night;
  const Rules& rules;
  Thresholds limits;
  double baseline = 0;
  double d = 0;
};

double bounded(double threshold, const Rules& rules) { return threshold < never ? threshold : rules.min_change; }

void count_excursion(Series& s, double amplitude, const Rules& rules) {
  const std::int64_t horizon = s.judged - rules.expert.flap_memory;
  std::erase_if(s.excursions, [&](const Excursion& x) { return x.night <= horizon; });
  s.excursions.push_back({s.judged, amplitude});
}

// Consecutive nights beyond the bare threshold; a run that ends without a new level is an excursion.
void follow_run(Series& s, const Tonight& t) {
  const int sign = t.d > t.limits.bare ? 1 : t.d < -t.limits.bare ? -1 : 0;
  if (sign != 0 && sign == s.run.sign) {
    ++s.run.length;
    s.run.smallest = std::min(s.run.smallest, std::abs(t.d));
    return;
  }
  if (s.run.length >= 2) count_excursion(s, s.run.smallest, t.rules);
  s.run = {sign, sign == 0 ? 0 : 1, std::abs(t.d)};
}

void remember_noise(Series& s, double exact) {
  const double d = std::round(exact * 1e8) / 1e8;  // keeps the snapshot short
  s.residuals.push(d);
  s.spread = no_number;
  s.tail.push(d);
}

void remember_step(Series& s, double exact) {
  const double d = std::round(exact * 1e8) / 1e8;
  if (!std::isnan(s.last_residual)) s.steps.push(std::abs(d - s.last_residual));
  s.last_residual = d;
}

void warm_up_night(Series& s, const SeriesNight& night, const Rules& rules, MetricVerdict& out) {
  take_into(s.level, night.x, night.night, night.number, rules);
  out.verdict = Verdict::warming_up;
  out.nights_left = std::max(0, rules.expert.warm_up - s.level.accepted);
  if (out.nights_left > 0) return;
  s.warm = true;
  const double baseline = s.level.window.median();
  for (std::size_t i = 0; i < s.level.window.size(); ++i) {
    remember_step(s, s.level.window.oldest(i) - baseline);
    remember_noise(s, s.level.window.oldest(i) - baseline);
  }
}

constexpr std::size_t most_evidence = 64;

std::int64_t gap_of(const Rules& rules) { return static_cast<std::int64_t>(rules.min_gap_hours * 3.6e9); }

struct Beyond {
  int nights = 0;
  bool unlike = false;  // enough nights, but too different in size to be one change
};

// The nights of a line that count, min_gap_hours apart; empty when the line isn't met tonight. side +1 worse, -1
// better.
std::vector<std::size_t> counted_nights(const Series& s, const EvidenceLine& line, double threshold, int side,
                                        const Tonight& t, Beyond& beyond) {
  beyond = {};
  std::vector<std::size_t> counted;
  const auto gap = gap_of(t.rules);
  const auto most = static_cast<std::size_t>(std::max(line.nights, 1));
  double smallest = never;
  double largest = 0;
  std::size_t looked_at = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = s.evidence.size(); i-- > 0 && looked_at < most;) {
    const double size = side * (s.evidence[i].x - t.baseline);
    const bool bad = size > threshold;
    const std::int64_t instant = s.evidence[i].night.instant;
    // A bad night too near to a counted one says nothing new; a good one always does.
    if (bad && !counted.empty() && last - instant < gap) continue;
    ++looked_at;
    if (!bad) continue;
    ++beyond.nights;
    last = instant;
    counted.push_back(i);
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  }
  std::reverse(counted.begin(), counted.end());
  const bool tonight_too = side * t.d > threshold;
  const bool enough = tonight_too && static_cast<int>(counted.size()) >= line.count;
  beyond.unlike = enough && smallest < line.agree * largest && smallest < line.alone * threshold;
  if (!enough || beyond.unlike) counted.clear();
  return counted;
}

// The first line met, and its counted nights; empty when none is.
std::vector<std::size_t> evidence(const Series& s, const Tonight& t, int side, MetricVerdict& out, TripKind& kind) {
  std::vector<std::size_t> found;
  bool unlike = false;
  const auto& lines = t.rules.expert.lines;
  for (std::size_t i = 0; i < std::min(lines.size(), Numbers::max_lines); ++i) {
    EvidenceLine line = lines[i];
    if (i == 0) line.count = line.nights = std::max(t.rules.trip_after, 2);
    const double threshold = side > 0 ? t.limits.worse[i] : t.limits.better[i];
    Beyond beyond;
    auto counted = counted_nights(s, line, threshold, side, t, beyond);
    if (side > 0) out.numbers.beyond[i] = beyond.nights;
    unlike = unlike || beyond.unlike;
    if (!found.empty() || counted.empty()) continue;
    kind = i == 0 ? TripKind::step : TripKind::slow;
    out.numbers.met = static_cast<int>(i);
    found = std::move(counted);
  }
  if (found.empty() && unlike) {
    out.reason = "enough nights, but too different in size to be one change; the next one decides";
  }
  return found;
}

void push_evidence(Series& s, const Tonight& t, bool held) {
  std::size_t keep = static_cast<std::size_t>(std::max(t.rules.expert.pinned_median, t.rules.trip_after));
  for (const EvidenceLine& line : t.rules.expert.lines) keep = std::max(keep, static_cast<std::size_t>(line.nights));
  s.evidence.push_back({t.night.night, s.level.last_accepted, t.night.x, t.d, held});
  // Where nights are nearer than min_gap_hours more of them are kept, so that enough are far enough apart.
  const auto gap = gap_of(t.rules);
  const auto far_enough = [&] {
    std::size_t apart = 1;
    std::int64_t last = s.evidence.back().night.instant;
    for (std::size_t i = s.evidence.size(); gap > 0 && i-- > 1;) {
      if (last - s.evidence[i].night.instant < gap) continue;
      last = s.evidence[i].night.instant;
      ++apart;
    }
    return gap <= 0 || apart >= keep || s.evidence.size() > most_evidence;
  };
  while (s.evidence.size() > keep &&
         far_enough()) {  // a bad night that led to nothing is one of this series' own worst nights
    if (s.evidence.front().held) remember_noise(s, s.evidence.front().d);
    s.evidence.pop_front();
  }
}

void accept_night(Series& s, const Tonight& t) {
  take_into(s.level, t.night.x, t.night.night, t.night.number, t.rules);
  remember_noise(s, t.d);
}

// Repaired? Oldest trip first: who is back on the oldest level has repaired everything since.
bool recovery(Series& s, const Tonight& t, MetricVerdict& out) {
  const double low_worse = bounded(t.limits.lowest_worse, t.rules);
  const double low_better = bounded(t.limits.lowest_better, t.rules);
  for (std::size_t i = 0; i < s.open.size(); ++i) {
    OpenTrip& open = s.open[i];
    const bool near_old = t.night.x - open.old.window.median() < std::max(0.4 * open.size, low_worse / 2);
    const bool left_bad = t.d < -0.5 * std::min(open.size, low_better);
    if (!near_old || !left_bad) {
      open.good_run = 0;
      open.good_x.clear();
      continue;
    }
    const auto gap = static_cast<std::int64_t>(t.rules.min_gap_hours * 3.6e9);
    if (open.good_run == 0 || t.night.night.instant - open.last_good_run.instant >= gap) {
      ++open.good_run;
      open.last_good_run = t.night.night;
    }
    open.good_x.push_back(t.night.x);
    out.trip = open.trip;
    if (open.good_run < t.rules.recover_nights) {
      out.verdict = Verdict::recovery_pending;
      return true;
    }
    count_excursion(s, open.size, t.rules);
    close_trips(s, i, t.night.night, t.night.number, t.rules);
    out.verdict = Verdict::recovered;
    return true;
  }
  return false;
}

std::vector<double> values_of(const Series& s, std::span<const std::size_t> counted) {
  std::vector<double> xs;
  for (const std::size_t i : counted) xs.push_back(s.evidence[i].x);
  return xs;
}

void trip(Series& s, const Tonight& t, std::span<const std::size_t> counted, TripKind kind, MetricVerdict& out) {
  const std::vector<double> xs = values_of(s, counted);
  const double size = median(xs) - t.baseline;
  const Evidence& first = s.evidence[counted.front()];
  Trip made{s.metric, kind, first.night, first.good_before, t.night.night, change_of(s.better, size), 0, 0};
  made.baseline = value_of(s, t.baseline);
  made.level = value_of(s, median(xs));
  out.trip = made;
  out.verdict = Verdict::trip;
  open_trip(s, made, size, counted, t.night.number, t.rules);
}

// Evidence on the worse side: back to the level before a gain, or a trip.
void worse_level(Series& s, const Tonight& t, std::span<const std::size_t> counted, TripKind kind, MetricVerdict& out) {
  const double level = median(values_of(s, counted));
  if (s.gain) {
    const double to_old = level - s.gain->old.window.median();
    if (to_old <=
        std::max(t.rules.expert.gain_lost_share * s.gain->size, bounded(t.limits.lowest_worse, t.rules) / 2)) {
      count_excursion(s, s.gain->size, t.rules);
      lose_gain(s, counted, t.night.night, t.night.number, t.rules);
      out.verdict = Verdict::gain_lost;
      return;
    }
  }
  trip(s, t, counted, kind, out);
}

void better_level(Series& s, const Tonight& t, std::span<const std::size_t> counted, MetricVerdict& out) {
  const double level = median(values_of(s, counted));
  const double slack = bounded(t.limits.lowest_worse, t.rules) / 2;
  for (std::size_t i = 0; i < s.open.size(); ++i) {
    if (level - s.open[i].old.window.median() >= std::max(0.4 * s.open[i].size, slack)) continue;
    out.trip = s.open[i].trip;
    s.open[i].good_x = values_of(s, counted);
    count_excursion(s, s.open[i].size, t.rules);
    close_trips(s, i, t.night.night, t.night.number, t.rules);
    out.verdict = Verdict::recovered;
    return;
  }
  out.verdict = Verdict::gain;
  out.change = change_of(s.better, level - t.baseline);
  out.suspect_since = s.evidence[counted.front()].night;
  move_to_gain(s, t.baseline - level, counted, t.night.number, t.rules);
}

// The median of the last nights and tonight beyond the pinned baseline, several accepted nights running.
bool creep(Series& s, const Tonight& t, MetricVerdict& out) {
  const ExpertRules& e = t.rules.expert;
  const auto need = static_cast<std::size_t>(std::max(e.pinned_median, 1));
  if (std::isnan(s.level.pinned) || s.evidence.size() < need) return false;
  if (!(t.night.x - s.level.pinned > t.limits.pinned)) {
    s.level.pinned_hold = 0;
    return false;
  }
  std::vector<std::size_t> last;
  for (std::size_t i = s.evidence.size() - need; i < s.evidence.size(); ++i) last.push_back(i);
  const double away = std::min(median(values_of(s, last)), t.night.x) - s.level.pinned;
  s.level.pinned_hold = away > t.limits.pinned ? s.level.pinned_hold + 1 : 0;
  if (s.level.pinned_hold < e.pinned_hold) return false;
  Tonight against_pinned = t;
  against_pinned.baseline = s.level.pinned;
  trip(s, against_pinned, last, TripKind::creep, out);
  return true;
}

void forget_old(Series& s, const Rules& rules) {
  for (OpenTrip& open : s.open) ++open.age;
  if (rules.forget_nights > 0) std::erase_if(s.open, [&](const OpenTrip& o) { return o.age > rules.forget_nights; });
  if (s.gain && ++s.gain->age > rules.expert.gain_memory) s.gain.reset();
}

void follow_suspicion(Series& s) {
  std::size_t recent = 0;
  const std::size_t n = s.evidence.size();
  const NightRef* first = nullptr;
  for (std::size_t i = 0; i < n; ++i) {
    if (!s.evidence[i].held || s.evidence[i].d < 0) continue;
    if (first == nullptr) first = &s.evidence[i].night;
    if (i + 4 >= n) ++recent;
  }
  const bool tonight = n > 0 && s.evidence.back().held && s.evidence.back().d > 0;
  s.suspect_since.reset();
  if (first != nullptr && (tonight || recent >= 2)) s.suspect_since = *first;
}

void fill_numbers(const Series& s, const Tonight& t, MetricVerdict& out) {
  Numbers& n = out.numbers;
  n.better = s.better;
  n.residual = t.d;
  n.baseline = t.baseline + s.reference;
  n.pinned = s.level.pinned + s.reference;
  n.pinned_threshold = t.limits.pinned;
  n.sigma = t.limits.sigma;
  n.inflation = t.limits.inflation;
  n.flap = t.limits.flap;
  n.baseline_nights = static_cast<int>(s.level.window.size());
  n.residuals = static_cast<int>(s.residuals.size());
  n.threshold = t.limits.worse;
  n.lines = static_cast<int>(std::min(t.rules.expert.lines.size(), Numbers::max_lines));
  out.change = change_of(s.better, t.d);
}

// Evidence, both sides; what is neither is accepted.
void weigh(Series& s, const Tonight& t, MetricVerdict& out) {
  const bool worse = t.d > t.limits.lowest_worse;
  const bool better = -t.d > t.limits.lowest_better;
  push_evidence(s, t, worse || better);
  remember_step(s, t.d);
  follow_run(s, t);
  const bool unfit = !s.unfit_reason.empty();
  TripKind kind = TripKind::step;
  if (worse || better) {
    const auto counted = evidence(s, t, worse ? 1 : -1, out, kind);
    if (!counted.empty() && unfit) {
      replace_level(s, counted, t.night.number, t.rules);
    } else if (!counted.empty()) {
      worse ? worse_level(s, t, counted, kind, out) : better_level(s, t, counted, out);
      return;
    } else {
      out.verdict = worse ? Verdict::suspect : Verdict::gain_pending;
    }
  } else {
    accept_night(s, t);
    if (!unfit && creep(s, t, out)) return;
    out.verdict = s.open.empty() ? Verdict::good : Verdict::red;
  }
  if (unfit) out.verdict = Verdict::unfit;
}

// Another target, but already the night before the unchanged one was there: so far from the level, and so near to it,
// that two causes of one size are less likely than one.
bool goes_on_shifted(const Series& s, const Tonight& t) {
  if (s.shifted.empty() || !s.open.empty()) return false;
  const ShiftedNight& last = s.shifted.back();
  const double limit = t.d > 0 ? t.limits.lowest_worse : t.limits.lowest_better;
  return last.d * t.d > 0 && std::abs(last.d) > 2 * limit && std::abs(t.night.x - last.x) < std::abs(last.d) / 4;
}

// The code did not do this. Once more far enough apart, and it is how things are now: a new level, no trip. What is red
// stays: its old level belongs to the machine as it was.
void shifted_night(Series& s, const Tonight& t, MetricVerdict& out) {
  const auto unlike = [&](const ShiftedNight& n) {
    const double small = std::min(std::abs(n.d), std::abs(t.d));
    return n.d * t.d < 0 || small < 0.6 * std::max(std::abs(n.d), std::abs(t.d));
  };
  if (std::ranges::any_of(s.shifted, unlike)) s.shifted.clear();
  s.shifted.push_back({t.night.night, t.night.number, t.night.x, t.d});
  const bool apart = t.night.night.instant - s.shifted.front().night.instant >= gap_of(t.rules);
  if (s.shifted.size() < 2 || !apart || !s.open.empty()) {
    constexpr std::size_t most = 64;  // red, or nights close together
    if (s.shifted.size() > most) s.shifted.erase(s.shifted.begin() + 1);
    out.verdict = Verdict::environment_suspect;
    out.reason = t.night.same_digest
                     ? "the same target measured differently before: the machine or its surroundings, not the code"
                     : "the same was measured before the target changed: the machine or its surroundings, not the code";
    return;
  }
  move_to_shifted(s, t.rules);
  out.verdict = Verdict::new_level;
  out.reason =
      "an unchanged target was measured there again: the machine or its surroundings changed; a new level begins";
}
}  // namespace

void judge_night(Series& s, const SeriesNight& night, const Rules& rules, MetricVerdict& out) {
  ++s.judged;
  s.last_seen = night.night;
  s.recent.push(night.x);
  if (!s.warm) return warm_up_night(s, night, rules, out);
  const double baseline = s.level.window.median();
  const Tonight t{night, rules, thresholds(s, rules), baseline, night.x - baseline};
  s.sigma = t.limits.sigma;
  fill_numbers(s, t, out);
  const bool beyond = t.d > t.limits.lowest_worse || -t.d > t.limits.lowest_better;
  if (beyond && (night.same_digest || goes_on_shifted(s, t))) return shifted_night(s, t, out);
  if (night.class_unsettled && beyond) {
    out.verdict = Verdict::warming_up;
    out.reason = "this machine class is new to the series; its usual figure here is still being learnt";
    return;
  }
  s.shifted.clear();
  forget_old(s, rules);
  update_fitness(s, t.limits, rules);
  if (!recovery(s, t, out)) {
    if (s.level.accepted < rules.expert.settle) {
      take_into(s.level, night.x, night.night, night.number, rules);
      out.verdict = s.open.empty() ? Verdict::good : Verdict::red;
    } else {
      weigh(s, t, out);
    }
  }
  follow_suspicion(s);
  if (out.verdict != Verdict::gain) out.suspect_since = s.suspect_since;
  if (out.verdict == Verdict::unfit) out.reason = s.unfit_reason;
  if (!out.trip && !s.open.empty()) out.trip = s.open.front().trip;
}

bool has_baseline(const Series& s) { return s.warm && !s.level.window.empty(); }

SeriesState state_of(const Series& s) {
  if (!s.open.empty()) return SeriesState::red;
  if (!s.warm) return SeriesState::warming_up;
  if (!s.unfit_reason.empty()) return SeriesState::unfit;
  return s.suspect_since ? SeriesState::suspect : SeriesState::steady;
}

double change_of(Better better, double d) { return better == Better::higher ? std::expm1(-d) : -std::expm1(d); }

}  // namespace nightgate::judge
