// Backup and restore, proven by doing: a backup is restored into a throw-away cluster and compared before it counts.
#pragma once

#include <map>
#include <string>

#include "store/open.hpp"

namespace nightgate::store {

struct TableSum {
  std::int64_t rows = 0;
  std::string checksum;  // of all rows, in no order
  bool operator==(const TableSum&) const = default;
};
struct BackupReport {
  fs::path file;
  std::uintmax_t bytes = 0;
  std::map<std::string, TableSum> tables;
  bool verified = false;
  std::string note;  // why it was not verified
};
// Writes `file` (pg_dump's custom format) and `file`.json beside it with every table's rows and checksum, from one
// snapshot. Verified by restoring into a fresh private cluster where PostgreSQL's server programs are installed.
// Code::usage when `file` exists; Code::measure when pg_dump is missing; Code::bad_data when the restored copy differs
// (the file is removed then).
[[nodiscard]] Result<BackupReport> backup(const OpenOptions& options, const fs::path& file);
// Into an empty store only (Code::usage otherwise), in one transaction; compared with `file`.json where that exists.
[[nodiscard]] Result<BackupReport> restore(const OpenOptions& options, const fs::path& file);

}  // namespace nightgate::store
