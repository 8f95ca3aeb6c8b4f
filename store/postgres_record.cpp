// What measuring writes, except nights: machines, definitions, targets, runs, measurements, noise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "store/medians.hpp"
#include "store/postgres_common.hpp"
#include "store/postgres_store.hpp"

namespace nightgate::store {
namespace {

std::string conditions_json(const std::map<std::string, double>& conditions) {
  if (conditions.empty()) return {};
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : conditions) {
    if (std::isfinite(value)) out[name] = value;  // a condition that could not be read isn't there
  }
  return dump_json(out);
}

Status check_samples(const Measurement& measurement) {
  for (const Repeat& repeat : measurement.repeats) {
    for (const auto& [metric, value] : repeat.samples) {
      if (std::isfinite(value)) continue;
      return fail(Code::bad_data,
                  fmt::format("{}.{}.{}: repeat {} of start {} is not a number and can't be stored",
                              measurement.deployment, measurement.scenario, metric, repeat.number, measurement.start));
    }
  }
  return {};
}

std::string prefix_of(const Measurement& measurement) {
  return measurement.deployment + "." + measurement.scenario + ".";
}

// Metrics that `repeats` hold but `metrics` doesn't describe are kept all the same, ungated.
std::vector<MetricInfo> described(const Measurement& measurement) {
  std::vector<MetricInfo> out = measurement.metrics;
  const std::string prefix = prefix_of(measurement);
  for (const Repeat& repeat : measurement.repeats) {
    for (const auto& [metric, value] : repeat.samples) {
      const std::string name = prefix + metric;
      if (std::none_of(out.begin(), out.end(), [&](const MetricInfo& info) { return info.name == name; })) {
        out.push_back({name, "", Better::higher, false});
      }
    }
  }
  return out;
}

// The new row's number, or nothing when the measurement is there already.
Result<std::optional<std::int64_t>> insert_measurement(Connection& connection, std::int64_t run, std::int64_t target,
                                                       std::int64_t definition, const Measurement& m) {
  NG_TRY(auto rows,
         connection.run("INSERT INTO measurement (run_id, deployment, scenario, role, arm, start, target_id, "
                        "definition_id, no_verdict, log_tail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                        "ON CONFLICT DO NOTHING RETURNING measurement_id",
                        Params()
                            .integer(run)
                            .text(m.deployment)
                            .text(m.scenario)
                            .text(name_of(m.role))
                            .integer(m.arm)
                            .integer(m.start)
                            .integer(target)
                            .integer(definition)
                            .text(m.no_verdict)
                            .text(m.log_tail)));
  if (rows.empty()) return std::nullopt;
  return rows.integer(0, 0);
}

// The numbers of the new rows by (number, attempt).
Result<std::map<std::pair<int, int>, std::int64_t>> insert_repeat_rows(Connection& connection, std::int64_t measurement,
                                                                       const Measurement& m) {
  std::vector<std::int64_t> numbers, attempts;
  std::vector<bool> voided;
  std::vector<std::string> reasons, begins, ends, conditions;
  for (const Repeat& repeat : m.repeats) {
    numbers.push_back(repeat.number);
    attempts.push_back(repeat.attempt);
    voided.push_back(repeat.voided);
    reasons.push_back(repeat.void_reason);
    begins.push_back(to_rfc3339(repeat.begin));
    ends.push_back(to_rfc3339(repeat.end));
    conditions.push_back(conditions_json(repeat.conditions));
  }
  NG_TRY(auto rows,
         connection.run("INSERT INTO repeat (measurement_id, number, attempt, voided, void_reason, began, ended, "
                        "conditions) SELECT $1, u.number, u.attempt, u.voided, u.reason, u.began::timestamptz, "
                        "u.ended::timestamptz, nullif(u.conditions, '')::jsonb FROM unnest($2::bigint[], $3::bigint[], "
                        "$4::boolean[], $5::text[], $6::text[], $7::text[], $8::text[]) AS u (number, attempt, voided, "
                        "reason, began, ended, conditions) RETURNING number, attempt, repeat_id",
                        Params()
                            .integer(measurement)
                            .integers(numbers)
                            .integers(attempts)
                            .booleans(voided)
                            .texts(reasons)
                            .texts(begins)
                            .texts(ends)
                            .texts(conditions)));
  std::map<std::pair<int, int>, std::int64_t> out;
  for (int row = 0; row < rows.size(); ++row) out[{rows.small(row, 0), rows.small(row, 1)}] = rows.integer(row, 2);
  return out;
}

Status insert_repeats(Connection& connection, std::int64_t measurement, std::int64_t project, const Measurement& m) {
  if (m.repeats.empty()) return {};
  NG_TRY(const auto ids, insert_repeat_rows(connection, measurement, m));
  std::vector<std::int64_t> repeat_of;  // one element a sample
  std::vector<std::string> names;
  std::vector<double> values;
  for (const Repeat& repeat : m.repeats) {
    for (const auto& [metric, value] : repeat.samples) {
      repeat_of.push_back(ids.at({repeat.number, repeat.attempt}));
      names.push_back(prefix_of(m) + metric);
      values.push_back(value);
    }
  }
  NG_TRY(auto samples,
         connection.run("INSERT INTO sample (repeat_id, metric_id, value) SELECT u.repeat_id, m.metric_id, u.value "
                        "FROM unnest($2::bigint[], $3::text[], $4::float8[]) AS u (repeat_id, name, value) "
                        "JOIN metric m ON m.project_id = $1 AND m.name = u.name",
                        Params().integer(project).integers(repeat_of).texts(names).numbers(values)));
  if (samples.affected() != static_cast<std::int64_t>(values.size())) {
    return fail(Code::internal, "not every sample of a measurement found its metric");
  }
  return {};
}

Status insert_values(Connection& connection, std::int64_t measurement, std::int64_t project, const Measurement& m) {
  std::vector<std::string> names;
  std::vector<double> medians, lows, highs;
  std::vector<std::int64_t> repeats;
  for (const auto& [metric, value] : medians_of(m.repeats)) {
    names.push_back(prefix_of(m) + metric);
    medians.push_back(value.median);
    lows.push_back(value.low);
    highs.push_back(value.high);
    repeats.push_back(value.repeats);
  }
  auto put = connection.run(
      "INSERT INTO measurement_value (measurement_id, metric_id, median, low, high, repeats) "
      "SELECT $1, m.metric_id, u.median, u.low, u.high, u.repeats "
      "FROM unnest($3::text[], $4::float8[], $5::float8[], $6::float8[], $7::bigint[]) "
      "AS u (name, median, low, high, repeats) JOIN metric m ON m.project_id = $2 AND m.name = u.name",
      Params()
          .integer(measurement)
          .integer(project)
          .texts(names)
          .numbers(medians)
          .numbers(lows)
          .numbers(highs)
          .integers(repeats));
  if (!put) return tl::unexpected(std::move(put).error());
  return {};
}

}  // namespace

Status PostgresStore::put_machine(const Machine& machine) {
  return command(
      "INSERT INTO machine (name, machine_class, details) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE "
      "SET machine_class = excluded.machine_class, details = excluded.details "
      "WHERE (machine.machine_class, machine.details) IS DISTINCT FROM (excluded.machine_class, excluded.details)",
      Params().text(machine.name).text(machine.machine_class).json(machine.details));
}

Status PostgresStore::put_definition(const std::string& hash, const std::string& text) {
  return command(
      "INSERT INTO definition (hash, body) VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET body = excluded.body "
      "WHERE definition.body = ''",
      Params().text(hash).text(text));
}

Status PostgresStore::put_target(const std::string& project, const Target& target) {
  return connection_->transaction([&]() -> Status {
    NG_TRY(const auto id, project_id(*connection_, project));
    NG_CHECK(target_id(*connection_, id, target));
    return {};
  });
}

Status PostgresStore::begin_run(const Run& run) {
  return connection_->transaction([&]() -> Status {
    NG_CHECK(put_run(*connection_, run));
    return {};
  });
}

Status PostgresStore::finish_run(const std::string& uuid, RunState state, Instant ended,
                                 const std::string& result_json) {
  return must_touch("UPDATE run SET state = $2, ended = $3, result = coalesce($4, result) WHERE uuid = $1::uuid",
                    Params().text(uuid).text(name_of(state)).time(ended).json(result_json),
                    "run " + uuid + " is not in this store");
}

Status PostgresStore::put_measurement(const Measurement& measurement) {
  NG_CHECK(check_samples(measurement));
  return connection_->transaction([&]() -> Status {
    Connection& db = *connection_;
    NG_TRY(auto run,
           db.run("SELECT run_id, project_id FROM run WHERE uuid = $1::uuid", Params().text(measurement.run)));
    if (run.empty()) return fail(Code::not_found, "run " + measurement.run + " is not in this store");
    const std::int64_t project = run.integer(0, 1);
    NG_TRY(const auto target, target_id(db, project, measurement.target));
    NG_TRY(const auto definition, definition_id(db, measurement.definition));
    NG_CHECK(put_metrics(db, project, described(measurement)));
    NG_TRY(const auto id, insert_measurement(db, run.integer(0, 0), target, definition, measurement));
    if (!id) return {};
    NG_CHECK(insert_repeats(db, *id, project, measurement));
    return insert_values(db, *id, project, measurement);
  });
}

Status PostgresStore::put_noise(const std::string& project, const std::string& machine,
                                const std::vector<Noise>& noise) {
  return connection_->transaction([&]() -> Status {
    Connection& db = *connection_;
    NG_TRY(const auto project_number, project_id(db, project));
    NG_TRY(const auto machine_number, machine_id(db, machine, ""));
    for (const Noise& row : noise) {
      NG_CHECK(
          db.run("INSERT INTO metric (project_id, name, better, gated) VALUES ($1, $2, 'higher', false) "
                 "ON CONFLICT DO NOTHING",
                 Params().integer(project_number).text(row.metric)));
      NG_CHECK(
          db.run("INSERT INTO noise (project_id, machine_id, metric_id, at, machine_class, definition, starts, "
                 "repeats, within_start, between_starts, drift, details) SELECT $1, $2, metric_id, $4, $5, $6, $7, "
                 "$8, $9, $10, $11, $12 FROM metric WHERE project_id = $1 AND name = $3 ON CONFLICT DO NOTHING",
                 Params()
                     .integer(project_number)
                     .integer(machine_number)
                     .text(row.metric)
                     .time(row.at)
                     .text(row.machine_class)
                     .text(row.definition)
                     .integer(row.starts)
                     .integer(row.repeats)
                     .number(row.within)
                     .number(row.between)
                     .number(row.drift)
                     .json(row.details)));
    }
    return {};
  });
}

}  // namespace nightgate::store
