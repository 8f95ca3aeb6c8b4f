// Bisects with their steps, the ledger, notifications; and the few helpers of the class.
#include "store/cluster.hpp"
#include "store/postgres_common.hpp"
#include "store/postgres_store.hpp"

namespace nightgate::store {
namespace {

const std::string& select_bisects() {
  static const std::string sql =
      "SELECT b.bisect_id, r.uuid, p.name, m.name, b.metric, b.trip, b.good, b.bad, b.problem, b.state, b.answer, " +
      micros("b.started") + ", " + micros("b.ended") +
      " FROM bisect b JOIN run r USING (run_id) JOIN project p ON p.project_id = b.project_id JOIN machine m ON "
      "m.machine_id = b.machine_id ";
  return sql;
}

Bisect bisect_from(const Rows& rows, int row) {
  Bisect out;
  out.id = rows.integer(row, 0);
  out.run = rows.text(row, 1);
  out.project = rows.text(row, 2);
  out.machine = rows.text(row, 3);
  out.metric = rows.text(row, 4);
  out.trip = rows.integer(row, 5);
  out.good = rows.text(row, 6);
  out.bad = rows.text(row, 7);
  out.problem = rows.text(row, 8);
  out.state = value_of<BisectState>(rows.text(row, 9));
  out.answer = rows.text(row, 10);
  out.started = rows.time(row, 11);
  out.ended = rows.time_or_null(row, 12);
  return out;
}

BisectStep step_from(const Rows& rows, int row) {
  BisectStep out;
  out.seen.block = rows.small(row, 0);
  out.seen.machine = rows.small(row, 1);
  out.seen.order = rows.small(row, 2);
  out.seen.point = rows.small(row, 3);
  out.seen.phase = value_of<search::Phase>(rows.text(row, 4));
  out.seen.candidate = rows.small(row, 5);
  if (!rows.is_null(row, 6)) out.seen.value = rows.number(row, 6);
  out.value = rows.number(row, 7);
  out.commit = rows.text(row, 8);
  out.digest = rows.text(row, 9);
  out.failure = rows.text(row, 10);
  out.machine = rows.text(row, 11);
  out.run = rows.text(row, 12);
  out.at = rows.time(row, 13);
  return out;
}

const std::string& select_notifications() {
  static const std::string sql = "SELECT p.name, n.kind, n.key, n.body, n.state, n.tries, " + micros("n.created") +
                                 ", " + micros("n.not_before") +
                                 ", n.last_error, n.result FROM notification n JOIN project p USING (project_id) ";
  return sql;
}

Notification notification_from(const Rows& rows, int row) {
  return {rows.text(row, 0),
          rows.text(row, 1),
          rows.text(row, 2),
          rows.text(row, 3),
          value_of<Delivery>(rows.text(row, 4)),
          rows.small(row, 5),
          rows.time(row, 6),
          rows.time_or_null(row, 7),
          rows.text(row, 8),
          rows.text(row, 9)};
}

}  // namespace

PostgresStore::~PostgresStore() = default;

Result<Rows> PostgresStore::query(const std::string& sql, const Params& params) {
  return connection_->in_transaction([&]() { return connection_->run(sql, params); });
}

Status PostgresStore::command(const std::string& sql, const Params& params) {
  auto rows = query(sql, params);
  if (!rows) return tl::unexpected(std::move(rows).error());
  return {};
}

Status PostgresStore::must_touch(const std::string& sql, const Params& params, const std::string& missing) {
  NG_TRY(auto rows, query(sql, params));
  if (rows.affected() > 0) return {};
  return fail(Code::not_found, missing);
}

Result<std::int64_t> PostgresStore::put_bisect(const Bisect& bisect) {
  return connection_->in_transaction([&]() -> Result<std::int64_t> {
    Connection& db = *connection_;
    NG_CHECK(
        db.run("INSERT INTO bisect (run_id, project_id, machine_id, metric, trip, good, bad, problem, state, "
               "answer, started, ended) SELECT run_id, project_id, machine_id, $2, $3, $4, $5, $6, $7, $8, $9, $10 "
               "FROM run WHERE uuid = $1::uuid ON CONFLICT DO NOTHING",
               Params()
                   .text(bisect.run)
                   .text(bisect.metric)
                   .integer(bisect.trip)
                   .text(bisect.good)
                   .text(bisect.bad)
                   .json(bisect.problem)
                   .text(name_of(bisect.state))
                   .json(bisect.answer)
                   .time(bisect.started)
                   .time_or_null(bisect.ended)));
    NG_TRY(auto rows, db.run("SELECT bisect_id FROM bisect JOIN run USING (run_id) WHERE uuid = $1::uuid",
                             Params().text(bisect.run)));
    if (rows.empty()) return fail(Code::not_found, "run " + bisect.run + " is not in this store");
    return rows.integer(0, 0);
  });
}

Status PostgresStore::update_bisect(std::int64_t id, BisectState state, const std::string& answer,
                                    std::optional<Instant> ended) {
  return must_touch("UPDATE bisect SET state = $2, answer = coalesce($3, answer), ended = $4 WHERE bisect_id = $1",
                    Params().integer(id).text(name_of(state)).json(answer).time_or_null(ended),
                    "there is no bisect " + std::to_string(id) + " in this store");
}

Result<std::optional<Bisect>> PostgresStore::bisect(std::int64_t id) {
  NG_TRY(auto rows, query(select_bisects() + "WHERE b.bisect_id = $1", Params().integer(id)));
  if (rows.empty()) return std::nullopt;
  return bisect_from(rows, 0);
}

Result<std::vector<Bisect>> PostgresStore::bisects(const std::string& project, int limit) {
  NG_TRY(auto rows, query(select_bisects() + "WHERE p.name = $1 ORDER BY b.bisect_id DESC LIMIT $2",
                          Params().text(project).integer(limit)));
  std::vector<Bisect> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(bisect_from(rows, row));
  return out;
}

Status PostgresStore::put_bisect_step(std::int64_t bisect, const BisectStep& step) {
  return connection_->transaction([&]() -> Status {
    NG_TRY(auto run, connection_->run("SELECT run_id FROM run WHERE uuid = $1::uuid", Params().text(step.run)));
    if (run.empty()) return fail(Code::not_found, "run " + step.run + " is not in this store");
    NG_CHECK(
        connection_->run("INSERT INTO bisect_step (bisect_id, block, slot, position, point, phase, candidate, "
                         "log_value, value, commit, digest, failure, machine, run_id, at) VALUES ($1, $2, $3, $4, "
                         "$5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING",
                         Params()
                             .integer(bisect)
                             .integer(step.seen.block)
                             .integer(step.seen.machine)
                             .integer(step.seen.order)
                             .integer(step.seen.point)
                             .text(name_of(step.seen.phase))
                             .integer(step.seen.candidate)
                             .number(step.seen.value.value_or(unknown))
                             .number(step.value)
                             .text(step.commit)
                             .text(step.digest)
                             .text(step.failure)
                             .text(step.machine)
                             .integer(run.integer(0, 0))
                             .time(step.at)));
    return {};
  });
}

Result<std::vector<BisectStep>> PostgresStore::bisect_steps(std::int64_t bisect) {
  NG_TRY(auto rows,
         query("SELECT s.block, s.slot, s.position, s.point, s.phase, s.candidate, s.log_value, s.value, s.commit, "
               "s.digest, s.failure, s.machine, r.uuid, " +
                   micros("s.at") +
                   " FROM bisect_step s JOIN run r USING (run_id) WHERE s.bisect_id = $1 ORDER BY s.block, s.slot, "
                   "s.position",
               Params().integer(bisect)));
  std::vector<BisectStep> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(step_from(rows, row));
  return out;
}

Result<std::int64_t> PostgresStore::put_ledger(const LedgerEntry& entry) {
  return connection_->in_transaction([&]() -> Result<std::int64_t> {
    Connection& db = *connection_;
    NG_TRY(const auto project, project_id(db, entry.project));
    NG_CHECK(
        db.run("INSERT INTO ledger (project_id, run, label, note, at, base, head, result, verdict, why, "
               "superseded_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
               Params()
                   .integer(project)
                   .text(entry.run)
                   .text(entry.label)
                   .text(entry.note)
                   .time(entry.at)
                   .text(entry.base)
                   .text(entry.head)
                   .json(entry.result)
                   .text(entry.verdict)
                   .text(entry.why)
                   .text(entry.superseded_by)));
    NG_TRY(auto rows, db.run("SELECT entry_id FROM ledger WHERE project_id = $1 AND run = $2 AND label = $3",
                             Params().integer(project).text(entry.run).text(entry.label)));
    if (rows.empty()) return fail(Code::internal, "a ledger entry that was just written isn't there");
    return rows.integer(0, 0);
  });
}

Status PostgresStore::change_ledger(const LedgerChange& change) {
  return connection_->transaction([&]() -> Status {
    NG_TRY(auto put, connection_->run(
                         "INSERT INTO ledger_change (entry_id, at, verdict, why, superseded_by, who) VALUES ($1, $2, "
                         "$3, $4, $5, $6) ON CONFLICT DO NOTHING",
                         Params()
                             .integer(change.entry)
                             .time(change.at)
                             .text(change.verdict)
                             .text(change.why)
                             .text(change.superseded_by)
                             .text(change.who)));
    if (put.affected() == 0) return {};  // this very change is there already
    NG_CHECK(connection_->run(
        "UPDATE ledger SET verdict = $2, why = $3, superseded_by = $4 WHERE entry_id = $1",
        Params().integer(change.entry).text(change.verdict).text(change.why).text(change.superseded_by)));
    return {};
  });
}

Result<std::vector<LedgerEntry>> PostgresStore::ledger(const std::string& project) {
  NG_TRY(auto rows, query("SELECT l.entry_id, p.name, l.run, l.label, l.note, " + micros("l.at") +
                              ", l.base, l.head, l.result, l.verdict, l.why, l.superseded_by FROM ledger l JOIN "
                              "project p USING (project_id) WHERE p.name = $1 ORDER BY l.at, l.entry_id",
                          Params().text(project)));
  std::vector<LedgerEntry> out;
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({rows.integer(row, 0), rows.text(row, 1), rows.text(row, 2), rows.text(row, 3), rows.text(row, 4),
                   rows.time(row, 5), rows.text(row, 6), rows.text(row, 7), rows.text(row, 8), rows.text(row, 9),
                   rows.text(row, 10), rows.text(row, 11)});
  }
  return out;
}

Result<std::vector<LedgerChange>> PostgresStore::ledger_changes(std::int64_t entry) {
  NG_TRY(auto rows, query("SELECT entry_id, verdict, why, superseded_by, who, " + micros("at") +
                              " FROM ledger_change WHERE entry_id = $1 ORDER BY at",
                          Params().integer(entry)));
  std::vector<LedgerChange> out;
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({rows.integer(row, 0), rows.text(row, 1), rows.text(row, 2), rows.text(row, 3), rows.text(row, 4),
                   rows.time(row, 5)});
  }
  return out;
}

Status PostgresStore::put_notification(const Notification& notification) {
  return connection_->transaction([&]() -> Status {
    NG_TRY(const auto project, project_id(*connection_, notification.project));
    NG_CHECK(
        connection_->run("INSERT INTO notification (project_id, kind, key, body, state, created, not_before) VALUES "
                         "($1, $2, $3, $4, 'pending', $5, $6) ON CONFLICT (project_id, kind, key) DO UPDATE SET "
                         "body = excluded.body, state = 'pending', tries = 0, not_before = excluded.not_before, "
                         "last_error = '' WHERE notification.body <> excluded.body",
                         Params()
                             .integer(project)
                             .text(notification.kind)
                             .text(notification.key)
                             .json(notification.body)
                             .time(notification.created)
                             .time_or_null(notification.not_before)));
    return {};
  });
}

Status PostgresStore::update_notification(const Notification& notification) {
  return must_touch(
      "UPDATE notification SET state = $4, tries = $5, not_before = $6, last_error = $7, result = coalesce($8, result) "
      "WHERE project_id = (SELECT project_id FROM project WHERE name = $1) AND kind = $2 AND key = $3",
      Params()
          .text(notification.project)
          .text(notification.kind)
          .text(notification.key)
          .text(name_of(notification.state))
          .integer(notification.tries)
          .time_or_null(notification.not_before)
          .text(notification.last_error)
          .json(notification.result),
      "there is no notification " + notification.kind + " " + notification.key);
}

Result<std::vector<Notification>> PostgresStore::pending_notifications(const std::string& project) {
  NG_TRY(auto rows,
         query(select_notifications() + "WHERE p.name = $1 AND n.state = 'pending' ORDER BY n.created, n.kind, n.key",
               Params().text(project)));
  std::vector<Notification> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(notification_from(rows, row));
  return out;
}

Result<std::optional<Notification>> PostgresStore::notification(const std::string& project, const std::string& kind,
                                                                const std::string& key) {
  NG_TRY(auto rows, query(select_notifications() + "WHERE p.name = $1 AND n.kind = $2 AND n.key = $3",
                          Params().text(project).text(kind).text(key)));
  if (rows.empty()) return std::nullopt;
  return notification_from(rows, 0);
}

Status PostgresStore::prepare_quiet() {
  if (!cluster_) return {};
  return connection_->script("CHECKPOINT");
}

}  // namespace nightgate::store
