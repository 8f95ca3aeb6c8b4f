#include "gate/judge/replay.hpp"

#include <algorithm>
#include <set>

namespace nightgate::judge {

Replay::Replay(Rules rules) : rules_(std::move(rules)) {}

const NightVerdict& Replay::night(const std::string& machine, const NightInput& night) {
  step(states_[machine], night, rules_, verdict_);
  ++so_far_.nights;
  collect(machine, verdict_);
  return verdict_;
}

void Replay::collect(const std::string& machine, const NightVerdict& verdict) {
  if (verdict.environment_suspect) so_far_.environment.push_back({verdict.night, machine, verdict.reason});
  for (const MetricVerdict& v : verdict.metrics) {
    switch (v.verdict) {
      case Verdict::suspect:
        so_far_.suspects.push_back({v.metric, machine, verdict.night, verdict.night, v.change});
        break;
      case Verdict::trip:
        so_far_.trips.push_back({*v.trip, machine, std::nullopt});
        if (v.trip->kind != TripKind::creep) {  // a creep night lies within the noise of the rolling baseline
          so_far_.suspects.push_back({v.metric, machine, verdict.night, verdict.night, v.change});
        }
        break;
      case Verdict::gain:
        so_far_.gains.push_back({v.metric, machine, v.suspect_since.value_or(verdict.night), verdict.night, v.change});
        break;
      case Verdict::recovered:
        for (ReplayTrip& t : so_far_.trips) {  // it and every trip opened on top of it
          const bool meant = t.machine == machine && t.trip.metric == v.metric && !t.recovered &&
                             t.trip.tripped.sequence >= v.trip->tripped.sequence;
          if (meant) t.recovered = verdict.night;
        }
        break;
      default:
        break;
    }
  }
}

ReplayResult Replay::result() const {
  ReplayResult out = so_far_;
  std::set<std::string> metrics;
  for (const auto& [machine, state] : states_) {
    for (const SeriesSummary& s : state.summary()) {
      metrics.insert(s.metric);
      if (s.state == SeriesState::warming_up) out.warming_up.push_back({s.metric, machine, s.nights_left});
      if (!s.unfit_reason.empty()) out.unfit.push_back({s.metric, machine, s.unfit_reason});
    }
  }
  out.metrics = static_cast<std::int64_t>(metrics.size());
  const auto by_name = [](const auto& a, const auto& b) {
    return a.metric != b.metric ? a.metric < b.metric : a.machine < b.machine;
  };
  std::sort(out.warming_up.begin(), out.warming_up.end(), by_name);
  std::sort(out.unfit.begin(), out.unfit.end(), by_name);
  return out;
}

std::string load_of(std::string_view metric) {
  const auto last = metric.rfind('.');
  if (last == std::string_view::npos || metric.find('.') == last) return "";
  return std::string(metric.substr(0, last));
}

ReplayResult replay(const History& history, const Rules& rules, const NightSink& each) {
  Replay run(rules);
  std::vector<std::string> loads;
  loads.reserve(history.metrics.size());
  for (const History::Metric& metric : history.metrics) loads.push_back(load_of(metric.name));
  NightInput input;
  for (std::size_t i = 0; i < history.nights.size(); ++i) {
    const History::Night& night = history.nights[i];
    input.night = {static_cast<std::int64_t>(i) + 1, night.instant};
    input.machine_class = night.machine_class;
    input.digest = night.digest;
    input.readings.resize(night.cells.size());
    for (std::size_t k = 0; k < night.cells.size(); ++k) {
      const History::Metric& metric = history.metrics[night.cells[k].metric];
      input.readings[k].metric = metric.name;
      input.readings[k].better = metric.better;
      input.readings[k].value = night.cells[k].value;
      input.readings[k].group = loads[night.cells[k].metric];
    }
    const NightVerdict& verdict = run.night(night.machine, input);
    if (each) each(night, verdict);
  }
  return run.result();
}
}  // namespace nightgate::judge
