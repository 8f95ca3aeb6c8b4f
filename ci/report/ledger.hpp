// The ledger: what was tried, measured and decided, kept or dropped. Nothing in it is ever erased.
#pragma once

#include <string>
#include <vector>

#include "ci/report/model.hpp"

namespace nightgate::report {

// What an entry's document says, as text for tables.
struct LedgerFacts {
  std::string base, head;  // "v1.4 (commit 5d2f01c, build 0a1b2c3d4e5f)"
  std::string stands_on;   // in a ladder: the candidate below, else empty
  std::string result;      // "create.rate +12.3 %, p99 same, 9 pairs; on top of pool: create.rate same"
  int pairs = 0;
};
[[nodiscard]] LedgerFacts facts_of(const store::LedgerEntry& entry);
[[nodiscard]] std::string words_of(std::string_view verdict);           // "never run"
[[nodiscard]] std::string verdict_of(const store::LedgerEntry& entry);  // "superseded by entry 9"
[[nodiscard]] bool given_up(const store::LedgerEntry& entry);           // dropped or superseded
// Two tables: what is decided or still open, and what was tried and dropped.
[[nodiscard]] std::string ledger_markdown(const std::vector<store::LedgerEntry>& entries);
[[nodiscard]] std::string ledger_page(const std::vector<store::LedgerEntry>& entries, const std::string& project,
                                      const SiteLinks* links = nullptr);

}  // namespace nightgate::report
