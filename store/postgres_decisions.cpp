// What people decided, and what that does in the tables.
#include "store/postgres_common.hpp"
#include "store/postgres_store.hpp"

namespace nightgate::store {
namespace {

const std::string& select_decisions() {
  static const std::string sql =
      "SELECT d.decision_id, d.kind, p.name, d.machine, d.metric, d.night, d.detail, d.reason, d.who, " +
      micros("d.at") + ", d.undone FROM decision d JOIN project p USING (project_id) ";
  return sql;
}

Decision decision_from(const Rows& rows, int row) {
  Decision out;
  out.id = rows.integer(row, 0);
  out.kind = value_of<DecisionKind>(rows.text(row, 1));
  out.project = rows.text(row, 2);
  out.machine = rows.text(row, 3);
  out.metric = rows.text(row, 4);
  out.night = rows.integer(row, 5);
  out.detail = rows.text(row, 6);
  out.reason = rows.text(row, 7);
  out.who = rows.text(row, 8);
  out.at = rows.time(row, 9);
  out.undone = rows.boolean(row, 10);
  return out;
}

// Nothing when the same decision is there already: then its effects are, too.
Result<std::optional<std::int64_t>> insert_decision(Connection& db, std::int64_t project, const Decision& decision) {
  NG_TRY(auto rows,
         db.run("INSERT INTO decision (project_id, machine, kind, metric, night, at, detail, reason, who) VALUES ($1, "
                "$2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING decision_id",
                Params()
                    .integer(project)
                    .text(decision.machine)
                    .text(name_of(decision.kind))
                    .text(decision.metric)
                    .integer(decision.night)
                    .time(decision.at)
                    .text(decision.detail)
                    .text(decision.reason)
                    .text(decision.who)));
  if (rows.empty()) return std::nullopt;
  return rows.integer(0, 0);
}

// A night that is out trips nothing and closes nothing; put back, it is judged again and does both anew.
Status set_voided(Connection& db, std::int64_t project, const Decision& decision, bool voided,
                  const std::string& reason) {
  NG_TRY(auto rows,
         db.run("UPDATE night SET voided = $4, void_reason = $5 WHERE project_id = $1 AND sequence = $3 AND machine_id "
                "= (SELECT machine_id FROM machine WHERE name = $2) RETURNING machine_id",
                Params().integer(project).text(decision.machine).integer(decision.night).boolean(voided).text(reason)));
  if (!rows.empty()) {
    return voided ? take_back_trips(db, project, rows.integer(0, 0), decision.night) : Status{};
  }
  return fail(Code::not_found, "there is no night " + std::to_string(decision.night) + " on machine " +
                                   decision.machine + "; `nightgate history` lists them");
}

// On one machine, or on all when none is named.
Status accept_trips(Connection& db, std::int64_t project, std::int64_t id, const Decision& decision) {
  NG_TRY(
      auto rows,
      db.run(
          "WITH closed AS (UPDATE trip t SET state = 'accepted', closed = $4 FROM trip_group g, metric m, "
          "machine h WHERE g.group_id = t.group_id AND m.metric_id = t.metric_id AND h.machine_id = "
          "g.machine_id AND g.project_id = $1 AND m.name = $3 AND ($2 = '' OR h.name = $2) AND t.state = 'open' "
          "RETURNING t.group_id, t.metric_id) "
          "INSERT INTO decision_trip (decision_id, group_id, metric_id) SELECT $5, group_id, metric_id FROM "
          "closed ON CONFLICT DO NOTHING",
          Params().integer(project).text(decision.machine).text(decision.metric).integer(decision.night).integer(id)));
  return {};
}

Status reopen_trips(Connection& db, std::int64_t id) {
  NG_CHECK(
      db.run("UPDATE trip t SET state = 'open', closed = NULL FROM decision_trip d WHERE d.decision_id = $1 AND "
             "t.group_id = d.group_id AND t.metric_id = d.metric_id AND t.state = 'accepted'",
             Params().integer(id)));
  return {};
}

Result<Decision> undo_last(Connection& db, std::int64_t project, const Decision& undo) {
  NG_TRY(auto rows, db.run(select_decisions() +
                               "WHERE d.project_id = $1 AND ($2 = '' OR d.machine IN ('', $2)) AND d.kind <> 'undo' "
                               "AND NOT d.undone ORDER BY d.decision_id DESC LIMIT 1",
                           Params().integer(project).text(undo.machine)));
  if (rows.empty()) return fail(Code::not_found, "there is no decision to take back");
  Decision last = decision_from(rows, 0);
  NG_CHECK(db.run("UPDATE decision SET undone = true WHERE decision_id = $1", Params().integer(last.id)));
  last.undone = true;
  if (last.kind == DecisionKind::void_night) NG_CHECK(set_voided(db, project, last, false, ""));
  if (last.kind == DecisionKind::accept) NG_CHECK(reopen_trips(db, last.id));
  return last;
}

Result<Decision> find_again(Connection& db, std::int64_t project, const Decision& decision) {
  NG_TRY(auto rows,
         db.run(select_decisions() + "WHERE d.project_id = $1 AND d.machine = $2 AND d.kind = $3 AND d.metric = $4 AND "
                                     "d.night = $5 AND d.at = $6",
                Params()
                    .integer(project)
                    .text(decision.machine)
                    .text(name_of(decision.kind))
                    .text(decision.metric)
                    .integer(decision.night)
                    .time(decision.at)));
  if (rows.empty()) return fail(Code::internal, "a decision that is there can't be read");
  return decision_from(rows, 0);
}

Result<Decision> decide(Connection& db, const Decision& decision) {
  NG_TRY(const auto project, project_id(db, decision.project));
  NG_TRY(const auto id, insert_decision(db, project, decision));
  if (!id) return find_again(db, project, decision);
  Decision out = decision;
  out.id = *id;
  if (decision.kind == DecisionKind::undo) return undo_last(db, project, decision);
  if (decision.kind == DecisionKind::void_night) NG_CHECK(set_voided(db, project, decision, true, decision.reason));
  if (decision.kind == DecisionKind::accept) NG_CHECK(accept_trips(db, project, *id, decision));
  return out;
}

}  // namespace

Status PostgresStore::accept_again(const Decision& decision) {
  return connection_->in_transaction([&]() -> Status {
    NG_TRY(const auto project, project_id(*connection_, decision.project));
    return accept_trips(*connection_, project, decision.id, decision);
  });
}

Result<Decision> PostgresStore::put_decision(const Decision& decision) {
  return connection_->in_transaction([&]() { return decide(*connection_, decision); });
}

Result<std::vector<Decision>> PostgresStore::decisions(const std::string& project, const std::string& machine) {
  NG_TRY(auto rows,
         query(select_decisions() + "WHERE p.name = $1 AND d.machine IN ('', $2) ORDER BY d.at, d.decision_id",
               Params().text(project).text(machine)));
  std::vector<Decision> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(decision_from(rows, row));
  return out;
}

}  // namespace nightgate::store
