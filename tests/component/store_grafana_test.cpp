// The ready Grafana dashboard: every query in it runs against the real views and finds what was put there.
#include <nlohmann/json.hpp>

#include "gate/base/files.hpp"
#include "gate/base/json.hpp"
#include "tests/component/store_support.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::test;

namespace {

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// What Grafana makes of its variables and of $__timeFilter(column).
std::string as_grafana_sends(std::string sql) {
  replace_all(sql, "${project:sqlstring}", "'coraine'");
  replace_all(sql, "${machine:sqlstring}", "'bench1'");
  replace_all(sql, "${metric:sqlstring}", std::string("'") + metric_a + "'");
  const std::string macro = "$__timeFilter(";
  for (auto at = sql.find(macro); at != std::string::npos; at = sql.find(macro)) {
    const auto end = sql.find(')', at);
    const auto column = sql.substr(at + macro.size(), end - at - macro.size());
    sql.replace(at, end + 1 - at, column + " BETWEEN '2000-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z'");
  }
  return sql;
}

// Three good nights, one that trips, and a bisect of it.
std::string filled_database() {
  std::string database;
  auto store = fresh_store(&database);
  for (int night = 0; night < 3; ++night) judged_night(*store, 100 + night, 2.5);
  const auto bad = stored_night(*store, 60, 2.5);
  store::Judgement judgement;
  judgement.run = bad;
  judgement.snapshot = "s";
  store::Verdict verdict;
  verdict.metric = metric_a;
  verdict.verdict = "suspect";
  verdict.value = 60;
  verdict.baseline = 100;
  verdict.change = -0.4;
  judgement.verdicts.push_back(verdict);
  store::TripGroup group;
  group.first = 3;
  group.last_good = 2;
  group.trips.push_back({metric_a, "step", -0.4, 100, 60, 0, store::TripState::open, std::nullopt});
  judgement.opened.push_back(group);
  REQUIRE(store->put_judgement(judgement));
  auto run = some_run(make_uuid(), store::RunKind::bisect);
  REQUIRE(store->begin_run(run));
  store::Bisect bisect;
  bisect.run = run.uuid;
  bisect.project = run.project;
  bisect.machine = run.machine;
  bisect.metric = metric_a;
  bisect.good = "a";
  bisect.bad = "b";
  bisect.started = run.started;
  REQUIRE(store->put_bisect(bisect));
  return database;
}

}  // namespace

TEST_CASE("every query of the Grafana dashboard finds its rows in the views", "[store]") {
  const auto text = read_file(fs::path(NIGHTGATE_SOURCE_DIR) / "store/grafana/nightgate.json");
  REQUIRE(text);
  const auto dashboard = parse_json(*text);
  REQUIRE(dashboard);
  const auto database = filled_database();
  const auto project = ask(database, "SELECT project FROM nightgate.nights LIMIT 1");
  auto db = TestCluster::shared().connect(database);
  const auto run = [&](std::string sql) {
    INFO(sql);
    CHECK(sql.find("nightgate.") != std::string::npos);  // works whatever the search path is
    sql = as_grafana_sends(sql);
    replace_all(sql, "'coraine'", "'" + project + "'");
    CHECK(sql.find('$') == std::string::npos);
    const auto rows = db->run(sql);
    if (!rows) FAIL(rows.error().text());
    CHECK(rows->size() > 0);
  };
  int queries = 0;
  for (const auto& variable : (*dashboard)["templating"]["list"]) {
    if (variable["type"] != "query") continue;
    run(variable["query"].get<std::string>());
    ++queries;
  }
  for (const auto& panel : (*dashboard)["panels"]) {
    for (const auto& target : panel["targets"]) {
      run(target["rawSql"].get<std::string>());
      ++queries;
    }
  }
  CHECK(queries == 15);
}
