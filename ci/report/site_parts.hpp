// Inside the site: what its pages are made from, and the files it consists of.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ci/report/history_chart.hpp"
#include "ci/report/model.hpp"
#include "ci/report/site.hpp"

namespace nightgate::report {

// What was written the last time, kept as site.json.
struct Manifest {
  struct MetricPage {
    store::Sequence upto = 0;  // newest night on the page
    bool open = false;         // its newest verdict there was news
  };
  struct MachinePages {
    std::map<store::Sequence, std::int64_t> nights;  // revision
    std::map<std::string, MetricPage> metrics;
    std::string decisions;  // what was decided when the metric pages were written
  };
  std::map<std::string, MachinePages> machines;
  std::map<std::int64_t, std::string> trips;  // what a trip's page was made from
};
// An empty one when there is none, or one of another format.
[[nodiscard]] Result<Manifest> read_manifest(const fs::path& directory, const std::string& project);
[[nodiscard]] Status write_manifest(const fs::path& directory, const std::string& project, const Manifest& manifest);

// Writes pages: whole or not at all to a reader, without waiting for the disk (a site can be made again).
class SiteFiles {
 public:
  explicit SiteFiles(fs::path directory) : directory_(std::move(directory)) {}
  [[nodiscard]] Status write(const fs::path& below, std::string_view text);
  [[nodiscard]] Status write_if_changed(const fs::path& below, std::string_view text);
  [[nodiscard]] const SiteWritten& written() const { return written_; }

 private:
  fs::path directory_;
  std::set<fs::path> made_;
  SiteWritten written_;
};

// A machine as the pages need it.
struct MachineModel {
  store::Machine machine;
  std::vector<store::Night> nights;  // oldest first
  NightLabels labels;
  std::map<std::string, store::MetricInfo> metrics;
  std::vector<store::TripGroup> trips;  // of this machine, newest first
  std::vector<store::Decision> decisions;
  std::vector<store::Noise> noise;
  std::vector<store::MetricHistory> recent;  // the last nights of every metric
};
inline constexpr int recent_nights = 30;

// Addresses from the site's root.
[[nodiscard]] std::string machine_address(const std::string& machine);  // "machine/NAME/"
[[nodiscard]] std::string metric_address(const std::string& machine, const std::string& metric);
[[nodiscard]] std::string night_address(const std::string& machine, store::Sequence night);
[[nodiscard]] std::string trip_address(std::int64_t trip);

[[nodiscard]] std::string metric_page(const SiteOptions& options, const MachineModel& machine,
                                      const store::MetricInfo& info, const std::vector<store::HistoryPoint>& points);
[[nodiscard]] std::string metrics_page(const SiteOptions& options, const MachineModel& machine);
[[nodiscard]] std::string index_page(const SiteOptions& options, const std::vector<MachineModel>& machines,
                                     const std::vector<std::pair<std::string, std::string>>& releases);

}  // namespace nightgate::report
