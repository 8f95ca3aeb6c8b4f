// The ledger: what was tried, measured and decided, kept or dropped. Nothing in it is ever erased.
#pragma once

#include <string>
#include <vector>

#include "ci/report/model.hpp"

namespace nightgate::report {

// "create.rate +12.3 %, p99 same": what the compare said.
[[nodiscard]] std::string result_of(const store::LedgerEntry& entry);
[[nodiscard]] std::string words_of(std::string_view verdict);  // "never run"
[[nodiscard]] std::string ledger_page(const std::vector<store::LedgerEntry>& entries, const std::string& project,
                                      const SiteLinks* links = nullptr);

}  // namespace nightgate::report
