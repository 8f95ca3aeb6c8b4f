#include "gate/measure/measurement.hpp"

#include <algorithm>

namespace nightgate::measure {
namespace {

std::optional<double> sample_of(const Repeat& repeat, std::string_view metric) {
  const auto it = std::ranges::find(repeat.samples, metric, &Sample::metric);
  if (it == repeat.samples.end()) return std::nullopt;
  return it->value;
}

// "rate" where there is one, else the first metric of the first valid repeat.
std::string main_metric(const std::vector<Repeat>& repeats) {
  std::string first;
  for (const auto& repeat : repeats) {
    if (repeat.voided || repeat.samples.empty()) continue;
    if (sample_of(repeat, "rate")) return "rate";
    if (first.empty()) first = repeat.samples.front().metric;
  }
  return first;
}

std::vector<double> sorted_values(const std::vector<Repeat>& repeats, std::string_view metric) {
  std::vector<double> values;
  for (const auto& repeat : repeats) {
    if (repeat.voided) continue;
    if (const auto sample = sample_of(repeat, metric)) values.push_back(*sample);
  }
  std::ranges::sort(values);
  return values;
}

}  // namespace

std::optional<double> Measurement::value(std::string_view metric) const {
  const auto values = sorted_values(repeats, metric);
  if (values.empty()) return std::nullopt;
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Measurement::spread(std::string_view metric) const {
  const auto values = sorted_values(repeats, metric);
  const auto median = value(metric);
  return values.size() < 2 || !(*median > 0) ? 0 : (values.back() - values.front()) / *median;
}

const Repeat* Measurement::shown() const {
  const auto metric = main_metric(repeats);
  std::vector<std::pair<double, const Repeat*>> valid;
  for (const auto& repeat : repeats) {
    if (repeat.voided) continue;
    if (const auto sample = sample_of(repeat, metric)) valid.emplace_back(*sample, &repeat);
  }
  if (valid.empty()) return nullptr;
  std::ranges::stable_sort(valid, {}, &std::pair<double, const Repeat*>::first);
  return valid[(valid.size() - 1) / 2].second;
}

}  // namespace nightgate::measure
