// Inside the judge: the machine class of tonight, where it is recorded. A series' first class is its reference; in
// every other class it has an offset, learnt from the first nights there. Until then nothing can trip from that class.
#pragma once
#include <string>

#include "gate/judge/state.hpp"

namespace nightgate::judge {

class ClassTonight {
 public:
  ClassTonight(GateState::Impl& state, const std::string& machine_class);

  bool first_night() const;   // the machine was never seen with this class
  void begin(bool anchored);  // remembers it
  bool anchored() const;      // also true where no class is recorded
  bool settled(const Series& series) const;
  double offset(const Series& series) const;
  // Takes the offset out of tonight.x. False: the night only teaches the class (verdict warming_up is set).
  bool take(Series& series, SeriesNight& tonight, const Rules& rules, MetricVerdict& out);
  // After the judgement: learns from it.
  void learn(Series& series, const Rules& rules, const MetricVerdict& verdict);

 private:
  const ClassOffset* of(const Series& series) const;
  ClassOffset& make(Series& series);
  void become_reference(Series& series, const SeriesNight& tonight, const Rules& rules);
  GateState::Impl& state_;
  std::int64_t id_ = 0;  // 0: not recorded
  bool known_ = false;
  bool anchored_ = true;
};

}  // namespace nightgate::judge
