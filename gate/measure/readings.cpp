#include "gate/measure/readings.hpp"

namespace nightgate::measure {

// A maximum is one request's luck: shown, never judged by itself. So is a figure that may be better high or low.
void add_readings(const std::vector<formats::Reading>& readings, LoadResult& into) {
  for (const auto& reading : readings) {
    into.samples.push_back({reading.name, reading.value});
    const auto better = reading.better == formats::Better::higher ? config::Better::higher : config::Better::lower;
    into.metrics.insert_or_assign(
        reading.name, config::MetricInfo{reading.unit, better, reading.name != "max" && reading.better_known});
  }
}

}  // namespace nightgate::measure
