#include "store/medians.hpp"

#include <algorithm>

namespace nightgate::store {

double median_of(std::vector<double> values) {
  if (values.empty()) return unknown;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : values[half - 1] / 2 + values[half] / 2;
}

std::map<std::string, MeasuredValue> medians_of(const std::vector<Repeat>& repeats) {
  std::map<std::string, std::vector<double>> values;
  for (const Repeat& repeat : repeats) {
    if (repeat.voided) continue;
    for (const auto& [metric, value] : repeat.samples) values[metric].push_back(value);
  }
  std::map<std::string, MeasuredValue> out;
  for (const auto& [metric, of] : values) {
    const auto [low, high] = std::minmax_element(of.begin(), of.end());
    out[metric] = {median_of(of), *low, *high, static_cast<int>(of.size())};
  }
  return out;
}

}  // namespace nightgate::store
