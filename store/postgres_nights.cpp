// Nights: begun or continued, their readings, and reading them back.
#include <fmt/format.h>

#include <cmath>

#include "store/postgres_common.hpp"
#include "store/postgres_store.hpp"

namespace nightgate::store {
namespace {

bool unfinished(NightState state) { return state == NightState::measuring || state == NightState::measured; }

Result<std::optional<Night>> one_night(Connection& connection, const std::string& where, const Params& params) {
  NG_TRY(auto rows, connection.run(select_nights() + where, params));
  if (rows.empty()) return std::nullopt;
  return night_from(rows, 0);
}

Result<std::optional<Night>> night_of_attempt(Connection& connection, const std::string& run) {
  return one_night(connection,
                   "WHERE n.night_id = (SELECT a.night_id FROM night_attempt a JOIN run ar USING (run_id) WHERE "
                   "ar.uuid = $1::uuid)",
                   Params().text(run));
}

struct Place {  // whose nights are meant
  std::int64_t project = 0, machine = 0;
};

Result<Night> fresh_night(Connection& db, const Place& place, const Run& run) {
  NG_TRY(const auto run_id, put_run(db, run));
  NG_TRY(auto night,
         db.run("INSERT INTO night (project_id, machine_id, sequence, started, run_id, machine_class, state) "
                "SELECT $1, $2, greatest(coalesce(max(sequence), 0), 0) + 1, $3, $4, $5, 'measuring' FROM night "
                "WHERE project_id = $1 AND machine_id = $2 RETURNING night_id",
                Params()
                    .integer(place.project)
                    .integer(place.machine)
                    .time(run.started)
                    .integer(run_id)
                    .text(run.machine_class)));
  NG_CHECK(db.run("INSERT INTO night_attempt (night_id, attempt, run_id) VALUES ($1, 1, $2)",
                  Params().integer(night.integer(0, 0)).integer(run_id)));
  NG_TRY(auto made, night_of_attempt(db, run.uuid));
  return *made;
}

Result<Night> further_attempt(Connection& db, const Place& place, const Run& run, Sequence sequence) {
  NG_TRY(auto there, db.run("SELECT night_id FROM night WHERE project_id = $1 AND machine_id = $2 AND sequence = $3",
                            Params().integer(place.project).integer(place.machine).integer(sequence)));
  if (there.empty()) {
    return fail(Code::not_found, fmt::format("there is no night {} of project {} on machine {}; `nightgate history` "
                                             "lists them",
                                             sequence, run.project, run.machine));
  }
  NG_TRY(const auto run_id, put_run(db, run));
  const Params params = Params().integer(there.integer(0, 0)).integer(run_id).text(run.machine_class);
  NG_CHECK(
      db.run("UPDATE run SET state = 'failed', ended = now() WHERE state = 'running' AND run_id = (SELECT run_id FROM "
             "night WHERE night_id = $1)",
             Params().integer(there.integer(0, 0))));
  NG_CHECK(
      db.run("UPDATE night SET attempt = attempt + 1, run_id = $2, machine_class = $3, state = 'measuring', "
             "reason = '', environment = false, open_question = false, imported = false WHERE night_id = $1",
             params));
  NG_CHECK(
      db.run("INSERT INTO night_attempt (night_id, attempt, run_id) SELECT night_id, attempt, run_id FROM night "
             "WHERE night_id = $1",
             Params().integer(there.integer(0, 0))));
  NG_TRY(auto made, night_of_attempt(db, run.uuid));
  return *made;
}

Status close_unfinished(Connection& db, const Place& place) {
  auto closed = db.run(
      "UPDATE night SET state = 'no_verdict', reason = 'left unfinished; a later night was measured while the store "
      "was "
      "away' WHERE project_id = $1 AND machine_id = $2 AND state = 'measuring'",
      Params().integer(place.project).integer(place.machine));
  if (!closed) return tl::unexpected(std::move(closed).error());
  auto ended = db.run(
      "UPDATE run SET state = 'failed', ended = now() WHERE state = 'running' AND run_id IN (SELECT run_id FROM night "
      "WHERE project_id = $1 AND machine_id = $2 AND state = 'no_verdict')",
      Params().integer(place.project).integer(place.machine));
  if (!ended) return tl::unexpected(std::move(ended).error());
  return {};
}

Result<Night> continued_or_new(Connection& db, const Run& run, Sequence attempt_of, Unfinished unfinished_ones) {
  Place place;
  NG_TRY(place.project, project_id(db, run.project));
  NG_TRY(place.machine, machine_id(db, run.machine, run.machine_class));
  // One at a time per project and machine, so that two can't take the same number.
  NG_CHECK(db.run("SELECT pg_advisory_xact_lock($1::int4, $2::int4)",
                  Params().integer(place.project).integer(place.machine)));
  NG_TRY(auto same, night_of_attempt(db, run.uuid));
  if (!same && unfinished_ones == Unfinished::close) NG_CHECK(close_unfinished(db, place));
  if (!same && unfinished_ones == Unfinished::resume) {
    NG_TRY(same, one_night(db,
                           "WHERE n.project_id = $1 AND n.machine_id = $2 AND n.state IN ('measuring', 'measured') AND "
                           "NOT n.voided AND NOT n.imported ORDER BY n.sequence DESC LIMIT 1",
                           Params().integer(place.project).integer(place.machine)));
  }
  if (same) {
    same->resumed = unfinished(same->state);
    return *same;
  }
  return attempt_of == 0 ? fresh_night(db, place, run) : further_attempt(db, place, run, attempt_of);
}

struct ReadingColumns {
  std::vector<std::string> metrics, definitions, missing;
  std::vector<double> values;
};

ReadingColumns columns_of(const judge::NightInput& input) {
  ReadingColumns out;
  const auto add = [&](const std::string& metric, const std::string& definition, double value,
                       const std::string& missing) {
    out.metrics.push_back(metric);
    out.definitions.push_back(definition);
    out.values.push_back(value);
    out.missing.push_back(missing);
  };
  for (const auto& reading : input.readings) {
    add(reading.metric, reading.definition, reading.value, std::isfinite(reading.value) ? "" : "not a number");
  }
  for (const auto& missing : input.missing) {
    add(missing.metric, "", unknown, missing.reason.empty() ? "no number" : missing.reason);
  }
  return out;
}

// Readings of metrics that nobody described are kept with what the judge was told.
Status put_reading_metrics(Connection& db, std::int64_t project, const judge::NightInput& input,
                           const std::vector<MetricInfo>& metrics) {
  NG_CHECK(put_metrics(db, project, metrics));
  std::vector<std::string> names, better;
  for (const auto& reading : input.readings) {
    names.push_back(reading.metric);
    better.emplace_back(reading.better == judge::Better::higher ? "higher" : "lower");
  }
  for (const auto& missing : input.missing) {
    names.push_back(missing.metric);
    better.emplace_back("higher");
  }
  auto put = db.run(
      "INSERT INTO metric (project_id, name, better) SELECT $1, u.name, u.better "
      "FROM unnest($2::text[], $3::text[]) AS u (name, better) ORDER BY u.name ON CONFLICT DO NOTHING",
      Params().integer(project).texts(names).texts(better));
  if (!put) return tl::unexpected(std::move(put).error());
  return {};
}

Status insert_readings(Connection& db, const NightRow& night, const judge::NightInput& input) {
  const ReadingColumns columns = columns_of(input);
  NG_CHECK(
      db.run("INSERT INTO definition (hash) SELECT DISTINCT u FROM unnest($1::text[]) AS u ORDER BY u ON CONFLICT "
             "DO NOTHING",
             Params().texts(columns.definitions)));
  NG_CHECK(
      db.run("INSERT INTO reading (night_id, metric_id, definition_id, value, missing) "
             "SELECT $1, m.metric_id, d.definition_id, u.value, u.missing "
             "FROM unnest($3::text[], $4::text[], $5::float8[], $6::text[]) AS u (name, hash, value, missing) "
             "JOIN metric m ON m.project_id = $2 AND m.name = u.name JOIN definition d ON d.hash = u.hash",
             Params()
                 .integer(night.night)
                 .integer(night.project)
                 .texts(columns.metrics)
                 .texts(columns.definitions)
                 .numbers(columns.values)
                 .texts(columns.missing)));
  std::vector<std::string> names, digests;
  std::vector<double> values;
  for (const auto& reading : input.readings) {
    for (const auto& control : reading.controls) {
      names.push_back(reading.metric);
      digests.push_back(control.digest);
      values.push_back(control.value);
    }
  }
  if (names.empty()) return {};
  NG_CHECK(
      db.run("INSERT INTO reading_control (night_id, metric_id, digest, value) "
             "SELECT $1, m.metric_id, u.digest, u.value FROM unnest($3::text[], $4::text[], $5::float8[]) "
             "AS u (name, digest, value) JOIN metric m ON m.project_id = $2 AND m.name = u.name",
             Params().integer(night.night).integer(night.project).texts(names).texts(digests).numbers(values)));
  return {};
}

}  // namespace

Result<Night> PostgresStore::begin_night(const Run& run, Sequence attempt_of, Unfinished unfinished_ones) {
  return connection_->in_transaction(
      [&]() { return continued_or_new(*connection_, run, attempt_of, unfinished_ones); });
}

Status PostgresStore::set_night_target(const std::string& run, const Target& target, const std::string& definition) {
  return connection_->transaction([&]() -> Status {
    NG_TRY(const NightRow night, night_row(*connection_, run));
    if (!night.current) return {};  // a newer attempt stands
    NG_TRY(const auto id, target_id(*connection_, night.project, target));
    NG_CHECK(connection_->run("UPDATE night SET target_id = $2, definition = $3 WHERE night_id = $1",
                              Params().integer(night.night).integer(id).text(definition)));
    return {};
  });
}

Status PostgresStore::put_readings(const std::string& run, const judge::NightInput& input,
                                   const std::vector<MetricInfo>& metrics) {
  return connection_->transaction([&]() -> Status {
    Connection& db = *connection_;
    NG_TRY(const NightRow night, night_row(db, run));
    if (!night.current || night.state == NightState::judged) return {};  // delivered again, or a newer attempt stands
    NG_CHECK(put_reading_metrics(db, night.project, input, metrics));
    NG_CHECK(db.run("DELETE FROM reading WHERE night_id = $1", Params().integer(night.night)));
    NG_CHECK(insert_readings(db, night, input));
    NG_CHECK(db.run("UPDATE night SET state = 'measured', reason = '', machine_class = $2 WHERE night_id = $1",
                    Params().integer(night.night).text(input.machine_class)));
    return {};
  });
}

Status PostgresStore::set_night(const std::string& run, NightState state, const std::string& reason) {
  if (state != NightState::no_verdict) {
    return fail(Code::internal, "set_night only closes a night without a verdict");
  }
  return connection_->transaction([&]() -> Status {
    NG_TRY(const NightRow night, night_row(*connection_, run));
    if (!night.current) return {};
    NG_CHECK(
        connection_->run("UPDATE night SET state = 'no_verdict', reason = $2 WHERE night_id = $1 AND state <> "
                         "'judged'",
                         Params().integer(night.night).text(reason)));
    NG_CHECK(connection_->run(
        "UPDATE run SET state = 'failed', ended = now() WHERE state = 'running' AND run_id = (SELECT run_id FROM night "
        "WHERE night_id = $1 AND state = 'no_verdict')",
        Params().integer(night.night)));
    return {};
  });
}

Result<std::optional<Night>> PostgresStore::night(const std::string& project, const std::string& machine,
                                                  Sequence sequence) {
  return connection_->in_transaction([&]() {
    return one_night(*connection_, "WHERE p.name = $1 AND m.name = $2 AND n.sequence = $3",
                     Params().text(project).text(machine).integer(sequence));
  });
}

Result<std::optional<Night>> PostgresStore::night_of_run(const std::string& run) {
  return connection_->in_transaction([&]() { return night_of_attempt(*connection_, run); });
}

Result<std::vector<Night>> PostgresStore::nights(const std::string& project, const std::string& machine,
                                                 Sequence before, int limit) {
  NG_TRY(auto rows, query(select_nights() +
                              "WHERE p.name = $1 AND m.name = $2 AND n.sequence < $3 ORDER BY n.sequence DESC LIMIT $4",
                          Params().text(project).text(machine).integer(before).integer(limit)));
  std::vector<Night> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(night_from(rows, row));
  return out;
}

Result<std::optional<Night>> PostgresStore::last_judged(const std::string& project, const std::string& machine) {
  return connection_->in_transaction([&]() {
    return one_night(*connection_,
                     "WHERE p.name = $1 AND m.name = $2 AND n.state = 'judged' AND NOT n.voided AND NOT "
                     "n.environment ORDER BY n.sequence DESC LIMIT 1",
                     Params().text(project).text(machine));
  });
}

}  // namespace nightgate::store
