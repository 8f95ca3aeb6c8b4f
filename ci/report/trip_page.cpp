// The story of a regression: what fell, when, which merge did it, and how that is known.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "ci/report/charts.hpp"
#include "ci/report/model.hpp"
#include "ci/report/page.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::report {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}
double number_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : store::unknown;
}
const json& array_of(const json& object, const char* key) {
  static const json none = json::array();
  const auto at = object.find(key);
  return at != object.end() && at->is_array() ? *at : none;
}

json answer_of(const TripModel& model) {
  if (model.answer.empty()) return json::object();
  auto parsed = parse_json(model.answer);
  return parsed && parsed->is_object() ? std::move(*parsed) : json::object();
}

std::string merge_name(const json& merge) {
  const auto pr = merge.find("pr");
  const auto number_text =
      pr != merge.end() && pr->is_number_integer() ? fmt::format("#{} ", pr->get<int>()) : std::string();
  return fmt::format("{}{} ({})", number_text, shorten(text_of(merge, "title"), 90),
                     text_of(merge, "commit").substr(0, 10));
}

std::string night_name(const std::optional<store::Night>& night, store::Sequence sequence) {
  if (!night) return fmt::format("night {}", sequence);
  return fmt::format("night {} ({}, {})", sequence, minute_of(to_rfc3339(night->started)),
                     !night->target                 ? "no target"
                     : night->target->label.empty() ? night->target->commit.substr(0, 12)
                                                    : night->target->label);
}

// A metric's name; in a site a link to its page.
Html metric_name(const std::string& metric, const SiteLinks* links) {
  return links == nullptr ? html(metric) : link(links->metric + slug(metric) + ".html", metric);
}

void fallen(const TripModel& model, const SiteLinks* links, Page& page) {
  Table table("What fell, in the first night of the evidence", {"metric", "kind", "before", "after", "change"},
              {false, false, true, true, true});
  for (const auto& trip : model.group.trips) {
    const auto unit = model.units.find(trip.metric);
    const auto scaled = scale_for(trip.baseline, unit != model.units.end() ? unit->second : "");
    table.row({metric_name(trip.metric, links),
               html(trip.kind),
               html(number(trip.baseline * scaled.factor) + " " + scaled.unit),
               html(number(trip.level * scaled.factor) + " " + scaled.unit),
               {"<strong>" + escape_html(percent(trip.change)) + "</strong>"}});
  }
  page.raw(table.str());
}

void story(const TripModel& model, const SiteLinks* links, Page& page) {
  const auto& g = model.group;
  page.heading("What happened");
  page.definitions(
      {{"last good night", night_name(model.good_night, g.last_good)},
       {"suspect since", night_name(model.first_night, g.first)},
       {"tripped", night_name(model.trip_night, g.tripped)},
       {"machine", g.machine},
       {"state", g.open ? "open: red until two good nights or until it is accepted with a reason" : "closed"}});
  fallen(model, links, page);
  if (model.series.size() < g.trips.size()) {
    page.paragraph(
        html(fmt::format("The {} strongest of {} metrics as pictures:", model.series.size(), g.trips.size())));
  }
  for (const auto& s : model.series) {
    page.raw(series_chart({s.info.name, s.info.unit, s.info.better, s.points, model.min_change, g.first, g.tripped}));
  }
}

std::string share_text(double share) { return std::isfinite(share) ? fmt::format("{:.0f} %", 100 * share) : "–"; }

void culprit_section(const json& answer, Page& page) {
  const auto outcome = text_of(answer, "outcome");
  const auto culprit = answer.find("culprit");
  if (culprit == answer.end() || !culprit->is_object()) {
    page.paragraph(html("Outcome: " + outcome + ". " + text_of(answer, "why")));
    const auto& range = array_of(answer, "range");
    if (range.size() == 2) {
      page.paragraph(html("Suspects: " + range[0].get<std::string>().substr(0, 12) + " to " +
                          range[1].get<std::string>().substr(0, 12) + ", both included."));
    }
    return;
  }
  const auto& interval = array_of(answer, "change_interval");
  auto size = percent(number_of(answer, "change"));
  if (interval.size() == 2 && interval[0].is_number() && interval[1].is_number()) {
    size += " (" + percent_range(interval[0].get<double>(), interval[1].get<double>()) + ")";
  }
  std::string files;
  for (const auto& file : array_of(*culprit, "files"))
    files += (files.empty() ? "" : ", ") + (file.is_string() ? file.get<std::string>() : "");
  const auto pr = culprit->find("pr");
  page.definitions(
      {{"pull request", pr != culprit->end() && pr->is_number_integer() ? fmt::format("#{}", pr->get<int>())
                                                                        : "not named in the merge"},
       {"title", text_of(*culprit, "title")},
       {"author", text_of(*culprit, "author")},
       {"commit", text_of(*culprit, "commit")},
       {"files", shorten(files, 400)},
       {"probability", probability(number_of(answer, "probability"))},
       {"change at this merge", size},
       {"share of the whole shift", share_text(number_of(answer, "share"))},
       {"more remains in the range", answer.value("residual", false) ? "yes" : "no"}});
}

BisectChart chart_of(const TripModel& model, const json& answer) {
  BisectChart chart;
  chart.title = "Bisect of " + text_of(answer, "metric");
  chart.unit = text_of(answer, "unit");
  chart.better = text_of(answer, "better") == "lower" ? store::Better::lower : store::Better::higher;
  const auto& points = array_of(answer, "points");
  chart.merges = static_cast<int>(points.size()) - 1;
  for (std::size_t i = 0; i < points.size(); ++i) {
    chart.names.push_back(merge_name(points[i]));
    chart.has_target.push_back(points[i].find("digest") != points[i].end() && points[i]["digest"].is_string());
    const auto culprit = answer.find("culprit");
    if (culprit != answer.end() && culprit->is_object() && text_of(points[i], "commit") == text_of(*culprit, "commit"))
      chart.culprit = static_cast<int>(i);
  }
  for (const auto& p : array_of(answer, "posterior")) chart.posterior.push_back(p.is_number() ? p.get<double>() : 0);
  for (std::size_t i = 0; i < model.steps.size(); ++i) {
    const auto& step = model.steps[i];
    if (!step.seen.value || step.seen.point > chart.merges || step.seen.point < 0) continue;
    const auto [low, high] = i < model.spreads.size() ? model.spreads[i] : std::pair(store::unknown, store::unknown);
    chart.dots.push_back(
        {step.seen.point, step.seen.block, step.value, step.seen.phase == search::Phase::confirm, low, high});
  }
  return chart;
}

void ladder(const json& answer, Page& page) {
  const auto& points = array_of(answer, "points");
  Table table("Levels around the culprit, against the good end", {"merge", "starts", "change", "95 % interval"},
              {false, true, true, true});
  for (const auto& rung : array_of(answer, "ladder")) {
    const auto at = static_cast<std::size_t>(rung.value("point", 0));
    const auto& interval = array_of(rung, "interval");
    if (at >= points.size() || interval.size() != 2) continue;
    const auto end = [&](std::size_t i) {
      return interval[i].is_number() ? interval[i].get<double>() : store::unknown;
    };
    table.row({html(merge_name(points[at])), html(fmt::format("{}", rung.value("starts", 0))),
               html(percent(number_of(rung, "change"))), html(percent_range(end(0), end(1)))});
  }
  if (!table.empty()) page.raw(table.str());
}

// The named merge and its parent, started afresh in turn.
void confirming(const TripModel& model, const json& answer, Page& page) {
  const auto& points = array_of(answer, "points");
  const auto lower_is_better = text_of(answer, "better") == "lower";
  std::map<int, std::map<int, double>> rounds;  // block -> point -> value
  double largest = 0;
  for (const auto& step : model.steps) {
    if (step.seen.phase != search::Phase::confirm || !step.seen.value) continue;
    rounds[step.seen.block][step.seen.point] = step.value;
    largest = std::max(largest, step.value);
  }
  const auto scaled = scale_for(largest, text_of(answer, "unit"));
  Table table("The named merge against its parent, started afresh in turn",
              {"round", "parent", "value, " + scaled.unit, "merge", "value, " + scaled.unit, "change"},
              {true, false, true, false, true, true});
  const auto name = [&](int point) {
    return point >= 0 && static_cast<std::size_t>(point) < points.size()
               ? merge_name(points[static_cast<std::size_t>(point)])
               : std::string();
  };
  for (const auto& [block, seen] : rounds) {
    if (seen.size() < 2) continue;
    const auto &parent = *seen.begin(), &merge = *seen.rbegin();
    table.row({html(fmt::format("{}", block + 1)), html(name(parent.first)),
               html(number(parent.second * scaled.factor)), html(name(merge.first)),
               html(number(merge.second * scaled.factor)),
               html(percent((lower_is_better ? -1 : 1) * (merge.second / parent.second - 1)))});
  }
  if (!table.empty()) page.raw(table.str());
}

void skipped(const json& answer, Page& page) {
  Table table("Merges that could not be measured", {"commit", "why"}, {false, false});
  for (const auto& s : array_of(answer, "skipped"))
    table.row({html(text_of(s, "commit").substr(0, 10)), html(shorten(text_of(s, "why"), 300))});
  if (!table.empty()) page.raw(table.str());
}

void also(const json& answer, Page& page) {
  Table table("The group's other metrics at the culprit, against its parent", {"metric", "change"}, {false, true});
  for (const auto& a : array_of(answer, "also")) {
    const auto failure = text_of(a, "failure");
    table.row(
        {html(text_of(a, "metric")), html(failure.empty() ? percent(number_of(a, "change")) : shorten(failure, 120))});
  }
  if (!table.empty()) page.raw(table.str());
}

std::string steps_table(const TripModel& model, const json& answer) {
  Table table("Every measurement, in order", {"round", "phase", "merge", "value"}, {true, false, false, true});
  const auto& points = array_of(answer, "points");
  const auto unit = text_of(answer, "unit");
  for (const auto& step : model.steps) {
    const auto at = static_cast<std::size_t>(std::max(0, step.seen.point));
    table.row({html(step.seen.block < 0 ? "pilot" : fmt::format("{}", step.seen.block + 1)),
               html(search::to_string(step.seen.phase)),
               html(at < points.size() ? merge_name(points[at]) : step.commit.substr(0, 10)),
               html(step.seen.value ? number(step.value) + " " + unit : shorten(step.failure, 200))});
  }
  return table.str();
}

void bisect_section(const TripModel& model, const json& answer, Page& page) {
  page.heading("Which merge did it");
  if (answer.empty() && !model.group.open) {
    page.paragraph(html("It was not bisected while it was open."));
    return;
  }
  if (answer.empty()) {
    page.paragraph(
        html(fmt::format("Not bisected yet. `nightgate bisect --trip {}` starts it; the next night does so by itself.",
                         model.group.id)));
    return;
  }
  culprit_section(answer, page);
  page.raw(bisect_chart(chart_of(model, answer)));
  confirming(model, answer, page);
  ladder(answer, page);
  also(answer, page);
  skipped(answer, page);
  page.fold(fmt::format("All {} measurements", model.steps.size()), steps_table(model, answer));
  page.heading("How to reproduce");
  page.code((model.group.id == 0 ? "" : fmt::format("nightgate bisect --trip {}\n", model.group.id)) +
            text_of(answer, "reproduce"));
}

}  // namespace

namespace {
// How it ended; empty while it is open.
std::string end_of(const TripModel& model) {
  if (model.group.open) return "";
  const auto any = [&](store::TripState state) {
    return std::any_of(model.group.trips.begin(), model.group.trips.end(),
                       [&](const auto& t) { return t.state == state; });
  };
  if (any(store::TripState::accepted)) return " Closed: accepted with a reason.";
  return any(store::TripState::recovered) ? " Closed: it has recovered." : " Closed: withdrawn by a later judgement.";
}
std::string open_lead_of(const TripModel& model);
std::string bisect_lead_of(const TripModel& model);
}  // namespace

std::string lead_of(const TripModel& model) {
  return model.group.id == 0 ? bisect_lead_of(model) : open_lead_of(model) + end_of(model);
}

namespace {
// "got worse by 34.1 %", "is 5.20 times as bad".
std::string moved(double change) {
  if (std::abs(change) >= 1) return "is " + percent(change);
  const auto size = percent(std::abs(change));
  return (change < 0 ? "got worse by " : "changed by ") + (size.front() == '+' ? size.substr(1) : size);
}

std::string open_lead_of(const TripModel& model) {
  const auto& trips = model.group.trips;
  if (trips.empty()) return "This trip has no metrics.";
  auto lead = fmt::format("{} {}", trips.front().metric, moved(trips.front().change));
  if (trips.size() > 1) lead += fmt::format(" and {} more with it", trips.size() - 1);
  const auto answer = answer_of(model);
  const auto culprit = answer.find("culprit");
  if (culprit != answer.end() && culprit->is_object()) {
    return lead + fmt::format("; the culprit is {} by {}, {} sure.", merge_name(*culprit), text_of(*culprit, "author"),
                              probability(number_of(answer, "probability")));
  }
  const auto outcome = text_of(answer, "outcome");
  if (outcome == "range") return lead + "; the culprit is one of a few merges that can't be told apart.";
  if (outcome == "not_reproduced")
    return lead + "; it could not be reproduced: the machine or its environment changed, not the code.";
  return lead + (model.group.open ? "; the culprit is not known yet." : "; the culprit was not looked for.");
}

// Of a bisect that belongs to no trip.
std::string bisect_lead_of(const TripModel& model) {
  const auto answer = answer_of(model);
  const auto metric = text_of(answer, "metric");
  const auto culprit = answer.find("culprit");
  if (culprit != answer.end() && culprit->is_object()) {
    return fmt::format("{} {}; the culprit is {} by {}, {} sure.", metric, moved(number_of(answer, "change")),
                       merge_name(*culprit), text_of(*culprit, "author"),
                       probability(number_of(answer, "probability")));
  }
  const auto outcome = text_of(answer, "outcome");
  if (outcome.empty()) return "This bisect has no answer yet.";
  if (outcome == "not_reproduced") return metric + ": good and bad end don't differ beyond noise.";
  return fmt::format("{}: {}", metric,
                     outcome == "range" ? "the culprit is one of a few merges." : text_of(answer, "why"));
}
}  // namespace

std::string trip_page(const TripModel& model, const SiteLinks* links) {
  const auto answer = answer_of(model);
  const bool trip = model.group.id != 0;
  Page page(trip ? fmt::format("{}: trip {}", model.project, model.group.id)
                 : fmt::format("{}: bisect {}", model.project, model.bisect),
            lead_of(model),
            !trip              ? ""
            : model.group.open ? "bad"
                               : "good");
  if (links != nullptr) {
    page.site(links->root)
        .links({{"Overview", links->root + "index.html"},
                {"Metrics of " + model.group.machine, links->metric + "../metrics.html"},
                {fmt::format("Night {} (trip)", model.group.tripped),
                 fmt::format("{}{}.html", links->night, model.group.tripped)},
                {"Ledger", links->root + "ledger.html"}});
  }
  if (trip) story(model, links, page);
  bisect_section(model, answer, page);
  page.heading("How sure is this");
  std::string sure = trip ? "One bad night is noise; this tripped on the second." : "";
  if (!answer.empty()) {
    sure += std::string(trip ? " " : "") +
            "Both ends were measured again before the search, every round measured good end, bad end and merges "
            "between them back to back, and the named merge was started afresh against its own parent.";
  }
  if (!answer.empty()) {
    sure += fmt::format(" {} measurements; the allowed error was {}.", answer.value("measurements", std::size_t{0}),
                        probability(number_of(answer, "error")));
  }
  page.paragraph(html(sure));
  for (const auto& remark : model.remarks) page.paragraph(html(remark));
  return page.str();
}

std::string trip_markdown(const TripModel& model, std::size_t most_bytes) {
  const auto answer = answer_of(model);
  std::string out = fmt::format("**{}**\n\n", escape_markdown(lead_of(model)));
  if (!model.group.trips.empty()) out += "| metric | before | after | change |\n|---|---:|---:|---:|\n";
  std::size_t left_out = 0;
  for (const auto& trip : model.group.trips) {
    const auto unit = model.units.find(trip.metric);
    const auto scaled = scale_for(trip.baseline, unit != model.units.end() ? unit->second : "");
    const auto row =
        fmt::format("| {} | {} | {} {} | {} |\n", escape_markdown(trip.metric), number(trip.baseline * scaled.factor),
                    number(trip.level * scaled.factor), escape_markdown(scaled.unit), percent(trip.change));
    if (out.size() + row.size() + 2000 > most_bytes) {
      ++left_out;
    } else {
      out += row;
    }
  }
  if (left_out > 0) out += fmt::format("\n{} more metrics\n", left_out);
  if (model.group.id != 0)
    out +=
        fmt::format("\nLast good night {}, suspect since night {}, tripped in night {} on {}.\n", model.group.last_good,
                    model.group.first, model.group.tripped, escape_markdown(model.group.machine));
  const auto culprit = answer.find("culprit");
  if (culprit != answer.end() && culprit->is_object()) {
    out += fmt::format("\nCulprit: {} by {}, {} sure, {} at this merge; {} measurements.\n",
                       escape_markdown(merge_name(*culprit)), escape_markdown(text_of(*culprit, "author")),
                       probability(number_of(answer, "probability")), percent(number_of(answer, "change")),
                       answer.value("measurements", std::size_t{0}));
  } else if (!answer.empty()) {
    out += "\nBisect: " + escape_markdown(text_of(answer, "outcome") + ": " + text_of(answer, "why")) + "\n";
  }
  return out;
}

json trip_json(const TripModel& model) {
  const auto& g = model.group;
  json out = {{"schema", "nightgate-report-trip/1"},
              {"project", model.project},
              {"id", g.id},
              {"bisect_id", model.bisect},
              {"machine", g.machine},
              {"first", g.first},
              {"last_good", g.last_good},
              {"tripped", g.tripped},
              {"open", g.open},
              {"lead", lead_of(model)},
              {"metrics", json::array()},
              {"bisect", answer_of(model)}};
  for (const auto& trip : g.trips) {
    out["metrics"].push_back({{"metric", trip.metric},
                              {"kind", trip.kind},
                              {"change", trip.change},
                              {"baseline", trip.baseline},
                              {"level", trip.level}});
  }
  return out;
}

}  // namespace nightgate::report
