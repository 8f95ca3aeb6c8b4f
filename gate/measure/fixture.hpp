// What the store holds before the load, and the proof that it does.
#pragma once

#include "gate/measure/deployment.hpp"

namespace nightgate::measure {

// Loads the scenario's fixture into the first broker and counts it afterwards. Code::measure when a call is refused,
// the command fails or the count is wrong.
[[nodiscard]] Status load_fixture(RunningDeployment& deployment, const config::Fixture& fixture,
                                  const Surroundings& around);
// Asks for the count and compares; fine where the fixture has no count.
[[nodiscard]] Status check_count(RunningDeployment& deployment, const config::Fixture& fixture);

}  // namespace nightgate::measure
