// How much one fresh start scatters here, as far as it was ever seen.
#include <fmt/format.h>

#include <cmath>

#include "bisect/session/session.hpp"

namespace nightgate::session {
namespace {

constexpr int nights_for_noise = 10;
constexpr int least_degrees = 4;  // of freedom: fewer say little

// The newest `check --noise` of the metric with enough starts.
Result<std::optional<KnownNoise>> by_check(store::Store& store, const std::string& project, const std::string& machine,
                                           const std::string& metric) {
  NG_TRY(const auto rows, store.noise(project, machine));
  const store::Noise* best = nullptr;
  for (const auto& row : rows) {
    if (row.metric != metric || row.starts <= least_degrees || !(row.between > 0)) continue;
    if (best == nullptr || row.at > best->at) best = &row;
  }
  if (best == nullptr) return std::optional<KnownNoise>{};
  return std::optional(KnownNoise{
      best->between, fmt::format("check --noise of {}, {} starts", to_rfc3339(best->at).substr(0, 10), best->starts)});
}

// Pooled over the last nights, each around its own mean.
Result<std::optional<KnownNoise>> by_nights(store::Store& store, const std::string& project, const std::string& machine,
                                            const Cell& cell) {
  NG_TRY(const auto nights, store.nights(project, machine, store::newest, nights_for_noise));
  double squares = 0;
  int degrees = 0, used = 0;
  for (const auto& night : nights) {
    NG_TRY(const auto rows, store.measurements(night.run));
    std::vector<double> logs;
    for (const auto& row : rows) {
      if (row.role != store::Role::target || row.deployment != cell.deployment || row.scenario != cell.scenario)
        continue;
      const auto value = row.values.find(cell.metric);
      if (value != row.values.end() && value->second.median > 0) logs.push_back(std::log(value->second.median));
    }
    if (logs.size() < 2) continue;
    double mean = 0;
    for (const double x : logs) mean += x / static_cast<double>(logs.size());
    for (const double x : logs) squares += (x - mean) * (x - mean);
    degrees += static_cast<int>(logs.size()) - 1;
    ++used;
  }
  if (degrees < least_degrees) return std::optional<KnownNoise>{};
  return std::optional(KnownNoise{std::sqrt(squares / degrees), fmt::format("the starts of the last {} nights", used)});
}

}  // namespace

Result<std::optional<KnownNoise>> known_noise(store::Store& store, const std::string& project,
                                              const std::string& machine, const Cell& cell,
                                              const std::string& full_metric) {
  NG_TRY(auto checked, by_check(store, project, machine, full_metric));
  if (checked) return checked;
  return by_nights(store, project, machine, cell);
}

}  // namespace nightgate::session
