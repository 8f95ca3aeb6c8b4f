// What a site costs: 1,000 metrics x 365 nights for the first time, then the next night; size of the pages; memory.
//   bench_report_site [metrics=1000] [nights=365] [directory]
// With a directory the site stays there to be looked at.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>

#include "ci/report/site.hpp"
#include "store/cluster.hpp"
#include "store/open.hpp"
#include "store/postgres_connection.hpp"

namespace {
using namespace nightgate;

template <class T>
T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().text());
    std::exit(1);
  }
  return std::move(*result);
}
void must(const Status& status) {
  if (!status) {
    fmt::print(stderr, "{}\n", status.error().text());
    std::exit(1);
  }
}

// Nights from..to: levels with 1 % noise; every 40th metric drops by 20 % in a night of its own and trips, half of them
// come back 12 nights later.
void add_nights(store::Connection& db, int from, int to) {
  const auto range = fmt::format("generate_series({}, {}) i", from, to);
  must(db.script(
      "SET statement_timeout = 0; INSERT INTO target (project_id, commit, digest, label, title, author, pr) SELECT "
      "project_id, md5('c' || i) || '00000000', 'sha256:' || md5('d' || i), '#' || i || ' ' || left(md5('c' || i), 7), "
      "'Change the thing number ' || i || ' so that it does the other thing', 'Ada Lindqvist', i FROM project, " +
      range +
      "; INSERT INTO run (uuid, kind, project_id, machine_id, started, state) SELECT md5('bench' || i)::uuid, 'night', "
      "project_id, machine_id, timestamptz '2025-01-01 01:00Z' + i * interval '1 day', 'done' FROM project, machine, " +
      range +
      "; INSERT INTO night (project_id, machine_id, sequence, started, run_id, state, target_id) SELECT project_id, "
      "machine_id, i, timestamptz '2025-01-01 01:00Z' + i * interval '1 day', (SELECT run_id FROM run WHERE uuid = "
      "md5('bench' || i)::uuid), 'judged', (SELECT target_id FROM target WHERE pr = i) FROM project, machine, " +
      range));
  must(db.script(fmt::format(
      "INSERT INTO reading (night_id, metric_id, definition_id, value) SELECT n.night_id, m.metric_id, "
      "d.definition_id, "
      "(1000 + 90 * m.metric_id) * (1 + 0.01 * (random() + random() + random() - 1.5)) * CASE WHEN m.metric_id % 40 = "
      "0 "
      "AND n.sequence >= 20 + m.metric_id % 320 AND (m.metric_id % 80 = 0 OR n.sequence < 32 + m.metric_id % 320) THEN "
      "0.8 ELSE 1 END FROM night n, metric m, definition d WHERE n.sequence BETWEEN {0} AND {1} ORDER BY n.night_id, "
      "m.metric_id;"
      "INSERT INTO verdict (night_id, metric_id, verdict, state, value, baseline, change, red, explanation) SELECT "
      "night_id, metric_id, CASE WHEN NOT fallen THEN 'good' WHEN nth = 0 THEN 'suspect' WHEN nth = 1 THEN 'trip' ELSE "
      "'red' END, 'steady', value, base, value / base - 1, fallen AND nth > 0, '{{\"sigma\":0.01,\"threshold\":[0.05,"
      "0.04]}}' FROM (SELECT g.night_id, g.metric_id, g.value, 1000 + 90 * g.metric_id AS base, g.value < 0.9 * (1000 "
      "+ "
      "90 * g.metric_id) AS fallen, n.sequence - 20 - g.metric_id % 320 AS nth FROM reading g JOIN night n USING "
      "(night_id) WHERE n.sequence BETWEEN {0} AND {1}) x ORDER BY 1, 2",
      from, to)));
}

void make_history(store::Connection& db, int metrics, int nights) {
  must(db.script(fmt::format(
      "INSERT INTO project (name) VALUES ('bench'); INSERT INTO machine (name, machine_class) VALUES ('old', 'a "
      "machine, 16 cores'); INSERT INTO definition (hash) VALUES (md5('a definition')) ON CONFLICT DO NOTHING;"
      "DELETE FROM definition WHERE hash = '';"
      "INSERT INTO metric (project_id, name, unit, better) SELECT project_id, 'deployment' || i % 4 || '.scenario_' || "
      "i / 5 || '.metric_' || i, 'requests/s', 'higher' FROM project, generate_series(1, {}) i",
      metrics)));
  add_nights(db, 1, nights);
  must(db.script(
      "INSERT INTO trip_group (project_id, machine_id, first, last_good, tripped) SELECT DISTINCT project_id, "
      "machine_id, n.sequence - 1, n.sequence - 2, n.sequence FROM verdict v JOIN night n USING (night_id) WHERE "
      "v.verdict = 'trip'; INSERT INTO trip (group_id, metric_id, position, kind, change, baseline, level, tripped, "
      "state) SELECT g.group_id, v.metric_id, v.metric_id, 'step', v.change, v.baseline, v.value, n.sequence, CASE "
      "WHEN "
      "v.metric_id % 80 = 0 THEN 'open' ELSE 'recovered' END FROM verdict v JOIN night n USING (night_id) JOIN "
      "trip_group g ON g.tripped = n.sequence WHERE v.verdict = 'trip'"));
  must(db.script("ANALYZE; CHECKPOINT"));
}

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::uintmax_t largest(const fs::path& folder) {
  std::uintmax_t out = 0;
  for (const auto& entry : fs::directory_iterator(folder)) out = std::max(out, entry.file_size());
  return out;
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void site(store::Store& store, store::Connection& db, const fs::path& directory, int metrics, int nights) {
  report::SiteOptions options;
  options.project = "bench";
  report::SiteWritten first, next, last;
  const double all = seconds([&] { first = must(report::write_site(store, directory, options)); });
  const double memory = peak_mib();
  add_nights(db, nights + 1, nights + 1);
  const double more = seconds([&] { next = must(report::write_site(store, directory, options)); });
  const double nothing = seconds([&] { last = must(report::write_site(store, directory, options)); });
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  fmt::print(
      "{} metrics x {} nights: {:.2f} s for {} pages ({} MiB), peak memory {:.0f} MiB\n"
      "next night: {:.2f} s, {} pages; once more: {:.2f} s, {} pages\n"
      "largest metric page {} KB, largest night page {} KB, index {} KB, list of metrics {} KB\n",
      metrics, nights, all, first.pages, bytes >> 20, memory, more, next.pages, nothing, last.pages,
      largest(directory / "machine/old/metric") / 1000, largest(directory / "machine/old/night") / 1000,
      fs::file_size(directory / "index.html") / 1000, fs::file_size(directory / "machine/old/metrics.html") / 1000);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int at, int fallback) { return argc > at ? std::atoi(argv[at]) : fallback; };
  const TempDir state = must(TempDir::make("ng-bench"));
  store::OpenOptions options;
  options.state = state.path();
  options.statement_timeout = std::chrono::hours(1);
  {
    auto store = must(store::open(options));
    store::OpenOptions direct = options;
    direct.where =
        "host=" + (must(store::prepare_place(state.path())).socket).string() + " user=nightgate dbname=nightgate";
    auto db = must(store::Connection::connect(direct));
    make_history(*db, argument(1, 1000), argument(2, 365));
    site(*store, *db, argc > 3 ? fs::path(argv[3]) : state.path() / "site", argument(1, 1000), argument(2, 365));
  }
  std::error_code error;
  fs::remove_all(fs::weakly_canonical(state.path() / "postgres", error), error);
}
