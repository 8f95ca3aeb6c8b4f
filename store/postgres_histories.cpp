// Many series at once, for the pages of a site.
#include <algorithm>

#include "store/postgres_store.hpp"

namespace nightgate::store {
namespace {

HistoryPoint point_from(const Rows& rows, int row) {
  return {rows.integer(row, 1), rows.number(row, 2), rows.number(row, 3),  rows.number(row, 4), rows.text(row, 5),
          rows.text(row, 6),    rows.text(row, 7),   rows.boolean(row, 8), rows.small(row, 9)};
}

}  // namespace

Result<std::vector<MetricHistory>> PostgresStore::histories(const std::string& project, const std::string& machine,
                                                            const std::vector<std::string>& metrics, Sequence first,
                                                            Sequence last) {
  // A metric's number says whose row it is; names come apart, once each.
  NG_TRY(const auto names,
         query("SELECT x.metric_id, x.name FROM metric x JOIN project p USING (project_id) WHERE p.name = $1 AND "
               "(cardinality($2::text[]) = 0 OR x.name = ANY ($2::text[])) ORDER BY x.metric_id",
               Params().text(project).texts(metrics)));
  std::vector<std::int64_t> ids;
  std::vector<MetricHistory> out;
  for (int row = 0; row < names.size(); ++row) {
    ids.push_back(names.integer(row, 0));
    out.push_back({names.text(row, 1), {}});
  }
  NG_TRY(const auto rows,
         query("SELECT g.metric_id, n.sequence, g.value, v.baseline, v.change, v.verdict, coalesce(nullif(v.reason, "
               "''), g.missing), left(d.hash, 12), coalesce(v.red, false), coalesce(v.nights_left, 0) FROM night n "
               "JOIN reading g USING (night_id) JOIN definition d USING (definition_id) LEFT JOIN verdict v USING "
               "(night_id, metric_id) WHERE n.project_id = (SELECT project_id FROM project WHERE name = $1) AND "
               "n.machine_id = (SELECT machine_id FROM machine WHERE name = $2) AND n.sequence BETWEEN $3 AND $4 AND "
               "NOT n.voided AND g.metric_id = ANY ($5::bigint[]) ORDER BY g.metric_id, n.sequence",
               Params().text(project).text(machine).integer(first).integer(last).integers(ids)));
  std::size_t at = 0;
  for (int row = 0; row < rows.size(); ++row) {
    const auto id = rows.integer(row, 0);
    while (ids[at] != id) ++at;  // both ascend
    out[at].points.push_back(point_from(rows, row));
  }
  out.erase(std::remove_if(out.begin(), out.end(), [](const auto& m) { return m.points.empty(); }), out.end());
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.metric < b.metric; });
  return out;
}

}  // namespace nightgate::store
