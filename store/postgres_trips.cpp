#include "store/postgres_trips.hpp"

#include <algorithm>

#include "store/names.hpp"
#include "store/postgres_store.hpp"

namespace nightgate::store {
namespace {

TripGroup group_from(const Rows& rows, int row) {
  TripGroup group;
  group.id = rows.integer(row, 0);
  group.project = rows.text(row, 1);
  group.machine = rows.text(row, 2);
  group.first = rows.integer(row, 3);
  group.last_good = rows.integer(row, 4);
  group.tripped = rows.integer(row, 5);
  group.bisect = rows.integer(row, 6);
  group.answer = rows.text(row, 7);
  group.open = false;
  return group;
}

Status add_trips(Connection& connection, std::vector<TripGroup>& groups) {
  std::vector<std::int64_t> ids;
  for (const TripGroup& group : groups) ids.push_back(group.id);
  NG_TRY(auto rows,
         connection.run("SELECT t.group_id, m.name, t.kind, t.change, t.baseline, t.level, t.tripped, t.state, "
                        "t.closed FROM trip t JOIN metric m USING (metric_id) WHERE t.group_id = ANY ($1::bigint[]) "
                        "ORDER BY t.group_id, t.position, m.name",
                        Params().integers(ids)));
  for (int row = 0; row < rows.size(); ++row) {
    const std::int64_t id = rows.integer(row, 0);
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const TripGroup& g) { return g.id == id; });
    if (group == groups.end()) continue;
    const auto state = value_of<TripState>(rows.text(row, 7));
    group->trips.push_back({rows.text(row, 1), rows.text(row, 2), rows.number(row, 3), rows.number(row, 4),
                            rows.number(row, 5), rows.integer(row, 6), state, rows.integer_or_null(row, 8)});
    group->open = group->open || state == TripState::open;
  }
  return {};
}

}  // namespace

Result<std::vector<TripGroup>> read_trips(Connection& connection, const std::string& where, const Params& params,
                                          const std::string& order) {
  NG_TRY(auto rows, connection.run("SELECT g.group_id, p.name, m.name, g.first, g.last_good, g.tripped, g.bisect, "
                                   "g.answer FROM trip_group g JOIN project p USING (project_id) JOIN machine m USING "
                                   "(machine_id) WHERE " +
                                       where + " ORDER BY " + order,
                                   params));
  std::vector<TripGroup> out;
  for (int row = 0; row < rows.size(); ++row) out.push_back(group_from(rows, row));
  NG_CHECK(add_trips(connection, out));
  return out;
}

Result<std::vector<TripGroup>> PostgresStore::open_trips(const std::string& project) {
  return connection_->in_transaction([&]() {
    return read_trips(*connection_,
                      "p.name = $1 AND g.group_id IN (SELECT t.group_id FROM trip t WHERE t.state = 'open')",
                      Params().text(project), "g.group_id");
  });
}

Result<std::vector<TripGroup>> PostgresStore::trips(const std::string& project, int limit) {
  return connection_->in_transaction([&]() {
    return read_trips(*connection_, "p.name = $1", Params().text(project).integer(limit), "g.group_id DESC LIMIT $2");
  });
}

Result<std::optional<TripGroup>> PostgresStore::trip(const std::string& project, std::int64_t id) {
  NG_TRY(const auto out, connection_->in_transaction([&]() {
    return read_trips(*connection_, "p.name = $1 AND g.group_id = $2", Params().text(project).integer(id),
                      "g.group_id");
  }));
  if (out.empty()) return std::nullopt;
  return out.front();
}

Status PostgresStore::rename_trips(const std::string& project, const std::string& old_name,
                                   const std::string& new_name) {
  const auto names = Params().text(project).text(old_name).text(new_name);
  return connection_->in_transaction([&]() -> Status {
    NG_CHECK(connection_->run(
        "INSERT INTO metric (project_id, name, unit, better, gated) SELECT m.project_id, $3, m.unit, m.better, m.gated "
        "FROM metric m JOIN project p USING (project_id) WHERE p.name = $1 AND m.name = $2 ON CONFLICT DO NOTHING",
        names));
    // Closed ones keep the name that they had; one cause is not moved where the new name stands already.
    NG_CHECK(connection_->run(
        "UPDATE trip t SET metric_id = new.metric_id FROM metric old, metric new, project p WHERE p.name = $1 AND "
        "old.project_id = p.project_id AND new.project_id = p.project_id AND old.name = $2 AND new.name = $3 AND "
        "t.metric_id = old.metric_id AND t.state = 'open' AND NOT EXISTS (SELECT FROM trip x WHERE x.group_id = "
        "t.group_id AND x.metric_id = new.metric_id)",
        names));
    return {};
  });
}

Status PostgresStore::set_trip_answer(std::int64_t id, std::int64_t bisect, const std::string& answer) {
  return must_touch("UPDATE trip_group SET bisect = $2, answer = $3 WHERE group_id = $1",
                    Params().integer(id).integer(bisect).json(answer),
                    "there is no trip " + std::to_string(id) + "; `nightgate status` lists the open ones");
}

}  // namespace nightgate::store
