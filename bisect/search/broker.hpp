// A simulated broker with a history: what one measurement of one of its targets gives.
#pragma once
#include <vector>

#include "bisect/search/random.hpp"
#include "bisect/search/simulate.hpp"

namespace nightgate::search {

class Broker {
 public:
  Broker(const Simulation& simulation, std::uint64_t seed);

  double measure(int point, int machine);  // log, larger is worse
  bool is_culprit(int merge) const { return merge == large_ || merge == small_; }
  bool is_largest(int merge) const { return merge == large_; }
  int largest() const { return large_; }
  const std::vector<bool>& available() const { return available_; }
  double told_shift() const { return told_shift_; }

 private:
  double machine_speed(int machine);

  const Simulation simulation_;
  Random random_;
  int large_ = 0;  // 0: none
  int small_ = 0;
  double told_shift_ = 0;
  std::vector<bool> available_;
  std::vector<double> image_;  // every image's own offset
  std::vector<double> speed_;  // of every machine now
  double way_ = 1;             // of the trend
};

}  // namespace nightgate::search
