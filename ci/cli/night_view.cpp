#include "ci/cli/night_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ci/cli/output.hpp"
#include "ci/report/side_by_side.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"
#include "gate/records/records.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

bool any(const nightly::Outcome& o, judge::Verdict v) {
  return std::any_of(o.verdict.metrics.begin(), o.verdict.metrics.end(), [&](const auto& m) { return m.verdict == v; });
}

json metric_json(const judge::MetricVerdict& m) {
  json out = {{"metric", m.metric},
              {"verdict", judge::name(m.verdict)},
              {"state", judge::name(m.state)},
              {"value", number_or_null(m.value)},
              {"baseline", number_or_null(m.baseline)},
              {"change", number_or_null(m.change)},
              {"red", m.red},
              {"reason", m.reason}};
  if (m.nights_left > 0) out["nights_left"] = m.nights_left;
  if (m.suspect_since) out["suspect_since"] = m.suspect_since->sequence;
  const auto& n = m.numbers;
  out["numbers"] = {{"residual", number_or_null(n.residual)},
                    {"machine", number_or_null(n.machine)},
                    {"sigma", number_or_null(n.sigma)},
                    {"baseline_nights", n.baseline_nights}};
  out["numbers"]["thresholds"] = json::array();
  for (int i = 0; i < n.lines; ++i) {
    out["numbers"]["thresholds"].push_back(number_or_null(n.threshold[static_cast<std::size_t>(i)]));
  }
  return out;
}

// Of everything that was measured tonight, by its full name.
std::map<std::string, std::string> units_of(const nightly::Outcome& o) {
  std::map<std::string, std::string> out;
  for (const auto& m : o.measurements) {
    for (const auto& [name, info] : m.metrics) out[records::full_name(m.deployment, m.scenario, name)] = info.unit;
  }
  return out;
}

std::string metric_line(const judge::MetricVerdict& m, const std::string& unit) {
  const auto scaled = report::scale_for(std::isfinite(m.value) ? m.value : m.baseline, unit);
  const auto value = figure(m.value * scaled.factor) + (scaled.unit.empty() ? "" : " " + scaled.unit);
  auto line = fmt::format("  {:<18} {:<36} {:>14}", judge::name(m.verdict), m.metric, value);
  if (std::isfinite(m.baseline))
    line += fmt::format("  baseline {:>10}  {:>8}", figure(m.baseline * scaled.factor), percent(m.change));
  if (m.nights_left > 0) line += fmt::format("  {} nights left", m.nights_left);
  if (!m.reason.empty()) line += "  " + m.reason;
  return clean(line) + "\n";
}

// Scenarios as rows, deployments as columns, where several deployments have the same scenarios.
std::string beside_text(const nightly::Outcome& o, const std::map<std::string, std::string>& units) {
  std::vector<report::Figure> figures;
  for (const auto& m : o.verdict.metrics) {
    const auto unit = units.find(m.metric);
    figures.push_back({m.metric, unit == units.end() ? "" : unit->second, std::string(judge::name(m.verdict)), m.value,
                       m.change, m.red});
  }
  const auto all = report::side_by_side(figures);
  if (all.empty()) return {};
  auto out = fmt::format("  {:<36}", "side by side");
  for (const auto& deployment : all.deployments) out += fmt::format("  {:>24}", deployment);
  out += "\n";
  for (const auto& row : all.rows) {
    auto line = fmt::format("  {:<36}", row.unit.empty() ? row.name : row.name + ", " + row.unit);
    for (const auto& cell : row.cells) {
      auto text = cell ? figure(cell->value * row.factor) : std::string("-");
      if (cell && std::isfinite(cell->change)) text += " " + percent(cell->change);
      if (const auto word = cell ? report::verdict_word(*cell) : ""; !word.empty()) text += " " + word;
      line += fmt::format("  {:>24}", text);
    }
    out += line + "\n";
  }
  return out;
}

std::string headline(const nightly::Outcome& o) {
  const auto night = fmt::format("night {} ({}): ", o.night.sequence, clean(o.target.label));
  const auto word = night_word(o);
  if (word == "nothing_to_do" || word == "no_verdict") {
    auto said = o.message.empty() ? "some metrics could not be measured or judged" : o.message;
    const auto suspects = std::count_if(o.verdict.metrics.begin(), o.verdict.metrics.end(),
                                        [](const auto& m) { return m.verdict == judge::Verdict::suspect; });
    if (suspects > 0) said = fmt::format("{} of the metrics are SUSPECT; {}", suspects, said);
    return word == "no_verdict" ? night + "NO VERDICT: " + said : said;
  }
  if (word == "regression") {
    return night + (o.opened.empty() ? "still RED"
                                     : fmt::format("REGRESSION: {} tripped",
                                                   o.opened.size() == 1 ? "a metric group" : "several metric groups"));
  }
  if (word == "suspect")
    return night + "SUSPECT: worse than noise allows; one bad night never trips, the next one decides";
  if (word == "warming_up") return night + "warming up, nothing is judged yet";
  return night + "good";
}

}  // namespace

std::string_view night_word(const nightly::Outcome& o) {
  if (!o.open_trips.empty()) return "regression";
  if (o.end == nightly::End::nothing_to_do) return "nothing_to_do";
  if (o.exit_code() != 0) return "no_verdict";
  if (any(o, judge::Verdict::suspect)) return "suspect";
  const auto& metrics = o.verdict.metrics;
  const bool judged = std::any_of(metrics.begin(), metrics.end(), [](const auto& m) {
    return m.verdict != judge::Verdict::warming_up && m.verdict != judge::Verdict::new_level;
  });
  return judged ? "good" : "warming_up";
}

json trip_json(const store::TripGroup& group) {
  json out = {{"id", group.id},           {"first", group.first},   {"last_good", group.last_good},
              {"tripped", group.tripped}, {"bisect", group.bisect}, {"metrics", json::array()},
              {"answer", json()}};
  for (const auto& trip : group.trips) {
    out["metrics"].push_back({{"metric", trip.metric},
                              {"kind", trip.kind},
                              {"change", number_or_null(trip.change)},
                              {"baseline", number_or_null(trip.baseline)},
                              {"level", number_or_null(trip.level)}});
  }
  if (!group.answer.empty()) {
    if (auto answer = parse_json(group.answer)) out["answer"] = std::move(*answer);
  }
  return out;
}

std::string trip_text(const store::TripGroup& group) {
  std::string out;
  for (const auto& trip : group.trips) {
    out += fmt::format("  trip {} ({}): {} {} since night {}\n", group.id, trip.kind, trip.metric, percent(trip.change),
                       group.first);
  }
  if (group.answer.empty()) return out;
  const auto answer = parse_json(group.answer);
  if (!answer) return out;
  const auto& culprit = (*answer)["culprit"];
  if (!culprit.is_object()) {
    return out + fmt::format("    bisect {}: {}: {}\n", group.bisect, (*answer)["outcome"].get<std::string>(),
                             clean((*answer)["why"].get<std::string>()));
  }
  out += fmt::format("    culprit: {}{} by {} ({}), {} sure, {}\n",
                     culprit["pr"].is_number() ? fmt::format("#{} ", culprit["pr"].get<int>()) : "",
                     clean(culprit["title"].get<std::string>()), clean(culprit["author"].get<std::string>()),
                     culprit["commit"].get<std::string>().substr(0, 10),
                     report::probability((*answer)["probability"].get<double>()),
                     percent((*answer)["change"].get<double>()));
  return out;
}

json night_json(const nightly::Outcome& o) {
  json out = {{"night", o.night.sequence},
              {"run", o.night.run},
              {"attempt", o.night.attempt},
              {"verdict", night_word(o)},
              {"message", o.message},
              {"exit_code", o.exit_code()},
              {"target", {{"commit", o.target.commit}, {"digest", o.target.digest}, {"label", o.target.label}}},
              {"machine", {{"name", o.machine.name}, {"class", o.machine.machine_class}}},
              {"environment_suspect", o.verdict.environment_suspect},
              {"metrics", json::array()},
              {"failures", json::array()},
              {"opened", json::array()},
              {"closed", json::array()},
              {"open_trips", json::array()},
              {"notes", o.notes}};
  if (o.control) out["control"] = {{"digest", o.control->digest}, {"label", o.control->label}};
  for (const auto& m : o.verdict.metrics) out["metrics"].push_back(metric_json(m));
  for (const auto& f : o.failures) out["failures"].push_back({{"what", f.what}, {"why", f.why}, {"broken", f.broken}});
  for (const auto& group : o.opened) out["opened"].push_back(group.id);
  for (const auto& c : o.closed) out["closed"].push_back({{"metric", c.metric}});
  for (const auto& group : o.open_trips) out["open_trips"].push_back(trip_json(group));
  return out;
}

std::string night_text(const nightly::Outcome& o) {
  auto out = headline(o) + "\n";
  const auto units = units_of(o);
  for (const auto& m : o.verdict.metrics) {
    const auto unit = units.find(m.metric);
    out += metric_line(m, unit == units.end() ? "" : unit->second);
  }
  out += beside_text(o, units);
  for (const auto& f : o.failures)
    out += clean(fmt::format("  {} {}: {}", f.broken ? "broken" : "no verdict", f.what, f.why)) + "\n";
  for (const auto& c : o.closed) out += "  recovered: " + c.metric + "\n";
  for (const auto& group : o.open_trips) out += trip_text(group);
  for (const auto& note : o.notes) out += "  note: " + clean(note) + "\n";
  return out;
}

}  // namespace nightgate::cli
