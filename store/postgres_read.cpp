// Reading what measuring wrote, and series.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "store/postgres_common.hpp"
#include "store/postgres_store.hpp"

namespace nightgate::store {
namespace {

std::map<std::string, double> conditions_from(const std::string& text) {
  std::map<std::string, double> out;
  if (text.empty()) return out;
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return out;
  for (const auto& [name, value] : parsed->items()) {
    if (value.is_number()) out[name] = value.get<double>();
  }
  return out;
}

// Rows of a run's measurements by the database's number, while they are put together.
using ById = std::map<std::int64_t, std::size_t>;

std::string short_name(const Measurement& measurement, const std::string& full) {
  return full.substr(std::min(full.size(), measurement.deployment.size() + measurement.scenario.size() + 2));
}

Result<ById> read_heads(Connection& db, const std::string& run, std::vector<Measurement>& out) {
  NG_TRY(auto rows,
         db.run("SELECT m.measurement_id, m.deployment, m.scenario, m.role, m.arm, m.start, t.commit, t.digest, "
                "t.label, t.title, t.author, t.pr, d.hash, m.no_verdict, m.log_tail, m.folded FROM measurement m "
                "JOIN target t USING (target_id) JOIN definition d USING (definition_id) WHERE m.run_id = (SELECT "
                "run_id FROM run WHERE uuid = $1::uuid) ORDER BY m.measurement_id",
                Params().text(run)));
  ById ids;
  for (int row = 0; row < rows.size(); ++row) {
    Measurement m;
    m.run = run;
    m.deployment = rows.text(row, 1);
    m.scenario = rows.text(row, 2);
    m.role = value_of<Role>(rows.text(row, 3));
    m.arm = rows.small(row, 4);
    m.start = rows.small(row, 5);
    m.target = Target{rows.text(row, 6), rows.text(row, 7),  rows.text(row, 8),
                      rows.text(row, 9), rows.text(row, 10), rows.small(row, 11)};
    m.definition = rows.text(row, 12);
    m.no_verdict = rows.text(row, 13);
    m.log_tail = rows.text(row, 14);
    m.folded = rows.boolean(row, 15);
    ids[rows.integer(row, 0)] = out.size();
    out.push_back(std::move(m));
  }
  return ids;
}

std::vector<std::int64_t> keys_of(const ById& ids) {
  std::vector<std::int64_t> out;
  for (const auto& [id, at] : ids) out.push_back(id);
  return out;
}

Status read_values(Connection& db, const ById& ids, std::vector<Measurement>& out) {
  NG_TRY(auto rows,
         db.run("SELECT v.measurement_id, m.name, v.median, v.low, v.high, v.repeats, m.unit, m.better, m.gated FROM "
                "measurement_value v JOIN metric m USING (metric_id) WHERE v.measurement_id = ANY ($1::bigint[]) "
                "ORDER BY v.measurement_id, m.name",
                Params().integers(keys_of(ids))));
  for (int row = 0; row < rows.size(); ++row) {
    Measurement& m = out[ids.at(rows.integer(row, 0))];
    m.values[short_name(m, rows.text(row, 1))] = {rows.number(row, 2), rows.number(row, 3), rows.number(row, 4),
                                                  rows.small(row, 5)};
    m.metrics.push_back(
        {rows.text(row, 1), rows.text(row, 6), value_of<Better>(rows.text(row, 7)), rows.boolean(row, 8)});
  }
  return {};
}

Status read_repeats(Connection& db, const ById& ids, std::vector<Measurement>& out) {
  NG_TRY(auto rows,
         db.run("SELECT measurement_id, repeat_id, number, attempt, voided, void_reason, " + micros("began") + ", " +
                    micros("ended") +
                    ", conditions FROM repeat WHERE measurement_id = ANY ($1::bigint[]) ORDER BY measurement_id, "
                    "number, attempt",
                Params().integers(keys_of(ids))));
  std::map<std::int64_t, Repeat*> repeats;
  for (int row = 0; row < rows.size(); ++row) {
    out[ids.at(rows.integer(row, 0))].repeats.push_back({rows.small(row, 2),
                                                         rows.small(row, 3),
                                                         rows.boolean(row, 4),
                                                         rows.text(row, 5),
                                                         rows.time(row, 6),
                                                         rows.time(row, 7),
                                                         {},
                                                         conditions_from(rows.text(row, 8))});
  }
  std::map<std::int64_t, std::size_t> next;  // pointers only now that no vector grows any more
  for (int row = 0; row < rows.size(); ++row) {
    const std::int64_t id = rows.integer(row, 0);
    repeats[rows.integer(row, 1)] = &out[ids.at(id)].repeats[next[id]++];
  }
  NG_TRY(auto samples,
         db.run("SELECT r.measurement_id, s.repeat_id, m.name, s.value FROM repeat r JOIN sample s USING (repeat_id) "
                "JOIN metric m USING (metric_id) WHERE r.measurement_id = ANY ($1::bigint[])",
                Params().integers(keys_of(ids))));
  for (int row = 0; row < samples.size(); ++row) {
    const Measurement& m = out[ids.at(samples.integer(row, 0))];
    repeats.at(samples.integer(row, 1))->samples[short_name(m, samples.text(row, 2))] = samples.number(row, 3);
  }
  return {};
}

void add_reading(judge::NightInput& input, const Rows& rows, int row) {
  if (rows.is_null(row, 3)) {
    input.missing.push_back({rows.text(row, 1), rows.text(row, 4)});
    return;
  }
  judge::Reading reading;
  reading.metric = rows.text(row, 1);
  reading.better = rows.text(row, 2) == "lower" ? judge::Better::lower : judge::Better::higher;
  reading.value = rows.number(row, 3);
  reading.definition = rows.text(row, 5);
  input.readings.push_back(std::move(reading));
}

Status read_inputs(Connection& db, const std::string& project, const std::string& machine, Sequence after,
                   std::vector<StoredInput>& out) {
  NG_TRY(auto nights,
         db.run("SELECT n.night_id, n.sequence, " + micros("n.started") +
                    ", n.machine_class, coalesce(t.digest, ''), r.uuid, n.imported FROM night n JOIN run r USING "
                    "(run_id) LEFT "
                    "JOIN target t USING (target_id) WHERE n.project_id = (SELECT project_id FROM project WHERE name "
                    "= $1) AND n.machine_id = (SELECT machine_id FROM machine WHERE name = $2) AND n.sequence > $3 "
                    "AND n.state IN ('measured', 'judged') AND NOT n.voided ORDER BY n.sequence",
                Params().text(project).text(machine).integer(after)));
  ById ids;
  for (int row = 0; row < nights.size(); ++row) {
    ids[nights.integer(row, 0)] = out.size();
    StoredInput stored;
    stored.run = nights.text(row, 5);
    stored.input.night = {nights.integer(row, 1), nights.integer(row, 2)};
    stored.input.machine_class = nights.text(row, 3);
    stored.input.digest = nights.text(row, 4);
    stored.input.as_the_night_before = nights.boolean(row, 6);
    out.push_back(std::move(stored));
  }
  const Params keys = Params().integers(keys_of(ids));
  NG_TRY(auto rows,
         db.run("SELECT g.night_id, m.name, m.better, g.value, g.missing, d.hash FROM reading g JOIN metric m USING "
                "(metric_id) JOIN definition d USING (definition_id) WHERE g.night_id = ANY ($1::bigint[]) "
                "ORDER BY g.night_id, m.name",
                keys));
  for (int row = 0; row < rows.size(); ++row) add_reading(out[ids.at(rows.integer(row, 0))].input, rows, row);
  NG_TRY(auto controls,
         db.run("SELECT c.night_id, m.name, c.digest, c.value FROM reading_control c JOIN metric m USING (metric_id) "
                "WHERE c.night_id = ANY ($1::bigint[]) ORDER BY c.night_id, m.name, c.digest",
                keys));
  for (int row = 0; row < controls.size(); ++row) {
    auto& readings = out[ids.at(controls.integer(row, 0))].input.readings;
    const std::string metric = controls.text(row, 1);
    const auto reading =
        std::lower_bound(readings.begin(), readings.end(), metric,
                         [](const judge::Reading& r, const std::string& name) { return r.metric < name; });
    const auto found = reading != readings.end() && reading->metric == metric
                           ? reading
                           : std::find_if(readings.begin(), readings.end(),
                                          [&](const judge::Reading& r) { return r.metric == metric; });
    if (found != readings.end()) found->controls.push_back({controls.text(row, 2), controls.number(row, 3)});
  }
  return {};
}

}  // namespace

Result<std::vector<Measurement>> PostgresStore::measurements(const std::string& run) {
  return connection_->in_transaction([&]() -> Result<std::vector<Measurement>> {
    std::vector<Measurement> out;
    NG_TRY(const ById ids, read_heads(*connection_, run, out));
    NG_CHECK(read_values(*connection_, ids, out));
    NG_CHECK(read_repeats(*connection_, ids, out));
    return out;
  });
}

Result<std::vector<StoredInput>> PostgresStore::inputs_after(const std::string& project, const std::string& machine,
                                                             Sequence after) {
  return connection_->in_transaction([&]() -> Result<std::vector<StoredInput>> {
    std::vector<StoredInput> out;
    NG_CHECK(read_inputs(*connection_, project, machine, after, out));
    return out;
  });
}

Result<std::vector<SeriesPoint>> PostgresStore::series(const std::string& project, const std::string& machine,
                                                       const std::vector<std::string>& metrics, Sequence first) {
  NG_TRY(auto rows,
         query("SELECT n.sequence, " + micros("n.started") +
                   ", r.uuid, t.commit, t.digest, n.machine_class, d.hash, g.value, v.baseline, v.change, v.verdict, "
                   "coalesce(nullif(v.reason, ''), g.missing), coalesce(v.red, false), n.voided FROM reading g JOIN "
                   "night n USING (night_id) JOIN run r USING (run_id) JOIN definition d USING (definition_id) LEFT "
                   "JOIN target t USING (target_id) LEFT JOIN verdict v USING (night_id, metric_id) WHERE "
                   "g.metric_id = ANY (ARRAY(SELECT metric_id FROM metric x JOIN project p USING (project_id) WHERE "
                   "p.name = $1 AND x.name = ANY ($3::text[]))) AND n.machine_id = (SELECT machine_id FROM machine "
                   "WHERE name = $2) AND n.sequence >= $4 ORDER BY n.sequence",
               Params().text(project).text(machine).texts(metrics).integer(first)));
  std::vector<SeriesPoint> out;
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({rows.integer(row, 0), rows.time(row, 1), rows.text(row, 2), rows.text(row, 3), rows.text(row, 4),
                   rows.text(row, 5), rows.text(row, 6), rows.number(row, 7), rows.number(row, 8), rows.number(row, 9),
                   rows.text(row, 10), rows.text(row, 11), rows.boolean(row, 12), rows.boolean(row, 13)});
  }
  return out;
}

Result<std::vector<std::string>> PostgresStore::projects() {
  NG_TRY(auto rows, query("SELECT name FROM project ORDER BY name", {}));
  std::vector<std::string> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(rows.text(row, 0));
  return out;
}

Result<std::vector<Machine>> PostgresStore::machines(const std::string& project) {
  NG_TRY(auto rows,
         query("SELECT m.name, m.machine_class, m.details FROM machine m WHERE EXISTS (SELECT 1 FROM run r JOIN "
               "project p USING (project_id) WHERE p.name = $1 AND r.machine_id = m.machine_id) ORDER BY m.name",
               Params().text(project)));
  std::vector<Machine> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back({rows.text(row, 0), rows.text(row, 1), rows.text(row, 2)});
  return out;
}

Result<std::vector<MetricInfo>> PostgresStore::metrics(const std::string& project) {
  NG_TRY(auto rows, query("SELECT m.name, m.unit, m.better, m.gated FROM metric m JOIN project p USING (project_id) "
                          "WHERE p.name = $1 ORDER BY m.name",
                          Params().text(project)));
  std::vector<MetricInfo> out;
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({rows.text(row, 0), rows.text(row, 1), value_of<Better>(rows.text(row, 2)), rows.boolean(row, 3)});
  }
  return out;
}

Result<std::optional<Run>> PostgresStore::run(const std::string& uuid) {
  NG_TRY(auto rows, query(select_runs() + "WHERE r.uuid = $1::uuid", Params().text(uuid)));
  if (rows.empty()) return std::nullopt;
  return run_from(rows, 0);
}

Result<std::vector<Run>> PostgresStore::runs(const std::string& project, RunKind kind, int limit) {
  NG_TRY(auto rows, query(select_runs() + "WHERE p.name = $1 AND r.kind = $2 ORDER BY r.started DESC, r.run_id DESC "
                                          "LIMIT $3",
                          Params().text(project).text(name_of(kind)).integer(limit)));
  std::vector<Run> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(run_from(rows, row));
  return out;
}

Result<std::string> PostgresStore::definition(const std::string& hash) {
  NG_TRY(auto rows, query("SELECT body FROM definition WHERE hash = $1", Params().text(hash)));
  if (rows.empty()) return fail(Code::not_found, "definition " + hash + " is not in this store");
  return rows.text(0, 0);
}

Result<std::vector<Noise>> PostgresStore::noise(const std::string& project, const std::string& machine) {
  NG_TRY(auto rows,
         query("SELECT DISTINCT ON (x.name) x.name, " + micros("n.at") +
                   ", n.machine_class, n.definition, n.starts, n.repeats, n.within_start, n.between_starts, n.drift, "
                   "n.details FROM noise n JOIN metric x USING (metric_id) JOIN project p ON p.project_id = "
                   "n.project_id JOIN machine m USING (machine_id) WHERE p.name = $1 AND m.name = $2 "
                   "ORDER BY x.name, n.at DESC",
               Params().text(project).text(machine)));
  std::vector<Noise> out;
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({rows.text(row, 0), rows.time(row, 1), rows.text(row, 2), rows.text(row, 3), rows.small(row, 4),
                   rows.small(row, 5), rows.number(row, 6), rows.number(row, 7), rows.number(row, 8),
                   rows.text(row, 9)});
  }
  return out;
}

}  // namespace nightgate::store
