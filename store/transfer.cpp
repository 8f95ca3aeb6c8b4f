#include "store/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "store/migrate.hpp"
#include "store/opening.hpp"
#include "store/postgres_common.hpp"

namespace nightgate::store {
namespace {

using formats::HistoryRow;

// The machine of rows that name none; exported as none again.
constexpr std::string_view nameless = "imported";

struct NewNight {
  Instant time;
  std::vector<const HistoryRow*> rows;
};
using Machines = std::map<std::string, std::vector<NewNight>>;

Machines by_night(const formats::History& history) {
  std::map<std::string, std::map<Instant, std::vector<const HistoryRow*>>> sorted;
  for (const HistoryRow& row : history.rows) {
    sorted[row.machine.empty() ? std::string(nameless) : row.machine][row.time].push_back(&row);
  }
  Machines out;
  for (auto& [machine, nights] : sorted) {
    for (auto& [time, rows] : nights) out[machine].push_back({time, std::move(rows)});
  }
  return out;
}

// A uuid that is the same for the same night, so that importing twice finds it.
std::string uuid_of(const std::string& project, const std::string& machine, Instant time) {
  const std::string h = sha256_hex("import\n" + project + "\n" + machine + "\n" + to_rfc3339(time));
  return h.substr(0, 8) + "-" + h.substr(8, 4) + "-8" + h.substr(13, 3) + "-a" + h.substr(17, 3) + "-" +
         h.substr(20, 12);
}

struct Span {  // nights that the machine has
  bool any = false;
  Sequence first = 0, last = 0;
  Instant first_time{}, last_time{};
};

Result<Span> span_of(Connection& db, std::int64_t project, std::int64_t machine) {
  NG_TRY(auto rows, db.run("SELECT count(*), min(sequence), max(sequence), " + micros("min(started)") + ", " +
                               micros("max(started)") + " FROM night WHERE project_id = $1 AND machine_id = $2",
                           Params().integer(project).integer(machine)));
  return Span{rows.integer(0, 0) > 0, rows.integer(0, 1), rows.integer(0, 2), rows.time(0, 3), rows.time(0, 4)};
}

// A night that is there already must hold the same values: importing never changes what is kept, and never drops what
// is new without a word.
Status same_values(Connection& db, std::int64_t project, const std::string& machine,
                   const std::vector<std::string>& uuids, const std::vector<NewNight>& nights) {
  std::vector<std::string> of, names;
  std::vector<double> values;
  for (std::size_t i = 0; i < nights.size(); ++i) {
    for (const HistoryRow* row : nights[i].rows) {
      of.push_back(uuids[i]);
      names.push_back(row->metric);
      values.push_back(row->value);
    }
  }
  NG_TRY(auto rows,
         db.run("SELECT " + micros("n.started") +
                    ", u.name, u.value, g.value FROM unnest($2::text[], $3::text[], $4::float8[]) AS u "
                    "(uuid, name, value) JOIN run r ON r.uuid = u.uuid::uuid JOIN night n ON n.run_id = r.run_id "
                    "LEFT JOIN metric m ON m.project_id = $1 AND m.name = u.name "
                    "LEFT JOIN reading g ON g.night_id = n.night_id AND g.metric_id = m.metric_id "
                    "WHERE g.value IS DISTINCT FROM u.value ORDER BY 1, 2 LIMIT 1",
                Params().integer(project).texts(of).texts(names).numbers(values)));
  if (rows.empty()) return {};
  const auto stored = rows.is_null(0, 3) ? std::string("no value") : fmt::format("{}", rows.number(0, 3));
  return fail(Code::usage,
              fmt::format("night {} of machine {} is in the store already, with {} for {} where the file has "
                          "{}: importing never changes what is kept; use another machine name, or leave the "
                          "night out of the file",
                          to_rfc3339(rows.time(0, 0)), machine, stored, rows.text(0, 1), rows.number(0, 2)));
}

// Leaves only the nights that aren't there yet.
Status drop_known(Connection& db, const std::string& project, std::int64_t project_number, const std::string& machine,
                  std::vector<NewNight>& nights, Imported& out) {
  std::vector<std::string> uuids;
  for (const NewNight& night : nights) uuids.push_back(uuid_of(project, machine, night.time));
  NG_TRY(auto rows, db.run("SELECT u.at - 1 FROM unnest($1::text[]) WITH ORDINALITY AS u (uuid, at) JOIN run r ON "
                           "r.uuid = u.uuid::uuid ORDER BY u.at DESC",
                           Params().texts(uuids)));
  if (!rows.empty()) NG_CHECK(same_values(db, project_number, machine, uuids, nights));
  for (int row = 0; row < rows.size(); ++row) nights.erase(nights.begin() + rows.integer(row, 0));
  out.already_there += rows.size();
  return {};
}

// Number of the first of the new nights (they count up from there).
Result<Sequence> place_for(const Span& span, const std::vector<NewNight>& nights, const std::string& machine) {
  if (!span.any) return 1;
  const auto count = static_cast<Sequence>(nights.size());
  if (nights.front().time > span.last_time) return std::max<Sequence>(span.last, 0) + 1;
  if (nights.back().time < span.first_time) return std::min<Sequence>(span.first, 0) - count;
  return fail(Code::usage,
              fmt::format("machine {} has nights from {} to {}, and the imported ones ({} to {}) fall between them: "
                          "import them under another machine name, or only those before or after",
                          machine, to_rfc3339(span.first_time), to_rfc3339(span.last_time),
                          to_rfc3339(nights.front().time), to_rfc3339(nights.back().time)));
}

Status put_rows(Connection& db, std::int64_t project, const std::vector<NewNight>& nights,
                const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> night_of;
  std::vector<std::string> names;
  std::vector<double> values;
  for (std::size_t i = 0; i < nights.size(); ++i) {
    for (const HistoryRow* row : nights[i].rows) {
      night_of.push_back(ids[i]);
      names.push_back(row->metric);
      values.push_back(row->value);
    }
  }
  NG_TRY(const auto no_definition, definition_id(db, ""));
  NG_TRY(auto put,
         db.run("INSERT INTO reading (night_id, metric_id, definition_id, value) SELECT u.night, m.metric_id, "
                "$2, u.value FROM unnest($3::bigint[], $4::text[], $5::float8[]) AS u (night, name, value) "
                "JOIN metric m ON m.project_id = $1 AND m.name = u.name",
                Params().integer(project).integer(no_definition).integers(night_of).texts(names).numbers(values)));
  if (put.affected() != static_cast<std::int64_t>(values.size())) {
    return fail(Code::internal, "not every imported row found its metric");
  }
  return {};
}

Result<std::int64_t> put_night(Connection& db, std::int64_t project, std::int64_t machine, const Run& run,
                               Sequence sequence, const std::string& commit) {
  NG_TRY(const auto run_id, put_run(db, run));
  std::optional<std::int64_t> target;
  if (!commit.empty()) {
    // The digest of a night that was measured elsewhere isn't known; its commit stands for it.
    NG_TRY(target, target_id(db, project, {commit, "commit:" + commit, "", "", "", 0}));
  }
  NG_TRY(
      auto night,
      db.run("INSERT INTO night (project_id, machine_id, sequence, started, run_id, machine_class, target_id, state, "
             "imported) VALUES ($1, $2, $3, $4, $5, $6, $7, 'measured', true) RETURNING night_id",
             Params()
                 .integer(project)
                 .integer(machine)
                 .integer(sequence)
                 .time(run.started)
                 .integer(run_id)
                 .text(run.machine_class)
                 .integer_or_null(target)));
  NG_CHECK(db.run("INSERT INTO night_attempt (night_id, attempt, run_id) VALUES ($1, 1, $2)",
                  Params().integer(night.integer(0, 0)).integer(run_id)));
  return night.integer(0, 0);
}

Status import_machine(Connection& db, const std::string& project, const std::string& machine,
                      std::vector<NewNight>& nights, Imported& out) {
  NG_TRY(const auto project_number, project_id(db, project));
  NG_TRY(const auto machine_number, machine_id(db, machine, nights.back().rows.front()->machine_class));
  NG_CHECK(db.run("SELECT pg_advisory_xact_lock($1::int4, $2::int4)",
                  Params().integer(project_number).integer(machine_number)));
  NG_CHECK(drop_known(db, project, project_number, machine, nights, out));
  if (nights.empty()) return {};
  NG_TRY(const Span span, span_of(db, project_number, machine_number));
  NG_TRY(Sequence next, place_for(span, nights, machine));
  out.first[machine] = next;
  std::vector<std::int64_t> ids;
  for (const NewNight& night : nights) {
    const HistoryRow& row = *night.rows.front();
    Run run;
    run.uuid = uuid_of(project, machine, night.time);
    run.kind = RunKind::night;
    run.project = project;
    run.machine = machine;
    run.machine_class = row.machine_class;
    run.started = night.time;
    run.state = RunState::done;
    run.ended = night.time;
    run.settings = R"({"imported":true})";
    NG_TRY(const auto id, put_night(db, project_number, machine_number, run, next++, row.commit));
    ids.push_back(id);
    out.rows += static_cast<int>(night.rows.size());
  }
  out.nights += static_cast<int>(nights.size());
  return put_rows(db, project_number, nights, ids);
}

std::vector<MetricInfo> metrics_of(const formats::History& history) {
  std::map<std::string, MetricInfo> out;
  for (const HistoryRow& row : history.rows) {
    const Better better = row.better == formats::Better::lower ? Better::lower : Better::higher;
    out.try_emplace(row.metric, MetricInfo{row.metric, row.unit, better, true});
  }
  std::vector<MetricInfo> list;
  for (auto& [name, info] : out) list.push_back(std::move(info));
  return list;
}

// Known metrics stay as they are; one that turns its direction would turn the judgement of its past.
Status put_imported_metrics(Connection& db, std::int64_t project, const std::vector<MetricInfo>& metrics) {
  std::vector<std::string> names, better;
  for (const MetricInfo& metric : metrics) {
    names.push_back(metric.name);
    better.emplace_back(name_of(metric.better));
  }
  NG_TRY(auto known, db.run("SELECT m.name, m.better, m.better = u.better FROM unnest($2::text[], $3::text[]) AS u "
                            "(name, better) JOIN metric m ON m.project_id = $1 AND m.name = u.name ORDER BY 3, 1",
                            Params().integer(project).texts(names).texts(better)));
  if (!known.empty() && !known.boolean(0, 2)) {
    return fail(Code::usage, fmt::format("metric {} is better {} in the store and the other way round in what is "
                                         "imported: correct its direction, or import it under another name",
                                         known.text(0, 0), known.text(0, 1)));
  }
  std::vector<MetricInfo> fresh;
  for (const MetricInfo& metric : metrics) {
    bool there = false;
    for (int row = 0; row < known.size(); ++row) there = there || known.text(row, 0) == metric.name;
    if (!there) fresh.push_back(metric);
  }
  return put_metrics(db, project, fresh);
}

}  // namespace

Result<Imported> import_history(const OpenOptions& options, const std::string& project,
                                const formats::History& history) {
  NG_TRY(const Opened opened, open_connection(options));
  Connection& db = *opened.connection;
  NG_CHECK(require_schema(db, options.migrate || opened.cluster != nullptr));
  return db.in_transaction([&]() -> Result<Imported> {
    Imported out;
    NG_CHECK(db.script("SET LOCAL statement_timeout = 0"));
    NG_TRY(const auto id, project_id(db, project));
    NG_CHECK(put_imported_metrics(db, id, metrics_of(history)));
    Machines machines = by_night(history);
    for (auto& [machine, nights] : machines) NG_CHECK(import_machine(db, project, machine, nights, out));
    return out;
  });
}

Result<formats::History> export_history(const OpenOptions& options, const std::string& project,
                                        const std::string& machine) {
  NG_TRY(const Opened opened, open_connection(options));
  Connection& db = *opened.connection;
  NG_CHECK(require_schema(db, options.migrate || opened.cluster != nullptr));
  NG_CHECK(db.script("SET statement_timeout = 0"));
  NG_TRY(auto rows, db.run("SELECT " + micros("n.started") +
                               ", coalesce(t.commit, ''), m.name, x.name, x.unit, x.better, g.value, n.machine_class "
                               "FROM reading g JOIN night n USING (night_id) JOIN project p USING (project_id) JOIN "
                               "machine m USING (machine_id) JOIN metric x USING (metric_id) LEFT JOIN target t USING "
                               "(target_id) WHERE p.name = $1 AND ($2 = '' OR m.name = $2) AND g.value > 0 AND "
                               "NOT n.voided AND n.state IN ('measured', 'judged')",
                           Params().text(project).text(machine)));
  formats::History out;
  for (int row = 0; row < rows.size(); ++row) {
    HistoryRow one;
    one.time = rows.time(row, 0);
    one.commit = rows.text(row, 1);
    one.machine = rows.text(row, 2) == nameless ? "" : rows.text(row, 2);
    one.metric = rows.text(row, 3);
    one.unit = rows.text(row, 4);
    one.better = rows.text(row, 5) == "lower" ? formats::Better::lower : formats::Better::higher;
    one.value = rows.number(row, 6);
    one.machine_class = rows.text(row, 7);
    out.rows.push_back(std::move(one));
  }
  formats::sort_rows(out.rows);
  return out;
}

}  // namespace nightgate::store
