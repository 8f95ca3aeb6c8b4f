#include "gate/judge/classes.hpp"

#include <algorithm>

#include "gate/judge/levels.hpp"

namespace nightgate::judge {
namespace {
constexpr std::size_t most_classes = 8;  // per series; the longest unseen is forgotten
constexpr std::size_t most_seen = 32;    // per machine
constexpr std::size_t learning_nights = 15;

template <typename List>
void drop_oldest(List& list, std::size_t most) {
  if (list.size() < most) return;
  list.erase(std::min_element(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.last < b.last; }));
}
}  // namespace

ClassTonight::ClassTonight(GateState::Impl& state, const std::string& machine_class) : state_(state) {
  if (machine_class.empty()) return;
  id_ = stable_hash(machine_class);
  for (SeenClass& seen : state.classes) {
    if (seen.id != id_) continue;
    seen.last = state.number + 1;
    known_ = true;
    anchored_ = seen.anchored;
  }
}

bool ClassTonight::first_night() const { return id_ != 0 && !known_; }

void ClassTonight::begin(bool anchored) {
  drop_oldest(state_.classes, most_seen);
  state_.classes.push_back({id_, state_.number, anchored});
  known_ = true;
  anchored_ = anchored;
}

bool ClassTonight::anchored() const { return anchored_; }

const ClassOffset* ClassTonight::of(const Series& s) const {
  for (const ClassOffset& c : s.classes) {
    if (c.id == id_) return &c;
  }
  return nullptr;
}

bool ClassTonight::settled(const Series& s) const {
  if (id_ == 0) return true;
  const ClassOffset* c = of(s);
  return c != nullptr && c->usable;
}

double ClassTonight::offset(const Series& s) const {
  const ClassOffset* c = id_ == 0 ? nullptr : of(s);
  return c == nullptr ? 0 : c->offset;
}

ClassOffset& ClassTonight::make(Series& s) {
  for (ClassOffset& c : s.classes) {
    if (c.id != id_) continue;
    c.last = s.judged;
    return c;
  }
  drop_oldest(s.classes, most_classes);
  const bool fresh = s.classes.empty() && !s.warm && s.level.accepted == 0;
  s.classes.push_back({id_, s.judged, 0, fresh, fresh, {}});
  return s.classes.back();
}

// The class that is first through its warm-up is the one others are compared with.
void ClassTonight::become_reference(Series& s, const SeriesNight& tonight, const Rules& rules) {
  const std::vector<double> xs = make(s).learning;
  restart_level(s, rules);
  s.classes.clear();
  make(s);
  for (const double x : xs) {
    if (&x != &xs.back()) take_into(s.level, x, tonight.night, tonight.number, rules);
  }
}

bool ClassTonight::take(Series& s, SeriesNight& tonight, const Rules& rules, MetricVerdict& out) {
  if (id_ == 0) return true;
  ClassOffset& c = make(s);
  if (!s.warm && !c.usable && !anchored_) {
    c.learning.push_back(tonight.x);
    const int left = rules.expert.warm_up - static_cast<int>(c.learning.size());
    if (left <= 0) {
      become_reference(s, tonight, rules);
      return true;
    }
    out.verdict = Verdict::warming_up;
    out.nights_left = left;
    out.reason = "this machine class is new to the series; its usual figure here is still being learnt";
    return false;
  }
  tonight.x -= c.offset;
  tonight.class_unsettled = s.warm && !c.usable;
  out.numbers.class_offset = c.offset;
  return true;
}

void ClassTonight::learn(Series& s, const Rules& rules, const MetricVerdict& verdict) {
  if (id_ == 0 || verdict.numbers.lines == 0) return;  // nothing was judged
  ClassOffset& c = make(s);
  if (c.fixed) return;
  const bool accepted = verdict.verdict == Verdict::good || verdict.verdict == Verdict::red;
  if (c.usable && !accepted) return;
  if (verdict.verdict == Verdict::environment_suspect) return;
  c.learning.push_back(verdict.numbers.residual + verdict.numbers.class_offset);
  if (c.learning.size() < static_cast<std::size_t>(std::max(rules.expert.warm_up, 1))) return;
  c.usable = true;
  c.offset = median(c.learning);
  if (c.learning.size() < learning_nights) return;
  c.fixed = true;
  c.learning.clear();
}
}  // namespace nightgate::judge
