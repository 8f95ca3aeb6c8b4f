// What is watched around and during each repeat: what it cost and under which conditions it ran.
#pragma once

#include <variant>

#include "config/config.hpp"
#include "gate/measure/conditions.hpp"
#include "gate/measure/cost.hpp"
#include "gate/measure/extra.hpp"
#include "gate/measure/load.hpp"
#include "gate/measure/postgres.hpp"
#include "gate/measure/repeats.hpp"

namespace nightgate::measure {

// One object per start; begin(), then tick() a few times a second, then end(), for every repeat. Borrows all.
class Sampling {
 public:
  Sampling(RunningDeployment& deployment, const config::Scenario& scenario, const Surroundings& around)
      : deployment_(deployment),
        cost_(deployment,
              scenario.store == config::StoreRule::steady || !std::holds_alternative<config::WrkLoad>(scenario.load)),
        conditions_(deployment, around),
        extra_(deployment, scenario.extra),
        postgres_(deployment) {}

  void begin();
  // Code::measure as soon as somebody of the deployment is gone.
  [[nodiscard]] Status tick();
  // Why errors of the load may not be the broker's fault; empty: no such reason.
  [[nodiscard]] std::string excuse() const { return conditions_.excuse(); }
  // The load's samples with those of cost added, the conditions, and why the repeat must not be used (if so).
  [[nodiscard]] RepeatResult end(const LoadResult& load);

 private:
  RunningDeployment& deployment_;
  CostMeter cost_;
  ConditionWatch conditions_;
  ExtraMeter extra_;
  PostgresMeter postgres_;
};

}  // namespace nightgate::measure
