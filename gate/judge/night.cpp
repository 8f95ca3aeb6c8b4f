// One night: who is who, tonight's machine, then each series.

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "gate/judge/classes.hpp"
#include "gate/judge/levels.hpp"
#include "gate/judge/machine.hpp"
#include "gate/judge/state.hpp"

namespace nightgate::judge {
namespace {
using Impl = GateState::Impl;

double rounded(double x) { return std::round(x * 1e8) / 1e8; }  // keeps the snapshot short; far below any noise

// A reading on its way to a verdict.
struct Work {
  std::size_t series = Impl::none;
  double y = 0;        // log on the series' scale, raw
  double control = 0;  // log of the control against its reference
  bool controlled = false;
  bool control_lost = false;  // the series has a control, tonight none that is known
  bool restart = false;       // a new level begins
  std::string why_restart;
  std::string refused;  // no verdict, and why
};

double oriented_log(Better better, double value) {
  return better == Better::higher ? -std::log(value) : std::log(value);
}

void reset(MetricVerdict& v) {
  v.metric.clear();
  v.verdict = Verdict::no_verdict;
  v.state = SeriesState::warming_up;
  v.reason.clear();
  v.value = v.baseline = v.change = no_number;
  v.red = false;
  v.nights_left = 0;
  v.suspect_since.reset();
  v.trip.reset();
  v.numbers = Numbers{};
}

class Night {
 public:
  Night(Impl& state, const NightInput& input, const Rules& rules, NightVerdict& out)
      : state_(state), input_(input), rules_(rules), out_(out), class_(state, input.machine_class) {}

  void judge() {
    out_.night = input_.night;
    out_.environment_suspect = false;
    out_.reason.clear();
    out_.machine = {};
    out_.groups.clear();
    out_.any_open_question = false;
    out_.metrics.resize(input_.readings.size());
    if (state_.any_night && input_.night.sequence <= state_.last.sequence) return refuse_order();
    const NightRef before = state_.any_night ? state_.last : NightRef{};
    state_.any_night = true;
    state_.last = input_.night;
    ++state_.number;
    find_series();
    estimate();
    find_same_digest();
    for (std::size_t i = 0; i < work_.size(); ++i) judge_reading(i);
    remember_digest();
    add_missing(before);
    group_trips();
  }

 private:
  void refuse_order();
  void find_series();
  void read_controls(Work& work, const Reading& reading);
  void estimate();
  void find_same_digest();
  void judge_reading(std::size_t i);
  bool correct(Work& work, const Reading& reading, double& x, MetricVerdict& out);
  void link_controls(Series& series, const Reading& reading, double machine);
  void remember_digest();
  void add_missing(const NightRef& before);
  void add_silent(std::string_view metric, std::string reason, const Series* series);
  void not_good_by_luck(MetricVerdict& out) const;
  void close_verdict(const Series& series, MetricVerdict& out);
  bool measured_before(const Series& series) const;
  void group_trips();
  MachineEstimate vote(bool settled_only);

  Impl& state_;
  const NightInput& input_;
  const Rules& rules_;
  NightVerdict& out_;
  ClassTonight class_;
  std::vector<Work> work_;
  std::vector<bool> read_;                 // by series: has a reading tonight
  std::vector<std::int64_t> same_digest_;  // numbers of earlier nights with tonight's digest
};

void Night::refuse_order() {
  out_.reason = "this night is not after the last one judged; judge again from the state kept before it";
  for (std::size_t i = 0; i < input_.readings.size(); ++i) {
    reset(out_.metrics[i]);
    out_.metrics[i].metric = input_.readings[i].metric;
    out_.metrics[i].value = input_.readings[i].value;
    out_.metrics[i].reason = out_.reason;
  }
}

void Night::find_series() {
  work_.resize(input_.readings.size());
  read_.assign(state_.series.size(), false);
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const Reading& reading = input_.readings[i];
    Work& work = work_[i];
    if (!(reading.value > 0) || !std::isfinite(reading.value)) {
      work.refused = "the value is not a positive number";
      continue;
    }
    work.series = state_.find(reading.metric, i);
    const double log_value = oriented_log(reading.better, reading.value);
    if (work.series == Impl::none) {
      Series fresh = make_series(reading, rules_);
      fresh.reference = log_value;
      work.series = state_.add(std::move(fresh));
      read_.push_back(false);
    }
    if (read_[work.series]) {
      work.refused = "the metric has a second value tonight";
      continue;
    }
    read_[work.series] = true;
    Series& s = state_.series[work.series];
    fit_memory(s, rules_);
    work.y = log_value - s.reference;
    const bool other = !reading.definition.empty() && !s.definition.empty() && reading.definition != s.definition;
    if (other || reading.better != s.better) {
      work.restart = true;
      work.why_restart = "measured differently from tonight on (another definition): a new level begins";
    }
    read_controls(work, reading);
  }
  state_.order.resize(work_.size());
  for (std::size_t i = 0; i < work_.size(); ++i) state_.order[i] = work_[i].series;
}

void Night::read_controls(Work& work, const Reading& reading) {
  const Series& s = state_.series[work.series];
  double sum = 0;
  int known = 0;
  for (const ControlValue& c : reading.controls) {
    if (!(c.value > 0) || !std::isfinite(c.value)) continue;
    for (const ControlLink& link : s.controls) {
      if (link.digest != c.digest) continue;
      sum += oriented_log(reading.better, c.value) - link.reference;
      ++known;
    }
  }
  work.controlled = known > 0;
  if (known > 0) work.control = sum / known;
  work.control_lost = known == 0 && !s.controls.empty();
}

// One witness of several: the one in the middle.
static MachineVote middle_of(std::vector<MachineVote>& members) {
  const auto middle = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
  std::nth_element(members.begin(), middle, members.end(),
                   [](const MachineVote& a, const MachineVote& b) { return a.slow < b.slow; });
  return *middle;
}

MachineEstimate Night::vote(bool settled_only) {
  std::vector<MachineVote> votes;
  votes.reserve(work_.size());
  std::map<std::pair<std::string_view, bool>, std::vector<MachineVote>> grouped;
  const auto add = [&](std::size_t i, const MachineVote& said) {
    const std::string& group = input_.readings[i].group;
    group.empty() ? votes.push_back(said) : grouped[{group, work_[i].controlled}].push_back(said);
  };
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const Work& work = work_[i];
    if (work.series == Impl::none || !work.refused.empty() || work.restart) continue;
    Series& s = state_.series[work.series];
    if (!has_baseline(s)) continue;
    const double sigma = noise_of(s, rules_);
    if (work.controlled) {
      add(i, {work.control, 0, false, sigma});  // a control has no change of the code in it
      continue;
    }
    if (settled_only && !class_.settled(s)) continue;
    const double y = work.y - class_.offset(s);
    const bool has_fast = !std::isnan(s.last_x);
    add(i, {y - s.level.window.median(), has_fast ? y - s.last_x : 0, has_fast, sigma});
  }
  for (auto& [group, members] : grouped) votes.push_back(middle_of(members));
  return estimate_machine(votes, rules_);
}

void Night::estimate() {
  if (class_.first_night()) {
    const MachineEstimate all = vote(false);
    class_.begin(all.estimated && !all.ambiguous);
  }
  out_.machine = vote(!class_.anchored());
  // Where every series has its control nothing depends on this estimate.
  const bool needed = std::ranges::any_of(
      work_, [](const Work& work) { return work.series != Impl::none && work.refused.empty() && !work.controlled; });
  if (!out_.machine.ambiguous || !needed) return;
  out_.environment_suspect = true;
  out_.reason =
      "tonight's series moved apart in groups: a different machine and a change of the code can't be told apart; "
      "a control, or the machine class recorded, would tell";
}

void Night::find_same_digest() {
  if (input_.digest.empty()) return;
  for (const NumberedDigest& d : state_.digests) {
    if (d.digest == input_.digest) same_digest_.push_back(d.number);
  }
}

// Takes the machine out of y. False when there is no way to (verdict and reason are then set).
bool Night::correct(Work& work, const Reading& reading, double& x, MetricVerdict& out) {
  Series& s = state_.series[work.series];
  const bool has_control = !reading.controls.empty();
  const bool introduced = has_control && !work.controlled;
  const bool fresh = s.level.accepted == 0 && !s.warm;
  double machine = 0;
  if (work.controlled) {
    machine = work.control;
  } else if (out_.machine.ambiguous) {
    out.verdict = Verdict::environment_suspect;
    out.reason = out_.reason;
    return false;
  } else if (out_.machine.estimated) {
    machine = out_.machine.log_speed;
  } else if (introduced && !fresh && !work.restart) {
    work.restart = true;
    work.why_restart = "another control without a night in which both ran: a new level begins";
  } else if (work.control_lost && !has_control) {
    out.reason = "its control has no value tonight";
    return false;
  }
  if (work.restart) {
    restart_level(s, rules_);
    s.better = reading.better;
    s.reference = oriented_log(reading.better, reading.value);
    s.controls.clear();
    s.classes.clear();
    work.y = 0;
    if (!out_.machine.estimated || has_control) machine = 0;
  }
  if (!reading.definition.empty()) s.definition = reading.definition;
  link_controls(s, reading, machine);
  out.numbers.machine = machine;
  x = rounded(work.y - machine);
  return true;
}

void Night::link_controls(Series& s, const Reading& reading, double machine) {
  constexpr std::size_t most = 4;
  if (reading.controls.empty()) return;
  for (const ControlValue& c : reading.controls) {
    if (!(c.value > 0) || !std::isfinite(c.value) || c.digest.empty()) continue;
    const auto known = std::find_if(s.controls.begin(), s.controls.end(),
                                    [&](const ControlLink& link) { return link.digest == c.digest; });
    if (known != s.controls.end()) continue;
    if (s.controls.size() == most) s.controls.erase(s.controls.begin());
    s.controls.push_back({c.digest, oriented_log(reading.better, c.value) - machine});
  }
}

bool Night::measured_before(const Series& s) const {
  for (const std::int64_t n : same_digest_) {
    if (std::find(s.level.nights.begin(), s.level.nights.end(), n) != s.level.nights.end()) return true;
  }
  return false;
}

void Night::judge_reading(std::size_t i) {
  MetricVerdict& out = out_.metrics[i];
  reset(out);
  const Reading& reading = input_.readings[i];
  Work& work = work_[i];
  out.metric = reading.metric;
  out.value = reading.value;
  if (!work.refused.empty()) {
    out.reason = work.refused;
  } else {
    Series& s = state_.series[work.series];
    SeriesNight tonight{input_.night, state_.number, 0, false, false};
    if (correct(work, reading, tonight.x, out) && class_.take(s, tonight, rules_, out)) {
      tonight.same_digest = measured_before(s);
      judge_night(s, tonight, rules_, out);
      class_.learn(s, rules_, out);
      s.last_x = tonight.x;
      const double worse = reading.better == Better::higher ? out.numbers.residual : -out.numbers.residual;
      if (!std::isnan(out.change)) out.baseline = reading.value * std::exp(worse);
    }
    if (work.restart && s.level.accepted == 1) {
      out.verdict = Verdict::new_level;
      out.reason = work.why_restart;
    }
    not_good_by_luck(out);
  }
  if (work.series != Impl::none) close_verdict(state_.series[work.series], out);
}

// A series that nobody can judge yet (young, and wild) lets nearly everything pass: that is no "good".
void Night::not_good_by_luck(MetricVerdict& out) const {
  const Numbers& n = out.numbers;
  if (out.verdict != Verdict::good || n.lines == 0) return;
  if (!(n.residual > std::log1p(rules_.expert.luck_share * rules_.min_change))) return;
  out.verdict = Verdict::no_verdict;
  out.reason =
      "far from its baseline, but its nights differ so much that this says nothing yet; more nights or repeats, "
      "a control, or a CPU-per-request metric would help";
  out_.any_open_question = true;
}

// What is true after any verdict.
void Night::close_verdict(const Series& s, MetricVerdict& out) {
  out.state = state_of(s);
  out.red = !s.open.empty();
  if (!out.suspect_since) out.suspect_since = s.suspect_since;
  if (!out.trip && !s.open.empty()) out.trip = s.open.front().trip;
  switch (out.verdict) {
    case Verdict::suspect:
    case Verdict::recovery_pending:
    case Verdict::gain_pending:
    case Verdict::warming_up:
    case Verdict::new_level:
      out_.any_open_question = true;
      break;
    default:
      out_.any_open_question |= s.suspect_since.has_value();
  }
}

void Night::remember_digest() {
  constexpr std::size_t most = 120;
  if (input_.digest.empty()) return;
  state_.digests.push_back({state_.number, input_.digest});
  if (state_.digests.size() > most) state_.digests.pop_front();
}

void Night::add_silent(std::string_view metric, std::string reason, const Series* s) {
  MetricVerdict& out = out_.metrics.emplace_back();
  reset(out);
  out.metric = metric;
  out.reason = std::move(reason);
  if (s != nullptr) close_verdict(*s, out);
}

// Expected but not there; and what is red or suspected is never passed over.
void Night::add_missing(const NightRef& before) {
  for (const MissingReading& m : input_.missing) {
    const std::size_t found = state_.find(m.metric, Impl::none);
    if (found != Impl::none && read_[found]) continue;
    if (found != Impl::none) read_[found] = true;
    add_silent(m.metric, m.reason.empty() ? "no number tonight" : m.reason,
               found == Impl::none ? nullptr : &state_.series[found]);
  }
  for (std::size_t i = 0; i < state_.series.size(); ++i) {
    const Series& s = state_.series[i];
    if (read_[i]) continue;
    if (input_.as_the_night_before && s.last_seen == before) {
      add_silent(s.metric, "the night before has it, this one does not", &s);
    } else if (!s.open.empty() || s.suspect_since) {
      add_silent(s.metric, "no number tonight", &s);
    }
  }
}

void Night::group_trips() {
  struct Member {
    const MetricVerdict* verdict;
    double strength;
  };
  std::vector<Member> trips;
  for (const MetricVerdict& v : out_.metrics) {
    if (v.verdict != Verdict::trip) continue;
    trips.push_back({&v, std::abs(std::log(v.trip->level / v.trip->baseline)) / std::max(v.numbers.sigma, 1e-9)});
  }
  std::stable_sort(trips.begin(), trips.end(),
                   [](const Member& a, const Member& b) { return a.strength > b.strength; });
  for (const Member& m : trips) {
    const Trip& trip = *m.verdict->trip;
    const bool alone = trip.kind == TripKind::creep;  // has no night in which it fell
    auto group = std::find_if(out_.groups.begin(), out_.groups.end(),
                              [&](const TripGroup& g) { return !alone && !g.creep && g.first == trip.first; });
    if (group == out_.groups.end()) group = out_.groups.insert(group, {trip.first, trip.last_good, alone, {}});
    group->metrics.push_back(trip.metric);
    if (trip.last_good.sequence > group->last_good.sequence) group->last_good = trip.last_good;
  }
}
}  // namespace

void step(GateState& state, const NightInput& night, const Rules& rules, NightVerdict& out) {
  Night(state.impl(), night, rules, out).judge();
}

NightVerdict step(GateState& state, const NightInput& night, const Rules& rules) {
  NightVerdict out;
  step(state, night, rules, out);
  return out;
}
}  // namespace nightgate::judge
