// The index: what is red now, what changed lately, the nights as a calendar, the machines' health.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "ci/report/page.hpp"
#include "ci/report/site_parts.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::report {
namespace {

constexpr std::size_t most_events = 40;

std::string date_of(Instant at) { return to_rfc3339(at).substr(0, 10); }

// "#123 Title (5d2f01c4ab), 99.3 % sure"; what is known instead.
std::string culprit_of(const store::TripGroup& group) {
  const auto answer = parse_json(group.answer.empty() ? "{}" : group.answer);
  if (!answer || !answer->is_object()) return "unknown";
  const auto text = [](const nlohmann::json& at, const char* key) {
    const auto found = at.find(key);
    return found != at.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto culprit = answer->find("culprit");
  if (culprit == answer->end() || !culprit->is_object()) {
    const auto outcome = text(*answer, "outcome");
    return outcome.empty() ? "not bisected yet" : outcome == "not_reproduced" ? "not reproduced" : outcome;
  }
  const auto pr = culprit->find("pr");
  const auto sure = answer->find("probability");
  return fmt::format(
      "{}{} ({}){}", pr != culprit->end() && pr->is_number_integer() ? fmt::format("#{} ", pr->get<int>()) : "",
      shorten(text(*culprit, "title"), 80), text(*culprit, "commit").substr(0, 10),
      sure != answer->end() && sure->is_number() ? ", " + probability(sure->get<double>()) + " sure" : "");
}

// Nights of the last ones that say nothing about some of their metrics.
std::set<store::Sequence> partly_silent(const MachineModel& machine) {
  std::set<store::Sequence> out;
  for (const auto& m : machine.recent) {
    for (const auto& p : m.points) {
      if (p.verdict == "no_verdict" || p.verdict == "environment_suspect") out.insert(p.sequence);
    }
  }
  return out;
}

struct Counts {
  int red = 0, suspect = 0, silent = 0;  // metrics; recent nights without a verdict, or not about all of their metrics
  int looked_at = 0;                     // recent nights, but for those taken out
};
Counts counts_of(const MachineModel& machine) {
  Counts out;
  for (const auto& m : machine.recent) {
    const auto& last = m.points.back();
    if (!machine.nights.empty() && last.sequence + recent_nights < machine.nights.back().sequence) continue;
    out.red += last.red || last.verdict == "trip" ? 1 : 0;
    out.suspect += last.verdict == "suspect" && !last.red ? 1 : 0;
  }
  const auto partly = partly_silent(machine);
  const auto from = machine.nights.size() > recent_nights ? machine.nights.size() - recent_nights : 0;
  for (std::size_t i = from; i < machine.nights.size(); ++i) {
    const auto& n = machine.nights[i];
    if (n.voided) continue;
    ++out.looked_at;
    out.silent += n.state != store::NightState::judged || n.environment || partly.count(n.sequence) > 0 ? 1 : 0;
  }
  return out;
}

void red_now(const std::vector<MachineModel>& machines, Page& page) {
  page.heading("Red now");
  Table table("Open regressions", {"metric", "change", "machine", "since night", "culprit", "more"},
              {false, true, false, true, false, false});
  for (const auto& machine : machines) {
    for (const auto& group : machine.trips) {
      for (const auto& trip : group.trips) {
        if (trip.state != store::TripState::open) continue;
        table.row({link(metric_address(group.machine, trip.metric), trip.metric),
                   {"<strong>▼ " + escape_html(percent(trip.change)) + "</strong>"},
                   html(group.machine),
                   link(night_address(group.machine, group.first), fmt::format("{}", group.first)),
                   html(culprit_of(group)),
                   link(trip_address(group.id), fmt::format("trip {}", group.id))},
                  "bad");
      }
    }
  }
  page.raw(table.empty() ? "<p>Nothing.</p>" : table.str());
  Table suspects("Suspect in the last night: one bad night is noise, the next one decides",
                 {"metric", "change", "machine", "night"}, {false, true, false, true});
  for (const auto& machine : machines) {
    for (const auto& m : machine.recent) {
      const auto& last = m.points.back();
      if (last.verdict != "suspect" || last.red) continue;
      suspects.row({link(metric_address(machine.machine.name, m.metric), m.metric), html(percent(last.change)),
                    html(machine.machine.name),
                    link(night_address(machine.machine.name, last.sequence), fmt::format("{}", last.sequence))});
    }
  }
  if (!suspects.empty()) page.raw(suspects.str());
}

struct Event {
  Instant at;
  std::string machine;
  store::Sequence night = 0;
  std::string verdict, what;
  Html subject;
};

void metric_events(const MachineModel& machine, const std::map<store::Sequence, Instant>& when,
                   std::vector<Event>& out) {
  for (const auto& m : machine.recent) {
    for (std::size_t i = 0; i < m.points.size(); ++i) {
      const auto& p = m.points[i];
      const auto at = when.find(p.sequence);
      if (at == when.end()) continue;
      const auto subject = link(metric_address(machine.machine.name, m.metric), m.metric);
      if (p.verdict == "trip" || p.verdict == "gain" || p.verdict == "recovered")
        out.push_back({at->second, machine.machine.name, p.sequence, p.verdict, percent(p.change), subject});
      else if (i > 0 && p.definition != m.points[i - 1].definition)
        out.push_back({at->second, machine.machine.name, p.sequence, "new definition", "a new level begins", subject});
    }
  }
}

std::vector<Event> events_of(const std::vector<MachineModel>& machines) {
  std::vector<Event> out;
  for (const auto& machine : machines) {
    std::map<store::Sequence, Instant> when;
    const auto from = machine.nights.size() > recent_nights ? machine.nights.size() - recent_nights : 0;
    for (std::size_t i = from; i < machine.nights.size(); ++i) {
      const auto& n = machine.nights[i];
      when[n.sequence] = n.started;
      const auto add = [&](const char* verdict, const std::string& why) {
        out.push_back({n.started, n.machine, n.sequence, verdict, shorten(why, 160), html("the whole night")});
      };
      if (n.voided)
        add("voided", n.void_reason);
      else if (n.environment)
        add("environment_suspect", n.reason);
      else if (n.state == store::NightState::no_verdict)
        add("no_verdict", n.reason);
    }
    metric_events(machine, when, out);
    for (const auto& d : machine.decisions) {
      if (d.kind != store::DecisionKind::accept || d.undone || when.empty() || d.at < when.begin()->second) continue;
      out.push_back({d.at, machine.machine.name, d.night, "accepted", shorten(d.reason, 160),
                     link(metric_address(machine.machine.name, d.metric), d.metric)});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.at > b.at; });
  return out;
}

void changed_lately(const std::vector<MachineModel>& machines, Page& page) {
  page.heading("What changed lately");
  const auto events = events_of(machines);
  Table table(fmt::format("The last {} nights of each machine", recent_nights),
              {"night", "date", "what", "metric", "how", "machine"}, {true, false, false, false, false, false},
              Filter::offered);
  for (std::size_t i = 0; i < std::min(events.size(), most_events); ++i) {
    const auto& e = events[i];
    table.row({link(night_address(e.machine, e.night), fmt::format("{}", e.night)), day(date_of(e.at)),
               badge(e.verdict), e.subject, html(e.what), html(e.machine)},
              e.verdict == "trip" ? "bad" : "");
  }
  page.raw(table.empty() ? "<p>Nothing: every figure stayed where it was.</p>" : table.str());
  if (events.size() > most_events)
    page.paragraph(
        html(fmt::format("And {} more; the pages of the nights have them all.", events.size() - most_events)));
}

struct Day {
  std::string style, sign, words;
};
struct Marks {
  std::map<store::Sequence, int> tripped, began;                 // how many of what
  std::vector<std::pair<store::Sequence, store::Sequence>> red;  // from a trip to its end
  std::set<store::Sequence> partly;                              // some metrics have no verdict
};
Marks marks_of(const MachineModel& machine) {
  Marks out;
  out.partly = partly_silent(machine);
  for (const auto& group : machine.trips) {
    ++out.began[group.first];
    for (const auto& trip : group.trips) {
      ++out.tripped[trip.tripped];
      const bool open = trip.state == store::TripState::open;
      const auto end = open ? std::numeric_limits<store::Sequence>::max() : trip.closed.value_or(trip.tripped);
      if (trip.state != store::TripState::withdrawn) out.red.emplace_back(trip.tripped, end);
    }
  }
  return out;
}

Day day_of(const store::Night& n, const Marks& marks) {
  if (n.voided) return {"plain", "–", "taken out: " + shorten(n.void_reason, 80)};
  if (n.state != store::NightState::judged) return {"unsure", "○", "no verdict"};
  if (n.environment) return {"unsure", "○", "environment suspect"};
  if (const auto at = marks.tripped.find(n.sequence); at != marks.tripped.end())
    return {"bad", "▼", counted(at->second, "metric") + " tripped"};
  if (marks.began.count(n.sequence) > 0) return {"suspect", "?", "a regression began here"};
  const bool red = std::any_of(marks.red.begin(), marks.red.end(),
                               [&](const auto& span) { return span.first < n.sequence && n.sequence < span.second; });
  if (red) return {"suspect", "▽", "still red"};
  if (marks.partly.count(n.sequence) > 0) return {"unsure", "○", "some metrics have no verdict"};
  return {"good", "✓", "judged, nothing red"};
}

// A column per week, a row per weekday, Monday first; the newest year. Several nights of one day: the last of them.
std::string calendar(const MachineModel& machine) {
  using namespace std::chrono;
  if (machine.nights.empty()) return {};
  const auto marks = marks_of(machine);
  const auto date = [](const store::Night& n) { return floor<days>(n.started); };
  const auto last = date(machine.nights.back());
  const auto first = std::max(date(machine.nights.front()), last - days(53 * 7));
  const auto monday = first - (weekday(first) - Monday);
  std::map<sys_days, const store::Night*> by_day;
  for (const auto& n : machine.nights) {
    if (date(n) >= first) by_day[date(n)] = &n;
  }
  auto out = fmt::format(
      "<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Calendar of {0}\"><ol class=\"calendar\">",
      escape_html(machine.machine.name));
  for (const auto& [at, night] : by_day) {
    const auto d = day_of(*night, marks);
    const auto words = fmt::format("night {}, {}: {}", night->sequence, date_of(night->started), d.words);
    out += fmt::format(
        "<li class=\"{}\" style=\"grid-column:{};grid-row:{}\"><a href=\"{}\" title=\"{}\" "
        "aria-label=\"{}\">{}</a></li>",
        d.style, (at - monday).count() / 7 + 1, (at - monday).count() % 7 + 1,
        escape_html(night_address(night->machine, night->sequence)), escape_html(words), escape_html(words), d.sign);
  }
  return out + "</ol></div>\n";
}

double typical_noise(const MachineModel& machine) {
  std::vector<double> between;
  for (const auto& n : machine.noise) {
    if (std::isfinite(n.between)) between.push_back(n.between);
  }
  if (between.empty()) return store::unknown;
  std::sort(between.begin(), between.end());
  return between[(between.size() - 1) / 2];
}

void health(const std::vector<MachineModel>& machines, Page& page) {
  page.heading("Machines");
  Table table("Health of the machines",
              {"machine", "metrics", "last night", "kind",
               fmt::format("without a full verdict, last {} nights", recent_nights), "noise between starts"},
              {false, true, true, false, true, true});
  for (const auto& m : machines) {
    const auto noise = typical_noise(m);
    const auto counts = counts_of(m);
    const auto last = m.nights.empty() ? html("none")
                                       : Html{link(night_address(m.machine.name, m.nights.back().sequence),
                                                   fmt::format("{}", m.nights.back().sequence))
                                                  .text +
                                              " (" + day(date_of(m.nights.back().started)).text + ")"};
    table.row({html(m.machine.name),
               link(machine_address(m.machine.name) + "metrics.html", fmt::format("{} metrics", m.recent.size())), last,
               html(m.machine.machine_class.empty() ? "not known" : m.machine.machine_class),
               html(fmt::format("{} of {}", counts.silent, counted(counts.looked_at, "night"))),
               html(std::isfinite(noise) ? fmt::format("{:.1f} %", 100 * noise) : "not measured")});
  }
  page.raw(table.str());
}

}  // namespace

std::string index_page(const SiteOptions& options, const std::vector<MachineModel>& machines,
                       const std::vector<std::pair<std::string, std::string>>& releases) {
  Counts all;
  std::size_t nights = 0, metrics = 0;
  for (const auto& m : machines) {
    const auto c = counts_of(m);
    all.red += c.red;
    all.suspect += c.suspect;
    all.silent += c.silent;
    nights += m.nights.size();
    metrics += m.recent.size();
  }
  const auto lead = all.red > 0       ? fmt::format("{} of {} metrics are red.", all.red, metrics)
                    : all.suspect > 0 ? fmt::format("Nothing is red; {} metrics are suspect.", all.suspect)
                    : metrics == 0    ? std::string("Nothing was measured yet.")
                                      : std::string("Nothing is red.");
  Page page(options.project + ": nights", lead, all.red > 0 ? "bad" : all.suspect > 0 ? "unsure" : "good");
  std::vector<std::pair<std::string, std::string>> nav;
  for (const auto& m : machines)
    nav.emplace_back("Metrics of " + m.machine.name, machine_address(m.machine.name) + "metrics.html");
  nav.emplace_back("Ledger", "ledger.html");
  page.site("").links(nav);
  const auto tile = [](std::string_view tone, int n, std::string_view what) {
    return fmt::format("<li class=\"{}\"><b>{}</b>{}</li>", tone, n, what);
  };
  page.raw("<ul class=\"tiles\">" + tile(all.red > 0 ? "bad" : "good", all.red, "metrics red") +
           tile(all.suspect > 0 ? "unsure" : "good", all.suspect, "suspect") +
           tile(all.silent > 0 ? "unsure" : "good", all.silent, "recent nights without a full verdict") +
           tile("", static_cast<int>(metrics), "metrics") + tile("", static_cast<int>(nights), "nights") + "</ul>");
  red_now(machines, page);
  changed_lately(machines, page);
  page.heading("Nights");
  for (const auto& m : machines) {
    page.paragraph(
        html(fmt::format("{}: a column is a week. ✓ nothing red, ? a regression began, ▼ it tripped, ▽ still red, "
                         "○ no verdict, or not about every metric, – taken out.",
                         m.machine.name)));
    page.raw(calendar(m));
  }
  health(machines, page);
  if (!releases.empty()) {
    page.heading("Releases");
    std::string list = "<ul>";
    for (const auto& [name, address] : releases) list += "<li>" + link(address, name).text + "</li>";
    page.raw(list + "</ul>");
  }
  return page.str();
}

}  // namespace nightgate::report
