// Keeping the store small: raw samples older than a date are folded into the medians that were stored with them.
#pragma once

#include "store/open.hpp"

namespace nightgate::store {

struct Folded {
  std::int64_t measurements = 0, repeats = 0, samples = 0;  // folded; repeats and samples removed
};
// Medians, verdicts, readings and bisect steps stay; repeats with their samples and conditions go. Of runs that began
// before `older_than` and are not running. dry_run only counts. A crash in between leaves whole measurements.
[[nodiscard]] Result<Folded> fold_samples(const OpenOptions& options, const std::string& project, Instant older_than,
                                          bool dry_run);

}  // namespace nightgate::store
