// Opening the store: the private cluster in the state directory, or a PostgreSQL server that exists.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "gate/base/clock.hpp"
#include "gate/base/files.hpp"
#include "gate/base/result.hpp"
#include "store/store.hpp"

namespace nightgate::store {

struct OpenOptions {
  std::string where = "embedded";  // or a connection string without a password (several hosts pass through)
  std::string password;            // never in the connection string; never printed
  fs::path state;                  // state directory: the private cluster lives in <state>/postgres
  // An empty database always gets the schema. An older one: the private cluster's is migrated at once, another
  // server's only when asked (other machines may still run an older nightgate): else Code::usage, with what to type.
  bool migrate = false;
  std::chrono::seconds connect_timeout{10};
  std::chrono::milliseconds statement_timeout{60000};
  std::chrono::milliseconds lock_timeout{15000};
};

// Code::measure: PostgreSQL's programs are missing (names the package); Code::away: no answer; Code::denied;
// Code::usage: the schema is newer than this program, or the cluster was made by another major version (both with the
// way out). The private cluster runs while any store of it is open, in this or another process.
[[nodiscard]] Result<std::unique_ptr<Store>> open(const OpenOptions& options);

struct StoreStatus {
  std::string server_version;  // "15.20"
  std::string where;           // socket directory or host, database; never a password
  int schema = 0, newest_schema = 0;
  std::int64_t bytes = 0;  // of the database
  std::int64_t projects = 0, machines = 0, nights = 0, runs = 0, measurements = 0, samples = 0, verdicts = 0, trips = 0,
               bisects = 0;
};
[[nodiscard]] Result<StoreStatus> status(const OpenOptions& options);
// Brings the schema up to date; the numbers of the migrations that were applied.
[[nodiscard]] Result<std::vector<int>> migrate(const OpenOptions& options);

}  // namespace nightgate::store
