#include "store/migrate.hpp"

#include <fmt/format.h>

namespace nightgate::store {
namespace {

// Key of the advisory lock that migrators take ("nightgate" in ASCII, cut to 8 bytes).
constexpr std::int64_t migrator_lock = 0x6E69676874676174;

int newest_known() { return migrations().back().number; }

tl::unexpected<Error> newer_schema(int version) {
  return fail(Code::usage, fmt::format("the store's schema has version {}, this nightgate knows versions up to {}: "
                                       "install the newer nightgate that made it",
                                       version, newest_known()));
}

// One file, whole or not at all. False when somebody else applied it in the meantime.
Result<bool> apply(Connection& connection, const Migration& migration) {
  return connection.in_transaction([&]() -> Result<bool> {
    // A migration may take long, and so may waiting for the other migrator.
    NG_CHECK(connection.script("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10min'"));
    NG_CHECK(connection.run("SELECT pg_advisory_xact_lock($1)", Params().integer(migrator_lock)));
    NG_TRY(const int version, schema_version(connection));
    if (version > newest_known()) return newer_schema(version);
    if (version >= migration.number) return false;
    if (version == 0) {
      NG_CHECK(connection.script(
          "CREATE SCHEMA IF NOT EXISTS nightgate; CREATE TABLE schema_version (version integer PRIMARY KEY, "
          "name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"));
    }
    NG_CHECK(connection.script(std::string(migration.sql)));
    NG_CHECK(connection.run("INSERT INTO schema_version (version, name) VALUES ($1, $2)",
                            Params().integer(migration.number).text(migration.name)));
    return true;
  });
}

}  // namespace

Result<int> schema_version(Connection& connection) {
  // Asked of the catalog's tables: to_regclass may answer from a cache older than the lock we waited for.
  NG_TRY(auto there, connection.run("SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = "
                                    "c.relnamespace WHERE n.nspname = 'nightgate' AND c.relname = 'schema_version')"));
  if (!there.boolean(0, 0)) return 0;
  NG_TRY(auto rows, connection.run("SELECT coalesce(max(version), 0) FROM nightgate.schema_version"));
  return rows.small(0, 0);
}

Result<std::vector<int>> apply_migrations(Connection& connection, int up_to) {
  NG_TRY(const int version, schema_version(connection));
  if (version > newest_known()) return newer_schema(version);
  std::vector<int> out;
  for (const Migration& migration : migrations()) {
    if (migration.number <= version || (up_to > 0 && migration.number > up_to)) continue;
    auto applied = apply(connection, migration);
    if (!applied) {
      return with_context(std::move(applied).error(), fmt::format("applying migration {}", migration.name));
    }
    if (*applied) out.push_back(migration.number);
  }
  return out;
}

Status require_schema(Connection& connection, bool migrate) {
  NG_TRY(const int version, schema_version(connection));
  if (version > newest_known()) return newer_schema(version);
  if (version == newest_known()) return {};
  if (version > 0 && !migrate) {
    return fail(Code::usage, fmt::format("the store's schema has version {}, this nightgate needs {}: run `nightgate "
                                         "store migrate` once every machine that uses this store has it",
                                         version, newest_known()));
  }
  NG_CHECK(apply_migrations(connection));
  return {};
}

}  // namespace nightgate::store
