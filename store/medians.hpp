// Medians of the valid repeats of one start.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/rows.hpp"

namespace nightgate::store {

// Mean of the two middle values when there is an even number; NaN for none. Takes its own copy to sort.
[[nodiscard]] double median_of(std::vector<double> values);
// Per short metric name, over the repeats that aren't voided; of several attempts of a repeat every valid one counts.
[[nodiscard]] std::map<std::string, MeasuredValue> medians_of(const std::vector<Repeat>& repeats);

}  // namespace nightgate::store
