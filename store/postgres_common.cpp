#include "store/postgres_common.hpp"

#include <algorithm>

namespace nightgate::store {
namespace {

// Inserts unless the key is there, then reads the number. Two statements: ON CONFLICT DO NOTHING returns no row.
Result<std::int64_t> insert_or_find(Connection& connection, const std::string& insert, const Params& insert_params,
                                    const std::string& find, const Params& find_params) {
  NG_TRY(auto found, connection.run(find, find_params));
  if (!found.empty()) return found.integer(0, 0);
  NG_CHECK(connection.run(insert, insert_params));
  NG_TRY(auto again, connection.run(find, find_params));
  if (again.empty()) return fail(Code::internal, "a row that was just inserted isn't there: " + insert);
  return again.integer(0, 0);
}

}  // namespace

Result<std::int64_t> project_id(Connection& connection, const std::string& name) {
  const Params key = Params().text(name);
  return insert_or_find(connection, "INSERT INTO project (name) VALUES ($1) ON CONFLICT DO NOTHING", key,
                        "SELECT project_id FROM project WHERE name = $1", key);
}

Result<std::int64_t> machine_id(Connection& connection, const std::string& name, const std::string& machine_class) {
  return insert_or_find(connection, "INSERT INTO machine (name, machine_class) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                        Params().text(name).text(machine_class), "SELECT machine_id FROM machine WHERE name = $1",
                        Params().text(name));
}

Result<std::int64_t> target_id(Connection& connection, std::int64_t project, const Target& target) {
  if (target.digest.empty()) return fail(Code::bad_data, "target \"" + target.label + "\" has no digest");
  NG_TRY(auto put,
         connection.run("INSERT INTO target (project_id, commit, digest, label, title, author, pr) "
                        "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (project_id, commit, digest) DO UPDATE SET "
                        // What is known stays when a later writer knows less.
                        "label = coalesce(nullif(excluded.label, ''), target.label), "
                        "title = coalesce(nullif(excluded.title, ''), target.title), "
                        "author = coalesce(nullif(excluded.author, ''), target.author), "
                        "pr = coalesce(nullif(excluded.pr, 0), target.pr) RETURNING target_id",
                        Params()
                            .integer(project)
                            .text(target.commit)
                            .text(target.digest)
                            .text(target.label)
                            .text(target.title)
                            .text(target.author)
                            .integer(target.pr)));
  return put.integer(0, 0);
}

Result<std::int64_t> definition_id(Connection& connection, const std::string& hash) {
  const Params key = Params().text(hash);
  return insert_or_find(connection, "INSERT INTO definition (hash) VALUES ($1) ON CONFLICT DO NOTHING", key,
                        "SELECT definition_id FROM definition WHERE hash = $1", key);
}

Status put_metrics(Connection& connection, std::int64_t project, const std::vector<MetricInfo>& metrics) {
  if (metrics.empty()) return {};
  std::vector<MetricInfo> sorted = metrics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  // The same name twice in one statement would be refused.
  sorted.erase(std::unique(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.name == b.name; }),
               sorted.end());
  std::vector<std::string> names, units, better;
  std::vector<bool> gated;
  for (const MetricInfo& metric : sorted) {
    names.push_back(metric.name);
    units.push_back(metric.unit);
    better.emplace_back(name_of(metric.better));
    gated.push_back(metric.gated);
  }
  auto put = connection.run(
      "INSERT INTO metric (project_id, name, unit, better, gated) "
      "SELECT $1, u.* FROM unnest($2::text[], $3::text[], $4::text[], $5::boolean[]) AS u (name, unit, better, gated) "
      "LEFT JOIN metric m ON m.project_id = $1 AND m.name = u.name "
      "WHERE (m.unit, m.better, m.gated) IS DISTINCT FROM (u.unit, u.better, u.gated) ORDER BY u.name "
      "ON CONFLICT (project_id, name) DO UPDATE SET unit = excluded.unit, better = excluded.better, "
      "gated = excluded.gated",
      Params().integer(project).texts(names).texts(units).texts(better).booleans(gated));
  if (!put) return tl::unexpected(std::move(put).error());
  return {};
}

Result<std::int64_t> put_run(Connection& connection, const Run& run) {
  NG_TRY(const auto project, project_id(connection, run.project));
  NG_TRY(const auto machine, machine_id(connection, run.machine, run.machine_class));
  return insert_or_find(connection,
                        "INSERT INTO run (uuid, kind, project_id, machine_id, machine_class, started, version, "
                        "settings, conditions, state, ended, result) VALUES ($1::uuid, $2, $3, $4, $5, $6, $7, $8, $9, "
                        "$10, $11, $12) ON CONFLICT DO NOTHING",
                        Params()
                            .text(run.uuid)
                            .text(name_of(run.kind))
                            .integer(project)
                            .integer(machine)
                            .text(run.machine_class)
                            .time(run.started)
                            .text(run.version)
                            .json(run.settings)
                            .json(run.conditions)
                            .text(name_of(run.state))
                            .time_or_null(run.ended)
                            .json(run.result),
                        "SELECT run_id FROM run WHERE uuid = $1::uuid", Params().text(run.uuid));
}

Result<NightRow> night_row(Connection& connection, const std::string& run) {
  NG_TRY(auto rows,
         connection.run("SELECT n.night_id, n.project_id, n.machine_id, n.sequence, n.state, n.run_id = r.run_id "
                        "FROM run r JOIN night_attempt a USING (run_id) JOIN night n USING (night_id) "
                        "WHERE r.uuid = $1::uuid",
                        Params().text(run)));
  if (rows.empty()) return fail(Code::not_found, "run " + run + " is no night's run in this store");
  return NightRow{rows.integer(0, 0),
                  rows.integer(0, 1),
                  rows.integer(0, 2),
                  rows.integer(0, 3),
                  value_of<NightState>(rows.text(0, 4)),
                  rows.boolean(0, 5)};
}

Status take_back_trips(Connection& db, std::int64_t project, std::int64_t machine, Sequence night) {
  const Params key = Params().integer(project).integer(machine).integer(night);
  NG_CHECK(
      db.run("UPDATE trip t SET state = 'withdrawn' FROM trip_group g WHERE g.group_id = t.group_id AND "
             "g.project_id = $1 AND g.machine_id = $2 AND t.tripped = $3 AND t.state IN ('open', 'recovered')",
             key));
  NG_CHECK(
      db.run("UPDATE trip t SET state = 'open', closed = NULL FROM trip_group g WHERE g.group_id = t.group_id AND "
             "g.project_id = $1 AND g.machine_id = $2 AND t.closed = $3 AND t.state = 'recovered'",
             key));
  return {};
}

const std::string& select_nights() {
  static const std::string sql =
      "SELECT p.name, m.name, n.sequence, " + micros("n.started") +
      ", n.attempt, r.uuid, n.machine_class, t.commit, t.digest, t.label, t.title, t.author, t.pr, n.definition, "
      "n.state, n.reason, n.environment, n.open_question, n.voided, n.void_reason, n.imported, "
      "n.xmin::text::bigint "
      "FROM night n JOIN project p USING (project_id) JOIN machine m USING (machine_id) JOIN run r USING (run_id) "
      "LEFT JOIN target t USING (target_id) ";
  return sql;
}

Night night_from(const Rows& rows, int row) {
  Night night;
  night.project = rows.text(row, 0);
  night.machine = rows.text(row, 1);
  night.sequence = rows.integer(row, 2);
  night.started = rows.time(row, 3);
  night.attempt = rows.small(row, 4);
  night.run = rows.text(row, 5);
  night.machine_class = rows.text(row, 6);
  if (!rows.is_null(row, 8)) {
    night.target = Target{rows.text(row, 7),  rows.text(row, 8),  rows.text(row, 9),
                          rows.text(row, 10), rows.text(row, 11), rows.small(row, 12)};
  }
  night.definition = rows.text(row, 13);
  night.state = value_of<NightState>(rows.text(row, 14));
  night.reason = rows.text(row, 15);
  night.environment = rows.boolean(row, 16);
  night.open_question = rows.boolean(row, 17);
  night.voided = rows.boolean(row, 18);
  night.void_reason = rows.text(row, 19);
  night.imported = rows.boolean(row, 20);
  night.revision = rows.integer(row, 21);
  return night;
}

const std::string& select_runs() {
  static const std::string sql = "SELECT r.uuid, r.kind, p.name, m.name, r.machine_class, " + micros("r.started") +
                                 ", r.version, r.settings, r.conditions, r.state, " + micros("r.ended") +
                                 ", r.result FROM run r JOIN project p USING (project_id) "
                                 "JOIN machine m USING (machine_id) ";
  return sql;
}

Run run_from(const Rows& rows, int row) {
  Run run;
  run.uuid = rows.text(row, 0);
  run.kind = value_of<RunKind>(rows.text(row, 1));
  run.project = rows.text(row, 2);
  run.machine = rows.text(row, 3);
  run.machine_class = rows.text(row, 4);
  run.started = rows.time(row, 5);
  run.version = rows.text(row, 6);
  run.settings = rows.text(row, 7);
  run.conditions = rows.text(row, 8);
  run.state = value_of<RunState>(rows.text(row, 9));
  run.ended = rows.time_or_null(row, 10);
  run.result = rows.text(row, 11);
  return run;
}

}  // namespace nightgate::store
