#include "store/retention.hpp"

#include "store/migrate.hpp"
#include "store/opening.hpp"

namespace nightgate::store {
namespace {

constexpr int measurements_a_transaction = 500;

// Which measurements may be folded. Those whose samples have no median (there are none) would be left alone.
const std::string& foldable() {
  static const std::string sql =
      "SELECT m.measurement_id FROM measurement m JOIN run r USING (run_id) JOIN project p USING (project_id) WHERE "
      "p.name = $1 AND r.started < $2 AND r.state <> 'running' AND NOT m.folded AND EXISTS (SELECT 1 FROM repeat t "
      "WHERE t.measurement_id = m.measurement_id) AND NOT EXISTS (SELECT 1 FROM repeat t JOIN sample s USING "
      "(repeat_id) WHERE t.measurement_id = m.measurement_id AND NOT t.voided AND NOT EXISTS (SELECT 1 FROM "
      "measurement_value v WHERE v.measurement_id = m.measurement_id AND v.metric_id = s.metric_id))";
  return sql;
}

Result<Folded> count(Connection& db, const Params& params) {
  NG_TRY(auto rows, db.run("WITH f AS (" + foldable() +
                               ") SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM repeat JOIN f USING "
                               "(measurement_id)), (SELECT count(*) FROM sample JOIN repeat USING (repeat_id) JOIN f "
                               "USING (measurement_id))",
                           params));
  return Folded{rows.integer(0, 0), rows.integer(0, 1), rows.integer(0, 2)};
}

Result<Folded> fold_some(Connection& db, const std::string& project, Instant older_than) {
  return db.in_transaction([&]() -> Result<Folded> {
    NG_TRY(auto chosen, db.run("UPDATE measurement SET folded = true WHERE measurement_id IN (" + foldable() +
                                   " ORDER BY m.measurement_id LIMIT $3 FOR UPDATE OF m) RETURNING measurement_id",
                               Params().text(project).time(older_than).integer(measurements_a_transaction)));
    std::vector<std::int64_t> ids;
    for (int row = 0; row < chosen.size(); ++row) ids.push_back(chosen.integer(row, 0));
    const Params params = Params().integers(ids);
    NG_TRY(auto samples, db.run("DELETE FROM sample s USING repeat t WHERE s.repeat_id = t.repeat_id AND "
                                "t.measurement_id = ANY ($1::bigint[])",
                                params));
    NG_TRY(auto repeats, db.run("DELETE FROM repeat WHERE measurement_id = ANY ($1::bigint[])", params));
    return Folded{chosen.size(), repeats.affected(), samples.affected()};
  });
}

}  // namespace

Result<Folded> fold_samples(const OpenOptions& options, const std::string& project, Instant older_than, bool dry_run) {
  NG_TRY(Opened opened, open_connection(options));
  NG_CHECK(require_schema(*opened.connection, options.migrate || opened.cluster != nullptr));
  if (dry_run) return count(*opened.connection, Params().text(project).time(older_than));
  Folded total;
  while (true) {
    NG_TRY(const Folded some, fold_some(*opened.connection, project, older_than));
    if (some.measurements == 0) return total;
    total.measurements += some.measurements;
    total.repeats += some.repeats;
    total.samples += some.samples;
  }
}

}  // namespace nightgate::store
