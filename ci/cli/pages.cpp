#include "ci/cli/pages.hpp"

#include <fmt/format.h>

namespace nightgate::cli {

fs::path report_directory(const config::Config& config) {
  return config.report.directory.empty() ? config.state / "report" : config.report.directory;
}

report::Source report_source(store::Store& store, const config::Config& config, const std::string& machine) {
  return {store, config.project, machine, config.gate.min_change, 120};
}

std::vector<std::string> page_remarks(const config::Config& config) {
  if (config.night.min_gap_hours > 0) return {};
  return {
      "The nights of this history are minutes apart (min_gap_hours is 0 in its config): they count as "
      "separate nights here, as real ones, hours apart, would."};
}

Result<report::SiteWritten> write_site(store::Store& store, const config::Config& config, const fs::path& directory,
                                       bool all) {
  report::SiteOptions how;
  how.project = config.project;
  how.min_change = config.gate.min_change;
  how.aliases = config.aliases;
  how.all = all;
  how.remarks = page_remarks(config);
  return report::write_site(store, directory, how);
}

Result<std::vector<fs::path>> write_pages(const report::Source& source, const config::Config& config,
                                          store::Sequence night, const std::vector<std::int64_t>& trips) {
  const auto directory = report_directory(config);
  NG_CHECK(make_directories(directory));
  std::vector<fs::path> written;
  if (night > 0) {
    NG_TRY(const auto model, report::load_night(source, night));
    written.push_back(directory / fmt::format("night-{}.html", night));
    NG_CHECK(write_file(written.back(), report::night_page(model)));
  }
  for (const auto id : trips) {
    NG_TRY(auto model, report::load_trip(source, id));
    model.remarks = page_remarks(config);
    written.push_back(directory / fmt::format("trip-{}.html", id));
    NG_CHECK(write_file(written.back(), report::trip_page(model)));
  }
  return written;
}

}  // namespace nightgate::cli
