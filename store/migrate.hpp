// The schema's version in the database, and bringing it up to date.
#pragma once

#include <vector>

#include "store/migrations.hpp"
#include "store/postgres_connection.hpp"

namespace nightgate::store {

// 0: the schema isn't there yet.
[[nodiscard]] Result<int> schema_version(Connection& connection);
// Applies what is missing up to `up_to`, each file in a transaction of its own, under an advisory lock so that a second
// migrator waits and then finds nothing to do. Code::usage when the database is newer than this program.
[[nodiscard]] Result<std::vector<int>> apply_migrations(Connection& connection, int up_to = 0 /* 0: the newest */);
// Code::usage unless the schema is exactly the newest; an empty database and (with `migrate`) an older one are brought
// up to date first.
[[nodiscard]] Status require_schema(Connection& connection, bool migrate);

}  // namespace nightgate::store
