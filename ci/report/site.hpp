// The site: an index, a page per metric with its whole history, per night, per trip, per release, and the ledger.
//
//   DIR/index.html  ledger.html  nightgate.css  nightgate.js  site.json (what is written, for the next time)
//   DIR/trip/ID.html   DIR/release/NAME.html
//   DIR/machine/NAME/metrics.html   DIR/machine/NAME/metric/METRIC.html   DIR/machine/NAME/night/N.html
//
// Addresses never change. Links are relative and nothing outside is asked for, so that it works from file:// and below
// any path of a server. The script is optional.
#pragma once

#include <string>

#include "ci/report/model.hpp"
#include "gate/base/files.hpp"

namespace nightgate::report {

struct SiteOptions {
  std::string project;
  double min_change = 0.05;
  std::map<std::string, std::string> aliases;  // old metric name -> new one
  bool all = false;                            // write every page again
  // A night rewrites the pages of metrics with news, and of others at most so many, the stalest first. Each page says
  // up to which night it goes.
  int metric_pages = 150;
  int detailed_nights = 30;  // of the nights that are new to the site: those with figures and conditions of each start
  std::vector<std::string> remarks;  // shown on the pages of trips
};
struct SiteWritten {
  int pages = 0;      // written or rewritten
  int unchanged = 0;  // looked at, and left as they were
};
// Brings the site in `directory` up to what the store holds. Code::usage when the directory holds an index.html that is
// not ours. A site of another format version is written anew.
[[nodiscard]] Result<SiteWritten> write_site(store::Store& store, const fs::path& directory,
                                             const SiteOptions& options);

}  // namespace nightgate::report
