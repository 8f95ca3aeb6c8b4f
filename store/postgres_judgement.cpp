// Verdicts, the gate's memory, and the trips that a night opens and closes.
#include <fmt/format.h>

#include <thread>

#include "store/postgres_common.hpp"
#include "store/postgres_store.hpp"
#include "store/postgres_trips.hpp"

namespace nightgate::store {
namespace {

// Snapshots kept: the newest ones for voiding a recent night, every 30th for an older one.
constexpr int snapshots_kept = 40;
constexpr int snapshot_step = 30;

Status replace_verdicts(Connection& db, const NightRow& night, const std::vector<Verdict>& verdicts) {
  std::vector<std::string> metrics, kinds, states, reasons, explanations;
  std::vector<double> values, baselines, changes;
  std::vector<bool> reds;
  std::vector<std::int64_t> left, suspects;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
  for (const Verdict& verdict : verdicts) {
    metrics.push_back(verdict.metric);
    kinds.push_back(verdict.verdict);
    states.push_back(verdict.state);
    reasons.push_back(verdict.reason);
    values.push_back(verdict.value);
    baselines.push_back(verdict.baseline);
    changes.push_back(verdict.change);
    reds.push_back(verdict.red);
    left.push_back(verdict.nights_left);
    suspects.push_back(verdict.suspect_since.value_or(none));
    explanations.push_back(verdict.explanation);
  }
  NG_CHECK(db.run("DELETE FROM verdict WHERE night_id = $1", Params().integer(night.night)));
  NG_TRY(auto put,
         db.run("INSERT INTO verdict (night_id, metric_id, verdict, state, reason, value, baseline, change, red, "
                "nights_left, suspect_since, explanation) SELECT $1, m.metric_id, u.verdict, u.state, u.reason, "
                "u.value, u.baseline, u.change, u.red, u.nights_left, nullif(u.suspect_since, $14), "
                "nullif(u.explanation, '')::jsonb FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], "
                "$7::float8[], $8::float8[], $9::float8[], $10::boolean[], $11::bigint[], $12::bigint[], $13::text[]) "
                "AS u (name, verdict, state, reason, value, baseline, change, red, nights_left, suspect_since, "
                "explanation) JOIN metric m ON m.project_id = $2 AND m.name = u.name",
                Params()
                    .integer(night.night)
                    .integer(night.project)
                    .texts(metrics)
                    .texts(kinds)
                    .texts(states)
                    .texts(reasons)
                    .numbers(values)
                    .numbers(baselines)
                    .numbers(changes)
                    .booleans(reds)
                    .integers(left)
                    .integers(suspects)
                    .texts(explanations)
                    .integer(none)));
  if (put.affected() != static_cast<std::int64_t>(verdicts.size())) {
    return fail(Code::not_found, "a verdict names a metric that the store has never seen a reading of");
  }
  return {};
}

Status put_snapshot(Connection& db, const NightRow& night, const std::string& snapshot) {
  if (snapshot.empty()) {
    return db.run("DELETE FROM gate_snapshot WHERE night_id = $1", Params().integer(night.night)).map([](const Rows&) {
    });
  }
  NG_CHECK(
      db.run("INSERT INTO gate_snapshot (night_id, body) VALUES ($1, $2) ON CONFLICT (night_id) DO UPDATE SET "
             "body = excluded.body",
             Params().integer(night.night).text(snapshot)));
  NG_CHECK(
      db.run("DELETE FROM gate_snapshot s USING night n WHERE s.night_id = n.night_id AND n.project_id = $1 AND "
             "n.machine_id = $2 AND n.sequence < $3 AND n.sequence >= $4 AND n.sequence % $5 <> 0",
             Params()
                 .integer(night.project)
                 .integer(night.machine)
                 .integer(night.sequence - snapshots_kept)
                 .integer(night.sequence - 4 * static_cast<Sequence>(snapshots_kept))
                 .integer(snapshot_step)));
  return {};
}

Status put_trip(Connection& db, const NightRow& night, std::int64_t group, std::size_t position, const Trip& trip) {
  NG_TRY(auto put,
         db.run("INSERT INTO trip (group_id, metric_id, position, kind, change, baseline, level, tripped, state) "
                "SELECT $1, metric_id, $4, $5, $6, $7, $8, $9, 'open' FROM metric WHERE project_id = $2 AND name = $3 "
                "ON CONFLICT (group_id, metric_id) DO UPDATE SET position = excluded.position, kind = excluded.kind, "
                "change = excluded.change, baseline = excluded.baseline, level = excluded.level, tripped = "
                // A trip that a person accepted stays accepted when its night is judged again.
                "excluded.tripped, state = CASE trip.state WHEN 'accepted' THEN 'accepted' ELSE 'open' END, "
                "closed = CASE trip.state WHEN 'accepted' THEN trip.closed END",
                Params()
                    .integer(group)
                    .integer(night.project)
                    .text(trip.metric)
                    .integer(static_cast<std::int64_t>(position))
                    .text(trip.kind)
                    .number(trip.change)
                    .number(trip.baseline)
                    .number(trip.level)
                    .integer(night.sequence)));
  if (put.affected() == 0) return fail(Code::not_found, "trip of a metric that is not in the store: " + trip.metric);
  return {};
}

Result<std::int64_t> put_group(Connection& db, const NightRow& night, const TripGroup& group) {
  NG_TRY(auto rows,
         db.run("INSERT INTO trip_group (project_id, machine_id, first, last_good, tripped) VALUES ($1, $2, $3, $4, "
                "$5) ON CONFLICT (project_id, machine_id, first) DO UPDATE SET last_good = excluded.last_good, "
                "tripped = least(trip_group.tripped, excluded.tripped) RETURNING group_id",
                Params()
                    .integer(night.project)
                    .integer(night.machine)
                    .integer(group.first)
                    .integer(group.last_good)
                    .integer(night.sequence)));
  const std::int64_t id = rows.integer(0, 0);
  // A metric that joins a group of an earlier night stands behind those that are there.
  NG_TRY(auto there, db.run("SELECT count(*) FROM trip WHERE group_id = $1 AND tripped < $2",
                            Params().integer(id).integer(night.sequence)));
  const auto offset = static_cast<std::size_t>(there.integer(0, 0));
  for (std::size_t i = 0; i < group.trips.size(); ++i) {
    NG_CHECK(put_trip(db, night, id, offset + i, group.trips[i]));
  }
  return id;
}

Status close_trip(Connection& db, const NightRow& night, const TripClosing& closing) {
  auto closed = db.run(
      "UPDATE trip t SET state = $5, closed = $3 FROM trip_group g, metric m WHERE g.group_id = t.group_id AND "
      "m.metric_id = t.metric_id AND g.project_id = $1 AND g.machine_id = $2 AND m.name = $4 AND t.state = 'open' AND "
      "t.tripped <= $3",
      Params()
          .integer(night.project)
          .integer(night.machine)
          .integer(night.sequence)
          .text(closing.metric)
          .text(name_of(closing.state)));
  if (!closed) return tl::unexpected(std::move(closed).error());
  return {};
}

Status mark_judged(Connection& db, const NightRow& night, const Judgement& judgement) {
  auto marked =
      db.run("UPDATE night SET state = 'judged', environment = $2, open_question = $3, reason = $4 WHERE night_id = $1",
             Params()
                 .integer(night.night)
                 .boolean(judgement.environment)
                 .boolean(judgement.open_question)
                 .text(judgement.reason));
  if (!marked) return tl::unexpected(std::move(marked).error());
  // Its run is over with it: whoever was killed before saying so would leave it running for ever.
  auto ended = db.run(
      "UPDATE run SET state = 'done', ended = now() WHERE state = 'running' AND run_id = (SELECT run_id FROM night "
      "WHERE night_id = $1)",
      Params().integer(night.night));
  if (!ended) return tl::unexpected(std::move(ended).error());
  return {};
}

}  // namespace

bool keeps_snapshot(Sequence night, Sequence last) {
  return night > last - snapshots_kept || night % snapshot_step == 0;
}

Result<std::vector<TripGroup>> PostgresStore::put_judgement(const Judgement& judgement) {
  return connection_->in_transaction([&]() -> Result<std::vector<TripGroup>> {
    Connection& db = *connection_;
    NG_TRY(const NightRow night, night_row(db, judgement.run));
    if (!night.current) return fail(Code::not_found, "run " + judgement.run + " is not its night's newest attempt");
    if (night.state == NightState::measuring || night.state == NightState::no_verdict) {
      return fail(Code::no_verdict, "the night's readings are not in the store (yet): nothing to judge");
    }
    NG_CHECK(replace_verdicts(db, night, judgement.verdicts));
    NG_CHECK(put_snapshot(db, night, judgement.snapshot));
    NG_CHECK(take_back_trips(db, night.project, night.machine, night.sequence));  // of an earlier judgement
    for (const TripClosing& closing : judgement.closed) NG_CHECK(close_trip(db, night, closing));
    std::vector<std::int64_t> ids;
    for (const TripGroup& group : judgement.opened) {
      NG_TRY(const auto id, put_group(db, night, group));
      ids.push_back(id);
    }
    NG_CHECK(mark_judged(db, night, judgement));
    return read_trips(db, "g.group_id = ANY ($1::bigint[])", Params().integers(ids), "g.group_id");
  });
}

Result<std::shared_ptr<void>> PostgresStore::hold_judging(const std::string& project, const std::string& machine,
                                                          std::chrono::seconds patience) {
  // The numbers of project and machine, the machine's negative: begin_night and import lock the positive pair.
  const std::string numbers =
      "(SELECT project_id::int4 FROM project WHERE name = $1), (SELECT -machine_id::int4 FROM machine WHERE name = $2)";
  const Params params = Params().text(project).text(machine);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    NG_TRY(auto rows, query("SELECT pg_try_advisory_lock(" + numbers + ")", params));
    // NULL: nothing of them is there yet, so there is nothing to judge either.
    if (rows.is_null(0, 0)) return std::shared_ptr<void>();
    if (rows.boolean(0, 0)) break;
    if (std::chrono::steady_clock::now() >= until) {
      return fail(Code::busy, fmt::format("somebody else has been judging the nights of machine {} for {} s; try again "
                                          "when that is done",
                                          machine, patience.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return std::shared_ptr<void>(this, [this, numbers, params](void*) {
    // A broken connection has given it up already.
    if (!connection_->broken()) (void)query("SELECT pg_advisory_unlock(" + numbers + ")", params);
  });
}

Result<std::optional<Snapshot>> PostgresStore::snapshot_before(const std::string& project, const std::string& machine,
                                                               Sequence before) {
  // Night by night from the newest on, so that its cost does not follow the length of the history.
  NG_TRY(auto rows,
         query("SELECT n.sequence, s.body FROM night n JOIN gate_snapshot s USING (night_id) WHERE n.project_id = "
               "(SELECT project_id FROM project WHERE name = $1) AND n.machine_id = (SELECT machine_id FROM machine "
               "WHERE name = $2) AND n.sequence < least($3, (SELECT min(w.sequence) FROM night w WHERE w.project_id = "
               "(SELECT project_id FROM project WHERE name = $1) AND w.machine_id = (SELECT machine_id FROM machine "
               "WHERE name = $2) AND w.state = 'measured' AND NOT w.voided)) AND n.state = 'judged' AND NOT n.voided "
               "ORDER BY n.sequence DESC LIMIT 1",
               Params().text(project).text(machine).integer(before)));
  if (rows.empty()) return std::nullopt;
  return Snapshot{rows.integer(0, 0), rows.text(0, 1)};
}

Result<std::vector<Verdict>> PostgresStore::verdicts(const std::string& project, const std::string& machine,
                                                     Sequence sequence) {
  NG_TRY(auto rows,
         query("SELECT m.name, v.verdict, v.state, v.reason, v.value, v.baseline, v.change, v.red, v.nights_left, "
               "v.suspect_since, v.explanation FROM verdict v JOIN metric m USING (metric_id) WHERE v.night_id = "
               "(SELECT n.night_id FROM night n JOIN project p USING (project_id) JOIN machine mm USING (machine_id) "
               "WHERE p.name = $1 AND mm.name = $2 AND n.sequence = $3) ORDER BY m.name",
               Params().text(project).text(machine).integer(sequence)));
  std::vector<Verdict> out;
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({rows.text(row, 0), rows.text(row, 1), rows.text(row, 2), rows.text(row, 3), rows.number(row, 4),
                   rows.number(row, 5), rows.number(row, 6), rows.boolean(row, 7), rows.small(row, 8),
                   rows.integer_or_null(row, 9), rows.text(row, 10)});
  }
  return out;
}

}  // namespace nightgate::store
