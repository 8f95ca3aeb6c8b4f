#include "store/open.hpp"

#include "store/cluster.hpp"
#include "store/migrate.hpp"
#include "store/opening.hpp"
#include "store/postgres_store.hpp"

namespace nightgate::store {
namespace {

Status make_database(const Cluster& cluster, const OpenOptions& options) {
  OpenOptions first = options;
  first.where = cluster.connection_string("postgres");
  NG_TRY(auto connection, Connection::connect(first));
  NG_TRY(auto there, connection->run("SELECT 1 FROM pg_database WHERE datname = 'nightgate'"));
  if (!there.empty()) return {};
  const Status made = connection->script("CREATE DATABASE nightgate");
  if (made) return {};
  // Two at once: the other one made it.
  NG_TRY(auto again, connection->run("SELECT 1 FROM pg_database WHERE datname = 'nightgate'"));
  return again.empty() ? made : Status{};
}

}  // namespace

Result<Opened> open_connection(const OpenOptions& options) {
  Opened out;
  if (options.where != "embedded") {
    NG_TRY(out.connection, Connection::connect(options));
    return out;
  }
  NG_TRY(out.cluster, Cluster::use(options.state));
  NG_CHECK(make_database(*out.cluster, options));
  OpenOptions inner = options;
  inner.where = out.cluster->connection_string();
  inner.password.clear();
  const std::weak_ptr<Cluster> cluster = out.cluster;
  NG_TRY(out.connection, Connection::connect(inner, [cluster]() -> Status {
           const auto held = cluster.lock();
           return held ? held->ensure_running() : Status{};
         }));
  return out;
}

Result<std::unique_ptr<Store>> open(const OpenOptions& options) {
  NG_TRY(Opened opened, open_connection(options));
  NG_CHECK(require_schema(*opened.connection, options.migrate || opened.cluster != nullptr));
  return std::make_unique<PostgresStore>(std::move(opened.connection), std::move(opened.cluster));
}

Result<std::vector<int>> migrate(const OpenOptions& options) {
  NG_TRY(Opened opened, open_connection(options));
  return apply_migrations(*opened.connection);
}

Result<StoreStatus> status(const OpenOptions& options) {
  NG_TRY(Opened opened, open_connection(options));
  Connection& db = *opened.connection;
  StoreStatus out;
  out.newest_schema = migrations().back().number;
  NG_TRY(out.schema, schema_version(db));
  NG_TRY(auto about, db.run("SELECT current_setting('server_version'), current_database(), "
                            "pg_database_size(current_database())"));
  out.server_version = about.text(0, 0);
  const char* host = PQhost(db.handle());
  out.where = std::string(host != nullptr ? host : "") + ", database " + about.text(0, 1);
  out.bytes = about.integer(0, 2);
  if (out.schema < 3) return out;
  NG_TRY(
      auto counts,
      db.run("SELECT (SELECT count(*) FROM project), (SELECT count(*) FROM machine), (SELECT count(*) FROM night), "
             "(SELECT count(*) FROM run), (SELECT count(*) FROM measurement), (SELECT count(*) FROM sample), (SELECT "
             "count(*) FROM verdict), (SELECT count(*) FROM trip), (SELECT count(*) FROM bisect)"));
  out.projects = counts.integer(0, 0);
  out.machines = counts.integer(0, 1);
  out.nights = counts.integer(0, 2);
  out.runs = counts.integer(0, 3);
  out.measurements = counts.integer(0, 4);
  out.samples = counts.integer(0, 5);
  out.verdicts = counts.integer(0, 6);
  out.trips = counts.integer(0, 7);
  out.bisects = counts.integer(0, 8);
  return out;
}

}  // namespace nightgate::store
