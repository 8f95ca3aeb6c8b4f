// The site, step by step: what the store holds -> what is stale -> those pages -> the index -> the memory of it.
#include "ci/report/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ci/report/ledger.hpp"
#include "ci/report/release.hpp"
#include "ci/report/site_parts.hpp"
#include "ci/report/style.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

constexpr std::size_t metrics_at_once = 250;  // bounds what is in memory
constexpr store::Sequence nights_at_once = 20;
constexpr int most_nights = 1000000, most_trips = 100000;

std::string merge_text(const store::Night& night) {
  if (!night.target) return "";
  const auto& t = *night.target;
  auto out = t.pr > 0 ? fmt::format("#{} ", t.pr) : std::string();
  out += shorten(t.title.empty() ? t.label : t.title, 60);
  const auto commit = t.commit.substr(0, 10);
  if (commit.empty() || out.find(commit.substr(0, 7)) != std::string::npos) return out;
  return out.empty() ? commit : out + " (" + commit + ")";
}

std::string decided(const std::vector<store::Decision>& decisions) {
  std::string out;
  for (const auto& d : decisions) out += fmt::format("{}{} ", d.id, d.undone ? "u" : "");
  return out;
}

class Site {
 public:
  Site(store::Store& store, fs::path directory, const SiteOptions& options)
      : store_(store), options_(options), directory_(std::move(directory)), files_(directory_) {}

  Result<SiteWritten> go() {
    NG_TRY(before_, read_manifest(directory_, options_.project));
    if (options_.all) before_ = {};
    NG_CHECK(make_directories(directory_));
    NG_TRY(metrics_, store_.metrics(options_.project));
    NG_TRY(trips_, store_.trips(options_.project, most_trips));
    NG_TRY(const auto machines, store_.machines(options_.project));
    for (const auto& machine : machines) {
      NG_TRY(auto model, load_machine(machine));
      if (model.nights.empty()) continue;
      NG_CHECK(write_nights(model));
      NG_CHECK(write_metrics(model));
      NG_CHECK(files_.write_if_changed(machine_address(machine.name) + "metrics.html", metrics_page(options_, model)));
      machines_.push_back(std::move(model));
    }
    NG_CHECK(write_trips());
    NG_CHECK(write_rest());
    NG_CHECK(write_manifest(directory_, options_.project, now_));
    return files_.written();
  }

 private:
  Result<MachineModel> load_machine(const store::Machine& machine) {
    MachineModel out;
    out.machine = machine;
    NG_TRY(out.nights, store_.nights(options_.project, machine.name, store::newest, most_nights));
    std::reverse(out.nights.begin(), out.nights.end());
    for (const auto& night : out.nights)
      out.labels[night.sequence] = {to_rfc3339(night.started).substr(0, 10), merge_text(night)};
    for (const auto& info : metrics_) out.metrics[info.name] = info;
    for (const auto& group : trips_) {
      if (group.machine == machine.name) out.trips.push_back(group);
    }
    NG_TRY(out.decisions, store_.decisions(options_.project, machine.name));
    NG_TRY(out.noise, store_.noise(options_.project, machine.name));
    if (out.nights.empty()) return out;
    NG_TRY(out.recent, histories(machine.name, {}, out.nights.back().sequence - recent_nights + 1, store::newest));
    return out;
  }

  // By today's names: what was measured under an old name belongs to the new one.
  Result<std::vector<store::MetricHistory>> histories(const std::string& machine, std::vector<std::string> names,
                                                      store::Sequence first, store::Sequence last) {
    for (const auto& [old_name, new_name] : options_.aliases) {
      if (std::find(names.begin(), names.end(), new_name) != names.end()) names.push_back(old_name);
    }
    NG_TRY(auto found, store_.histories(options_.project, machine, names, first, last));
    std::map<std::string, store::MetricHistory> by_name;
    for (auto& history : found) {
      const auto renamed = options_.aliases.find(history.metric);
      auto& place = by_name[renamed == options_.aliases.end() ? history.metric : renamed->second];
      place.points.insert(place.points.end(), std::make_move_iterator(history.points.begin()),
                          std::make_move_iterator(history.points.end()));
    }
    std::vector<store::MetricHistory> out;
    for (auto& [name, history] : by_name) {
      std::stable_sort(history.points.begin(), history.points.end(),
                       [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
      history.metric = name;
      out.push_back(std::move(history));
    }
    return out;
  }

  // ---- nights ----
  Status write_nights(const MachineModel& machine) {
    const auto& known = before_.machines[machine.machine.name].nights;
    auto& now = now_.machines[machine.machine.name].nights;
    std::vector<std::size_t> stale;
    for (std::size_t i = 0; i < machine.nights.size(); ++i) {
      const auto& night = machine.nights[i];
      now[night.sequence] = night.revision;
      const auto there = known.find(night.sequence);
      const bool fresh = there != known.end() && there->second == night.revision;
      // The one before the first new night gets its link to it.
      const bool gets_link = i + 1 < machine.nights.size() && known.find(machine.nights[i + 1].sequence) == known.end();
      if (!fresh || gets_link) stale.push_back(i);
    }
    std::size_t at = 0;
    while (at < stale.size()) {
      const auto first = machine.nights[stale[at]].sequence;
      auto end = at;
      while (end < stale.size() && machine.nights[stale[end]].sequence < first + nights_at_once) ++end;
      NG_TRY(auto chunk, histories(machine.machine.name, {}, first, machine.nights[stale[end - 1]].sequence));
      for (; at < end; ++at) NG_CHECK(write_night(machine, stale[at], chunk, stale.size() - at));
    }
    return {};
  }

  // `chunk`: histories that hold this night. `left`: how many are to be written, this one included.
  Status write_night(const MachineModel& machine, std::size_t at, const std::vector<store::MetricHistory>& chunk,
                     std::size_t left) {
    NightModel model;
    model.project = options_.project;
    model.min_change = options_.min_change;
    model.night = machine.nights[at];
    for (const auto& history : chunk) {
      const auto point = std::lower_bound(history.points.begin(), history.points.end(), model.night.sequence,
                                          [](const auto& p, store::Sequence s) { return p.sequence < s; });
      if (point == history.points.end() || point->sequence != model.night.sequence || point->verdict.empty()) continue;
      const auto info = machine.metrics.find(history.metric);
      if (info != machine.metrics.end()) model.metrics.push_back(info->second);
      model.verdicts.push_back({history.metric,
                                point->verdict,
                                {},
                                point->reason,
                                point->value,
                                point->baseline,
                                point->change,
                                point->red,
                                point->nights_left,
                                {},
                                {}});
    }
    if (left <= static_cast<std::size_t>(std::max(0, options_.detailed_nights))) {
      NG_CHECK(load_details(store_, model));
    }
    SiteLinks links{"../../../", "../metric/", "", {}, {}};
    if (at > 0) links.before = fmt::format("{}.html", machine.nights[at - 1].sequence);
    if (at + 1 < machine.nights.size()) links.after = fmt::format("{}.html", machine.nights[at + 1].sequence);
    return files_.write(night_address(machine.machine.name, model.night.sequence), night_page(model, &links));
  }

  // ---- metrics ----
  // Past nights that changed or went make every page stale, for the history is on each of them.
  [[nodiscard]] bool history_changed(const MachineModel& machine, const Manifest::MachinePages& known) const {
    std::map<store::Sequence, std::int64_t> now;
    for (const auto& night : machine.nights) now[night.sequence] = night.revision;
    return std::any_of(known.nights.begin(), known.nights.end(), [&](const auto& night) {
      const auto there = now.find(night.first);
      return there == now.end() || there->second != night.second;
    });
  }

  [[nodiscard]] static bool news(const store::HistoryPoint& p) {
    return is_bad(p) || p.verdict == "gain" || p.verdict == "recovered" || p.verdict == "gain_pending" ||
           p.verdict == "recovery_pending";
  }

  Status write_metrics(const MachineModel& machine) {
    const auto& name = machine.machine.name;
    const auto& known = before_.machines[name];
    auto& now = now_.machines[name];
    now.metrics = known.metrics;
    now.decisions = decided(machine.decisions);
    const bool all = history_changed(machine, known) || known.decisions != now.decisions;
    std::vector<std::string> wanted;
    std::vector<std::pair<store::Sequence, std::string>> quiet;  // the stalest first
    std::set<std::string> seen;
    for (const auto& m : machine.recent) {
      seen.insert(m.metric);
      const auto page = known.metrics.find(m.metric);
      if (page == known.metrics.end() || all) {
        wanted.push_back(m.metric);
      } else if (m.points.back().sequence > page->second.upto) {
        const bool has_news = page->second.open || std::any_of(m.points.begin(), m.points.end(), [&](const auto& p) {
                                return p.sequence > page->second.upto && news(p);
                              });
        if (has_news)
          wanted.push_back(m.metric);
        else
          quiet.emplace_back(page->second.upto, m.metric);
      }
    }
    for (const auto& info : metrics_) {  // metrics that are measured no more have pages too
      const bool renamed = options_.aliases.find(info.name) != options_.aliases.end();
      if (!renamed && seen.count(info.name) == 0 && (all || known.metrics.find(info.name) == known.metrics.end()))
        wanted.push_back(info.name);
    }
    std::sort(quiet.begin(), quiet.end());
    for (std::size_t i = 0; i < std::min(quiet.size(), static_cast<std::size_t>(std::max(0, options_.metric_pages)));
         ++i)
      wanted.push_back(quiet[i].second);
    return write_metric_pages(machine, wanted, now);
  }

  Status write_metric_pages(const MachineModel& machine, const std::vector<std::string>& wanted,
                            Manifest::MachinePages& now) {
    for (std::size_t at = 0; at < wanted.size(); at += metrics_at_once) {
      const auto end = std::min(wanted.size(), at + metrics_at_once);
      const std::vector<std::string> names(wanted.begin() + static_cast<std::ptrdiff_t>(at),
                                           wanted.begin() + static_cast<std::ptrdiff_t>(end));
      NG_TRY(const auto chunk,
             histories(machine.machine.name, names, std::numeric_limits<store::Sequence>::min(), store::newest));
      for (const auto& history : chunk) {
        const auto info = machine.metrics.find(history.metric);
        if (info == machine.metrics.end()) continue;
        NG_CHECK(files_.write(metric_address(machine.machine.name, history.metric),
                              metric_page(options_, machine, info->second, history.points)));
        now.metrics[history.metric] = {history.points.back().sequence, news(history.points.back())};
      }
    }
    return {};
  }

  // ---- trips, and what there is one of ----
  [[nodiscard]] store::Sequence newest_night(const std::string& machine) const {
    const auto at =
        std::find_if(machines_.begin(), machines_.end(), [&](const auto& m) { return m.machine.name == machine; });
    return at == machines_.end() ? 0 : at->nights.back().sequence;
  }

  Status write_trips() {
    for (const auto& group : trips_) {
      auto made_from = fmt::format("{} {} {}", group.bisect, group.trips.size(), group.open);
      for (const auto& trip : group.trips)
        made_from += fmt::format(" {}:{}", static_cast<int>(trip.state), trip.change);
      // An open trip's picture goes on with the nights: each of them for a fortnight, then one a week, not all at once.
      const auto night = newest_night(group.machine);
      if (group.open)
        made_from += fmt::format(" night {}", night - group.tripped < 14 ? night : (night + group.id) / 7);
      made_from = sha256_hex(made_from + group.answer).substr(0, 16);
      now_.trips[group.id] = made_from;
      const auto known = before_.trips.find(group.id);
      if (known != before_.trips.end() && known->second == made_from) continue;
      NG_TRY(auto model, load_trip({store_, options_.project, group.machine, options_.min_change}, group.id));
      model.remarks = options_.remarks;
      const auto folder = "../" + machine_address(group.machine);
      const SiteLinks links{"../", folder + "metric/", folder + "night/", {}, {}};
      NG_CHECK(files_.write(trip_address(group.id), trip_page(model, &links)));
    }
    return {};
  }

  // Their names and addresses, newest first.
  Result<std::vector<std::pair<std::string, std::string>>> write_releases() {
    std::vector<std::pair<std::string, std::string>> out;
    NG_TRY(const auto releases, load_releases(store_, options_.project));
    const SiteLinks links{"../", "", "", {}, {}};
    for (const auto& release : releases) {
      const auto name = slug(release.model.to);
      NG_CHECK(files_.write_if_changed("release/" + name + ".json", release.document));
      NG_CHECK(
          files_.write_if_changed("release/" + name + ".html", release_page(release.model, &links, name + ".json")));
      out.emplace_back(lead_of(release.model), "release/" + name + ".html");
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  Status write_rest() {
    NG_TRY(const auto entries, store_.ledger(options_.project));
    const SiteLinks links{"", "", "", {}, {}};
    NG_CHECK(files_.write_if_changed("ledger.html", ledger_page(entries, options_.project, &links)));
    NG_CHECK(files_.write_if_changed("nightgate.css", style_sheet()));
    NG_CHECK(files_.write_if_changed("nightgate.js", site_script()));
    NG_TRY(const auto releases, write_releases());
    return files_.write_if_changed("index.html", index_page(options_, machines_, releases));
  }

  store::Store& store_;
  const SiteOptions& options_;
  fs::path directory_;
  SiteFiles files_;
  Manifest before_, now_;
  std::vector<store::MetricInfo> metrics_;
  std::vector<store::TripGroup> trips_;
  std::vector<MachineModel> machines_;
};

}  // namespace

Result<SiteWritten> write_site(store::Store& store, const fs::path& directory, const SiteOptions& options) {
  return Site(store, directory, options).go();
}

}  // namespace nightgate::report
