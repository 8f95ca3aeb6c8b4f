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
  NG_TRY(const auto nights,
         query("SELECT night_id FROM night WHERE project_id = (SELECT project_id FROM project WHERE name = $1) AND "
               "machine_id = (SELECT machine_id FROM machine WHERE name = $2) AND sequence BETWEEN $3 AND $4 AND NOT "
               "voided",
               Params().text(project).text(machine).integer(first).integer(last)));
  std::vector<std::int64_t> night_ids;
  for (int row = 0; row < nights.size(); ++row) night_ids.push_back(nights.integer(row, 0));
  // The nights are named on both sides: else all verdicts there are would be read for a few nights. The metrics only
  // where some are wanted: asking for each of all would cost more than reading the nights.
  const auto ours = metrics.empty() ? std::string() : std::string(" AND g.metric_id = ANY ($2::bigint[])");
  auto params = Params().integers(night_ids);
  if (!metrics.empty()) params.integers(ids);
  NG_TRY(const auto rows,
         query("SELECT g.metric_id, n.sequence, g.value, v.baseline, v.change, v.verdict, coalesce(nullif(v.reason, "
               "''), g.missing), left(d.hash, 12), coalesce(v.red, false), coalesce(v.nights_left, 0) FROM reading g "
               "JOIN night n USING (night_id) JOIN definition d USING (definition_id) LEFT JOIN (SELECT night_id, "
               "metric_id, baseline, change, verdict, reason, red, nights_left FROM verdict WHERE night_id = ANY "
               "($1::bigint[])) v USING (night_id, metric_id) WHERE g.night_id = ANY ($1::bigint[])" +
                   ours + " ORDER BY g.metric_id, n.sequence",
               params));
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
