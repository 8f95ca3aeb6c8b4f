// Writing the pages of nights and trips into the report directory.
#pragma once

#include <string>
#include <vector>

#include "ci/report/model.hpp"
#include "ci/report/site.hpp"
#include "config/config.hpp"
#include "gate/base/files.hpp"

namespace nightgate::cli {

[[nodiscard]] fs::path report_directory(const config::Config& config);
[[nodiscard]] report::Source report_source(store::Store& store, const config::Config& config,
                                           const std::string& machine);

// What a trip's page says at its end about how the nights of this config are made.
[[nodiscard]] std::vector<std::string> page_remarks(const config::Config& config);

// Brings the site in `directory` up to what the store holds; `all`: writes every page again.
[[nodiscard]] Result<report::SiteWritten> write_site(store::Store& store, const config::Config& config,
                                                     const fs::path& directory, bool all = false);

// Writes <directory>/night-N.html and a page for each trip named; returns the paths written.
[[nodiscard]] Result<std::vector<fs::path>> write_pages(const report::Source& source, const config::Config& config,
                                                        store::Sequence night, const std::vector<std::int64_t>& trips);

}  // namespace nightgate::cli
