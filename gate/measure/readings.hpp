// Readings of an outside load tool as samples.
#pragma once

#include <vector>

#include "gate/formats/reading.hpp"
#include "gate/measure/load.hpp"

namespace nightgate::measure {

void add_readings(const std::vector<formats::Reading>& readings, LoadResult& into);

}  // namespace nightgate::measure
