// From the store to the models.
#include <fmt/format.h>

#include <algorithm>

#include "ci/report/model.hpp"

namespace nightgate::report {
namespace {

constexpr std::size_t most_charts = 12;

Result<std::vector<SeriesModel>> series_of(const Source& source, const std::vector<store::MetricInfo>& metrics,
                                           const std::vector<std::string>& wanted, const std::string& machine,
                                           store::Sequence last) {
  std::vector<SeriesModel> out;
  for (const auto& name : wanted) {
    const auto info = std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.name == name; });
    if (info == metrics.end()) continue;
    SeriesModel model{*info, {}};
    const auto first = std::max<store::Sequence>(1, last - source.series_nights + 1);
    NG_TRY(model.points, source.store.series(source.project, machine, {name}, first));
    out.push_back(std::move(model));
  }
  return out;
}

// The n-th step of a point is its n-th start.
void add_spreads(const std::vector<store::Measurement>& measurements, const std::string& metric, TripModel& model) {
  std::map<int, int> starts;
  for (const auto& step : model.steps) {
    const int start = starts[step.seen.point]++;
    auto& spread = model.spreads.emplace_back(store::unknown, store::unknown);
    for (const auto& m : measurements) {
      const auto prefix = m.deployment + "." + m.scenario + ".";
      if (m.arm != step.seen.point || m.start != start || metric.rfind(prefix, 0) != 0) continue;
      const auto value = m.values.find(metric.substr(prefix.size()));
      if (value != m.values.end()) spread = {value->second.low, value->second.high};
    }
  }
}

Status add_bisect(store::Store& store, const store::Bisect& bisect, TripModel& model) {
  model.bisect = bisect.id;
  if (model.answer.empty()) model.answer = bisect.answer;
  NG_TRY(model.steps, store.bisect_steps(bisect.id));
  NG_TRY(const auto measurements, store.measurements(bisect.run));
  add_spreads(measurements, bisect.metric, model);
  return {};
}

bool needs_chart(const store::Verdict& v) {
  return v.red || v.verdict == "suspect" || v.verdict == "trip" || v.verdict == "recovered" || v.verdict == "gain";
}

}  // namespace

Status load_details(store::Store& store, NightModel& model) {
  NG_TRY(auto run, store.run(model.night.run));
  if (run) model.run = std::move(*run);
  NG_TRY(model.measurements, store.measurements(model.night.run));
  for (const auto& m : model.measurements) {
    if (m.role != store::Role::target || m.definition.empty() || model.definitions.count(m.definition) > 0) continue;
    const auto text = store.definition(m.definition);
    if (!text && text.error().code != Code::not_found) return tl::unexpected<Error>(text.error());
    model.definitions[m.definition] = text ? *text : "";
  }
  return {};
}

Result<NightModel> load_night(const Source& source, store::Sequence sequence) {
  NightModel model;
  model.project = source.project;
  model.min_change = source.min_change;
  NG_TRY(auto night, source.store.night(source.project, source.machine, sequence));
  if (!night) return fail(Code::not_found, fmt::format("machine {} has no night {}", source.machine, sequence));
  model.night = std::move(*night);
  NG_CHECK(load_details(source.store, model));
  NG_TRY(model.verdicts, source.store.verdicts(source.project, source.machine, sequence));
  NG_TRY(model.metrics, source.store.metrics(source.project));
  NG_TRY(model.open_trips, source.store.open_trips(source.project));
  std::vector<std::string> wanted;
  for (const auto& v : model.verdicts) {
    if (needs_chart(v)) wanted.push_back(v.metric);
  }
  NG_TRY(model.series, series_of(source, model.metrics, wanted, source.machine, sequence));
  return model;
}

Result<TripModel> load_trip(const Source& source, std::int64_t id) {
  TripModel model;
  model.project = source.project;
  model.min_change = source.min_change;
  NG_TRY(auto group, source.store.trip(source.project, id));
  if (!group) return fail(Code::not_found, fmt::format("project {} has no trip {}", source.project, id));
  model.group = std::move(*group);
  const auto& g = model.group;
  NG_TRY(model.first_night, source.store.night(source.project, g.machine, g.first));
  NG_TRY(model.good_night, source.store.night(source.project, g.machine, g.last_good));
  NG_TRY(model.trip_night, source.store.night(source.project, g.machine, g.tripped));
  NG_TRY(const auto metrics, source.store.metrics(source.project));
  std::vector<std::string> wanted;
  for (const auto& trip : g.trips) {
    if (wanted.size() < most_charts) wanted.push_back(trip.metric);
  }
  for (const auto& info : metrics) model.units[info.name] = info.unit;
  NG_TRY(model.series, series_of(source, metrics, wanted, g.machine, g.tripped + source.series_nights / 2));
  model.answer = g.answer;
  if (g.bisect != 0) {
    NG_TRY(const auto bisect, source.store.bisect(g.bisect));
    if (bisect) NG_CHECK(add_bisect(source.store, *bisect, model));
  }
  return model;
}

Result<TripModel> load_bisect(const Source& source, std::int64_t id) {
  NG_TRY(const auto bisect, source.store.bisect(id));
  if (!bisect || bisect->project != source.project)
    return fail(Code::not_found, fmt::format("project {} has no bisect {}", source.project, id));
  TripModel model;
  if (bisect->trip != 0) {
    NG_TRY(model, load_trip(source, bisect->trip));
    if (model.bisect == id) return model;  // else the trip was bisected again later: this one by itself
    model = {};
  }
  model.project = source.project;
  model.min_change = source.min_change;
  model.group.machine = bisect->machine;
  NG_CHECK(add_bisect(source.store, *bisect, model));
  return model;
}

}  // namespace nightgate::report
