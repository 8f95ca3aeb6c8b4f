// A metric over all its nights, and the list of all metrics of a machine.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/report/page.hpp"
#include "ci/report/site_parts.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

constexpr std::size_t nights_in_table = 40;

std::string direction(const store::MetricInfo& info) {
  return info.better == store::Better::higher ? "up is better ↑" : "down is better ↓";
}

std::string words_of(std::string verdict) {
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  return verdict.empty() ? "not judged" : verdict;
}

struct Levels {
  std::vector<std::size_t> values;  // points that have a value
  std::vector<judge::ChangePoint> changes;
};
Levels levels_of(const store::MetricInfo& info, const std::vector<store::HistoryPoint>& points) {
  Levels out;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(points[i].value > 0) || !std::isfinite(points[i].value)) continue;
    out.values.push_back(i);
    numbers.push_back(points[i].value);
  }
  out.changes = judge::change_points(
      numbers, info.better == store::Better::higher ? judge::Better::higher : judge::Better::lower);
  return out;
}

std::string lead(const store::MetricInfo& info, const store::HistoryPoint& last, const Scaled& scaled) {
  auto out = fmt::format("Night {}: {} {}", last.sequence, number(last.value * scaled.factor), scaled.unit);
  const bool fallen = last.red && last.verdict != "trip";  // judged against where it fell to
  if (std::isfinite(last.change))
    out += fmt::format(", {} against {}", percent(last.change), fallen ? "the level it fell to" : "its baseline");
  out += fallen ? ", red: a confirmed regression is open" : ", " + words_of(last.verdict);
  if (last.verdict == "warming_up" && last.nights_left > 0) out += fmt::format(" ({} nights left)", last.nights_left);
  return out + ". " + (info.gated ? "" : "Shown, not gated. ") +
         (info.better == store::Better::higher ? "Up" : "Down") + " is better.";
}

std::string merge_of(const MachineModel& machine, store::Sequence night) {
  const auto label = machine.labels.find(night);
  return label == machine.labels.end() ? "" : label->second.merge;
}

std::string date_of(const MachineModel& machine, store::Sequence night) {
  const auto label = machine.labels.find(night);
  return label == machine.labels.end() ? "" : label->second.date;
}

Html night_link(store::Sequence night) {
  return link(fmt::format("../night/{}.html", night), fmt::format("{}", night));
}

std::string change_table(const MachineModel& machine, const std::vector<store::HistoryPoint>& points,
                         const Levels& levels, const Scaled& scaled) {
  Table table("Change points over the whole history, seen in hindsight",
              {"after night", "date", "change", "before", "after", "first merge of the new level",
               "at the latest night", "confidence"},
              {true, false, true, true, true, false, true, true});
  for (auto c = levels.changes.rbegin(); c != levels.changes.rend(); ++c) {
    const auto& before = points[levels.values[c->index == 0 ? 0 : c->index - 1]];
    const auto& first = points[levels.values[c->index]];
    const auto& last = points[levels.values[c->last]];
    table.row({night_link(before.sequence),
               day(date_of(machine, before.sequence)),
               {fmt::format("<strong>{} {}</strong>", c->change < 0 ? "▼" : "▲", escape_html(percent(c->change)))},
               html(number(c->before * scaled.factor) + " " + scaled.unit),
               html(number(c->after * scaled.factor) + " " + scaled.unit),
               html(merge_of(machine, first.sequence)),
               night_link(last.sequence),
               html(probability(std::min(c->confidence, 0.9996)))},
              c->change < 0 ? "bad" : "");
  }
  return table.empty() ? "<p>No change point: one level all along.</p>" : table.str();
}

std::string night_table(const MachineModel& machine, const std::vector<store::HistoryPoint>& points,
                        const Scaled& scaled) {
  const auto shown = std::min(points.size(), nights_in_table);
  Table table(fmt::format("The last {} nights", shown),
              {"night", "date", "merge", fmt::format("figure, {}", scaled.unit), "change", "verdict", "reason"},
              {true, false, false, true, true, false, false});
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& p = points[points.size() - 1 - i];
    table.row({night_link(p.sequence), day(date_of(machine, p.sequence)), html(merge_of(machine, p.sequence)),
               html(number(p.value * scaled.factor)), html(percent(p.change)),
               badge(p.verdict.empty() ? "not judged" : p.verdict), html(shorten(p.reason, 120))},
              is_bad(p) ? "bad" : "");
  }
  return table.str();
}

void decided(const SiteOptions& options, const MachineModel& machine, const std::string& metric, Page& page) {
  Table trips("Trips of this metric", {"trip", "kind", "change", "first bad night", "tripped", "state"},
              {true, false, true, true, true, false});
  for (const auto& group : machine.trips) {
    for (const auto& trip : group.trips) {
      const auto renamed = options.aliases.find(trip.metric);
      if (trip.metric != metric && (renamed == options.aliases.end() || renamed->second != metric)) continue;
      constexpr const char* words[] = {"open", "recovered", "accepted", "withdrawn"};
      trips.row({link("../../../" + trip_address(group.id), fmt::format("{}", group.id)), html(trip.kind),
                 html(percent(trip.change)), night_link(group.first), night_link(trip.tripped),
                 html(words[static_cast<std::size_t>(trip.state)])},
                trip.state == store::TripState::open ? "bad" : "");
    }
  }
  Table decisions("What was decided about it", {"when", "what", "reason", "by"}, {false, false, false, false});
  for (const auto& d : machine.decisions) {
    if (d.metric != metric || d.kind == store::DecisionKind::undo) continue;
    constexpr const char* words[] = {"accepted", "night taken out", "renamed", "pinned", "taken back"};
    decisions.row({day(to_rfc3339(d.at).substr(0, 10)),
                   html(std::string(words[static_cast<std::size_t>(d.kind)]) + (d.undone ? " (taken back)" : "")),
                   html(shorten(d.reason, 300)), html(d.who)});
  }
  if (trips.empty() && decisions.empty()) return;
  page.heading("Trips and decisions");
  if (!trips.empty()) page.raw(trips.str());
  if (!decisions.empty()) page.raw(decisions.str());
}

int rank(const store::HistoryPoint& p) {
  if (p.red || p.verdict == "trip") return 0;
  if (p.verdict == "suspect") return 1;
  if (p.verdict == "no_verdict" || p.verdict == "environment_suspect") return 2;
  return p.verdict == "gain" || p.verdict == "recovered" ? 3 : 4;
}

}  // namespace

std::string metric_page(const SiteOptions& options, const MachineModel& machine, const store::MetricInfo& info,
                        const std::vector<store::HistoryPoint>& points) {
  const auto levels = levels_of(info, points);
  double largest = 0;
  for (const auto& p : points) largest = std::isfinite(p.value) ? std::max(largest, p.value) : largest;
  const auto scaled = scale_for(largest, info.unit);
  const auto& last = points.back();
  const bool bad = is_bad(last);
  Page page(info.name, lead(info, last, scaled),
            bad                                                                     ? "bad"
            : last.verdict == "no_verdict" || last.verdict == "environment_suspect" ? "unsure"
                                                                                    : "good");
  page.site("../../../")
      .links({{"Overview", "../../../index.html"},
              {"Metrics of " + machine.machine.name, "../metrics.html"},
              {fmt::format("Night {}", last.sequence), fmt::format("../night/{}.html", last.sequence)}});
  page.raw(history_chart({fmt::format("{} on {}", info.name, machine.machine.name), info.unit, info.better, &points,
                          &machine.labels, levels.changes, levels.values, options.min_change}));
  page.heading("Levels");
  page.raw(change_table(machine, points, levels, scaled));
  decided(options, machine, info.name, page);
  page.heading("Nights");
  page.raw(night_table(machine, points, scaled));
  page.paragraph(
      {fmt::format("<span class=\"soft\">This page goes up to night {}. Newest figures of every metric: </span>",
                   last.sequence) +
       link("../metrics.html", "all metrics").text + "."});
  return page.str();
}

std::string metrics_page(const SiteOptions& options, const MachineModel& machine) {
  std::vector<const store::MetricHistory*> rows;
  for (const auto& m : machine.recent) rows.push_back(&m);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return rank(a->points.back()) < rank(b->points.back()); });
  const auto bad = std::count_if(rows.begin(), rows.end(), [](const auto* m) { return is_bad(m->points.back()); });
  Page page(fmt::format("{}: metrics of {}", options.project, machine.machine.name),
            bad == 0 ? fmt::format("{} metrics, none is red or suspect.", rows.size())
                     : fmt::format("{} of {} metrics are red or suspect.", bad, rows.size()),
            bad == 0 ? "good" : "bad");
  page.site("../../").links({{"Overview", "../../index.html"}, {"Ledger", "../../ledger.html"}});
  Table table("Every metric, newest figure",
              {"metric", "verdict", "figure", "change", "last nights", "better", "night"},
              {false, false, true, true, false, false, true}, Filter::offered);
  for (const auto* m : rows) {
    const auto info = machine.metrics.find(m->metric);
    if (info == machine.metrics.end()) continue;
    const auto& last = m->points.back();
    const auto scaled = scale_for(last.value, info->second.unit);
    std::vector<double> values;
    std::vector<bool> marks;
    for (const auto& p : m->points) {
      values.push_back(p.value);
      marks.push_back(is_bad(p));
    }
    table.row({link("metric/" + slug(m->metric) + ".html", m->metric),
               badge(last.red && last.verdict != "trip" ? "red"
                     : last.verdict.empty()             ? "not judged"
                                                        : last.verdict),
               html(number(last.value * scaled.factor) + " " + scaled.unit),
               html(percent(last.change)),
               {spark_chart(values, marks, fmt::format("the last {} nights", values.size()))},
               html(direction(info->second)),
               link(fmt::format("night/{}.html", last.sequence), fmt::format("{}", last.sequence))},
              is_bad(last) ? "bad" : "");
  }
  page.raw(table.str());
  return page.str();
}

}  // namespace nightgate::report
