// What the reports show, read from the store once; the same model becomes HTML, JSON, Markdown and terminal text.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gate/base/result.hpp"
#include "store/store.hpp"

namespace nightgate::report {

// Where a page's links go when it is one of a site; relative addresses.
struct SiteLinks {
  std::string root;           // to the site's root: "../../../"
  std::string metric;         // to the folder of the machine's metric pages
  std::string night;          // to the folder of the machine's nights
  std::string before, after;  // the neighbours' addresses; empty: none
};

struct SeriesModel {
  store::MetricInfo info;
  std::vector<store::SeriesPoint> points;  // oldest first
};

struct NightModel {
  std::string project;
  store::Night night;
  store::Run run;
  std::vector<store::Verdict> verdicts;
  std::vector<store::MetricInfo> metrics;
  std::vector<store::Measurement> measurements;
  std::map<std::string, std::string> definitions;  // hash -> JSON: what was started and how, of the target's
  std::vector<store::TripGroup> open_trips;        // of the project, as of now
  std::vector<SeriesModel> series;                 // of the metrics that are red or suspect
  double min_change = 0.05;
};

// A regression and its bisect; or a bisect that somebody asked for, which belongs to no trip: its group has the id 0,
// and of it only the machine is known.
struct TripModel {
  std::string project;
  store::TripGroup group;
  std::int64_t bisect = 0;  // 0: none was begun
  std::optional<store::Night> first_night, good_night, trip_night;
  std::vector<SeriesModel> series;           // of the group's strongest metrics, at most 12
  std::map<std::string, std::string> units;  // of all of them
  std::vector<store::BisectStep> steps;
  std::vector<std::pair<double, double>> spreads;  // of each step: its lowest and highest repeat, where known
  std::string answer;                              // JSON of the bisect, also of an unfinished one; empty: none
  std::vector<std::string> remarks;                // shown at the end: how the nights were made and the like
  double min_change = 0.05;
};

struct Source {
  store::Store& store;
  std::string project, machine;
  double min_change = 0.05;
  int series_nights = 120;  // shown in charts
};
// Code::not_found where there is no such night or trip.
[[nodiscard]] Result<NightModel> load_night(const Source& source, store::Sequence night);
// Run, measurements and definitions of model.night.
[[nodiscard]] Status load_details(store::Store& store, NightModel& model);
[[nodiscard]] Result<TripModel> load_trip(const Source& source, std::int64_t trip);
[[nodiscard]] Result<TripModel> load_bisect(const Source& source, std::int64_t bisect);  // with its trip, if it has one

// Verdict first, in one sentence.
[[nodiscard]] std::string lead_of(const NightModel& model);
[[nodiscard]] std::string lead_of(const TripModel& model);

// links: as a page of a site; null: a page that stands alone.
[[nodiscard]] std::string night_page(const NightModel& model, const SiteLinks* links = nullptr);
[[nodiscard]] std::string trip_page(const TripModel& model, const SiteLinks* links = nullptr);
[[nodiscard]] std::string night_markdown(const NightModel& model, std::size_t most_bytes);
[[nodiscard]] std::string trip_markdown(const TripModel& model, std::size_t most_bytes);
[[nodiscard]] nlohmann::json night_json(const NightModel& model);
[[nodiscard]] nlohmann::json trip_json(const TripModel& model);

}  // namespace nightgate::report
