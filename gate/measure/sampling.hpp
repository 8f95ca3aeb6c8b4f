// What is watched around and during each repeat: what it cost and under which conditions it ran.
#pragma once

#include "config/config.hpp"
#include "gate/measure/deployment.hpp"
#include "gate/measure/load.hpp"
#include "gate/measure/repeats.hpp"

namespace nightgate::measure {

// One object per start; begin(), then tick() a few times a second, then end(), for every repeat. Borrows all.
class Sampling {
 public:
  Sampling(RunningDeployment& deployment, const config::Scenario& scenario, const Surroundings& around)
      : deployment_(deployment), scenario_(scenario), around_(around) {}

  [[nodiscard]] Status begin();
  [[nodiscard]] Status tick();
  // The load's samples with those of cost added, the conditions, and why the repeat must not be used (if so).
  [[nodiscard]] Result<RepeatResult> end(const LoadResult& load);

 private:
  RunningDeployment& deployment_;
  const config::Scenario& scenario_;
  const Surroundings& around_;
};

}  // namespace nightgate::measure
