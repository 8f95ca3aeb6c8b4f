// What the store costs: samples a second, bytes a night, and what judging a night reads from years of history.
//   bench_store_load [series=200] [nights=1095] [written=30]
// Four machines write a month at once, then `nights` of history are put behind it, and a week is written on top.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "gate/base/files.hpp"
#include "store/backup.hpp"
#include "store/cluster.hpp"
#include "store/open.hpp"
#include "store/postgres_connection.hpp"
#include "store/retention.hpp"

namespace {
using namespace nightgate;
using Seconds = std::chrono::duration<double>;

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
template <class Work>
double seconds(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return Seconds(std::chrono::steady_clock::now() - begin).count();
}

store::Run run_of(const std::string& machine, int night) {
  store::Run run;
  run.uuid = make_uuid();
  run.kind = store::RunKind::night;
  run.project = "bench";
  run.machine = machine;
  run.started = system_clock().now() - std::chrono::hours(24 * (60 - night));
  return run;
}

// 40 scenarios of 5 metrics, 30 repeats: issue 9's night of 200 metrics.
store::Measurement measurement_of(const std::string& run, int scenario, int repeats) {
  store::Measurement out;
  out.run = run;
  out.deployment = "plain";
  out.scenario = "scenario" + std::to_string(scenario);
  out.target = {"c0ffee", "sha256:1", "", "", "", 0};
  out.definition = "d";
  for (const char* name : {"rate", "p50", "p95", "p99", "cpu_us"}) {
    out.metrics.push_back({out.deployment + "." + out.scenario + "." + name, "u", store::Better::higher, true});
  }
  for (int number = 0; number < repeats; ++number) {
    store::Repeat repeat;
    repeat.number = number;
    repeat.begin = repeat.end = system_clock().now();
    for (const char* name : {"rate", "p50", "p95", "p99", "cpu_us"}) repeat.samples[name] = 1000.0 + number / 7.0;
    for (const char* name : {"load1", "foreign_cpu", "steal", "throttled", "memory_pressure", "swap", "clock_step"}) {
      repeat.conditions[name] = number / 11.0;
    }
    out.repeats.push_back(std::move(repeat));
  }
  return out;
}

std::int64_t database_bytes(store::Connection& db) {
  return must(db.run("SELECT pg_database_size(current_database())")).integer(0, 0);
}

void write_a_night(store::Store& store, const std::string& machine, int number) {
  const auto night = must(store.begin_night(run_of(machine, number)));
  judge::NightInput input;
  for (int scenario = 0; scenario < 40; ++scenario) {
    const auto m = measurement_of(night.run, scenario, 30);
    must(store.put_measurement(m));
    for (const auto& metric : m.metrics) {
      input.readings.push_back({metric.name, judge::Better::higher, "d", 1000, {}});
    }
  }
  must(store.put_readings(night.run, input, {}));
  store::Judgement judgement;
  judgement.run = night.run;
  judgement.snapshot = std::string(200 * 400, 's');
  for (const auto& reading : input.readings) {
    judgement.verdicts.push_back({reading.metric, "good", "steady", "", 1000, 1000, 0, false, 0, std::nullopt,
                                  R"({"residual":0.0123456789,"machine":0.001,"baseline":6.9,"sigma":0.0123,)"
                                  R"("threshold":[0.05,0.04,0.03,0.02],"beyond":[0,0,0,0],"nights":30})"});
  }
  must(store.put_judgement(judgement));
  must(store.finish_run(night.run, store::RunState::done, system_clock().now(), ""));
}

void writing(const store::OpenOptions& options, store::Connection& db, int from, int nights) {
  const auto before = database_bytes(db);
  std::vector<std::thread> machines;
  double first_half = 0, second_half = 0, slowest = 0;
  const double all = seconds([&] {
    for (int machine = 0; machine < 4; ++machine) {
      machines.emplace_back([&, machine] {
        auto store = must(store::open(options));
        for (int night = 0; night < nights; ++night) {
          const double took =
              seconds([&] { write_a_night(*store, "machine" + std::to_string(machine), from + night); });
          if (machine != 0) continue;
          (night < nights / 2 ? first_half : second_half) += took;
          slowest = std::max(slowest, took);
        }
      });
    }
    for (auto& machine : machines) machine.join();
  });
  must(db.script("VACUUM ANALYZE"));
  const double samples = 4.0 * nights * 6000;
  fmt::print(
      "writing: 4 machines x {} nights of 200 metrics x 30 repeats: {:.1f} s, {:.0f} samples/s, {:.0f} KiB a "
      "night\n  a night took {:.2f} s in the first half, {:.2f} s in the second, {:.2f} s at most\n",
      nights, all, samples / all, static_cast<double>(database_bytes(db) - before) / 1024 / 4 / nights,
      first_half / (nights / 2), second_half / (nights - nights / 2), slowest);
}

// Raw samples of the first half of the month are folded into their medians.
void folding(const store::OpenOptions& options, store::Connection& db, int nights) {
  const auto older_than = system_clock().now() - std::chrono::hours(24 * (60 - nights / 2)) + std::chrono::hours(1);
  const auto would = must(store::fold_samples(options, "bench", older_than, true));
  const auto before = database_bytes(db);
  store::Folded folded;
  const double took = seconds([&] { folded = must(store::fold_samples(options, "bench", older_than, false)); });
  must(db.script("VACUUM FULL"));
  fmt::print(
      "retention: {} measurements folded ({} announced), {} repeats and {} samples removed in {:.1f} s; the database "
      "went from {} to {} MiB\n",
      folded.measurements, would.measurements, folded.repeats, folded.samples, took, before >> 20,
      database_bytes(db) >> 20);
}

// Readings and verdicts of `nights` nights, put there by SQL.
void make_history(store::Connection& db, int series, int nights) {
  must(db.script(fmt::format(
      "SET statement_timeout = 0; INSERT INTO project (name) VALUES ('long'); INSERT INTO machine (name) VALUES "
      "('old');"
      "INSERT INTO definition (hash) VALUES ('long') ON CONFLICT DO NOTHING;"
      "INSERT INTO metric (project_id, name, better) SELECT project_id, 'plain.s.m' || i, 'higher' FROM project, "
      "generate_series(1, {0}) i WHERE project.name = 'long';"
      "INSERT INTO run (uuid, kind, project_id, machine_id, started, state) SELECT md5('long' || i)::uuid, 'night', "
      "project_id, machine_id, timestamptz '2016-01-01' + i * interval '1 day', 'done' FROM project, machine, "
      "generate_series(1, {1}) i WHERE project.name = 'long' AND machine.name = 'old';"
      "INSERT INTO night (project_id, machine_id, sequence, started, run_id, state) SELECT project_id, machine_id, "
      "row_number() OVER (ORDER BY started), started, run_id, 'judged' FROM run JOIN project USING (project_id) WHERE "
      "project.name = 'long';"
      "INSERT INTO night_attempt SELECT night_id, 1, run_id FROM night JOIN project USING (project_id) WHERE "
      "project.name = 'long';"
      "INSERT INTO gate_snapshot SELECT night_id, repeat(md5(night_id::text), 20000) FROM night JOIN project USING "
      "(project_id) WHERE project.name = 'long' AND (sequence > {1} - 40 OR sequence % 30 = 0)",
      series, nights)));
  must(db.script(
      "INSERT INTO reading (night_id, metric_id, definition_id, value) SELECT n.night_id, m.metric_id, "
      "d.definition_id, 1000 + random() FROM night n JOIN project p USING (project_id) JOIN metric m USING "
      "(project_id), "
      "definition d WHERE p.name = 'long' AND d.hash = 'long' ORDER BY n.night_id, m.metric_id;"
      "INSERT INTO verdict (night_id, metric_id, verdict, value, baseline, change) SELECT night_id, metric_id, 'good', "
      "value, 1000, 0 FROM reading JOIN night USING (night_id) JOIN project USING (project_id) WHERE name = 'long'"));
  must(db.script("ANALYZE; CHECKPOINT"));
}

double read_a_night(store::Store& store, std::size_t series) {
  return seconds([&] {
    const auto snapshot = must(store.snapshot_before("long", "old"));
    const auto inputs = must(store.inputs_after("long", "old", snapshot->sequence - 1));
    if (inputs.size() != 1 || inputs[0].input.readings.size() != series) std::exit(1);
    must(store.open_trips("long"));
    must(store.decisions("long", "old"));
  });
}

void plan(store::Connection& db, const std::string& what, const std::string& sql) {
  fmt::print("plan of {}:\n", what);
  const auto rows = must(db.run("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) " + sql));
  for (int row = 0; row < rows.size(); ++row) fmt::print("  {}\n", rows.text(row, 0));
}

void reading(const store::OpenOptions& options, store::Connection& db, int series, int nights) {
  auto store = must(store::open(options));
  for (const int length : {nights / 10, nights}) {
    if (length == nights) {
      must(db.script(
          "DELETE FROM verdict v USING night n, project p WHERE v.night_id = n.night_id AND p.project_id = "
          "n.project_id AND p.name = 'long'; DELETE FROM reading v USING night n, project p WHERE v.night_id "
          "= n.night_id AND p.project_id = n.project_id AND p.name = 'long'; DELETE FROM gate_snapshot s USING "
          "night n, project p WHERE s.night_id = n.night_id AND p.project_id = n.project_id AND p.name = "
          "'long'; DELETE FROM night_attempt a USING night n, project p WHERE a.night_id = n.night_id AND "
          "p.project_id = n.project_id AND p.name = 'long'; DELETE FROM night n USING project p WHERE "
          "p.project_id = n.project_id AND p.name = 'long'; DELETE FROM run n USING project p WHERE "
          "p.project_id = n.project_id AND p.name = 'long'; DELETE FROM metric n USING project p WHERE "
          "p.project_id = n.project_id AND p.name = 'long'; DELETE FROM project WHERE name = 'long'; DELETE "
          "FROM machine WHERE name = 'old'"));
    }
    make_history(db, series, length);
    const double cold = read_a_night(*store, static_cast<std::size_t>(series));
    double warm = 1e9;
    for (int i = 0; i < 5; ++i) warm = std::min(warm, read_a_night(*store, static_cast<std::size_t>(series)));
    const double chart = seconds([&] { must(store->series("long", "old", {"plain.s.m1"}, 0)); });
    fmt::print(
        "reading: {} series x {} nights: what a night's verdict needs {:.3f} s first, {:.3f} s then; one series "
        "whole {:.3f} s\n",
        series, length, cold, warm, chart);
  }
  const std::string ids =
      "n.project_id = (SELECT project_id FROM project WHERE name = 'long') AND n.machine_id = "
      "(SELECT machine_id FROM machine WHERE name = 'old')";
  plan(db, "the newest snapshot",
       "SELECT n.sequence, s.body FROM night n JOIN gate_snapshot s USING (night_id) WHERE " + ids +
           " AND n.sequence < 9223372036854775807 AND n.state = 'judged' AND NOT n.voided ORDER BY n.sequence DESC "
           "LIMIT 1");
  plan(db, "a night's readings",
       "SELECT g.night_id, m.name, g.value FROM reading g JOIN metric m USING (metric_id) JOIN definition d USING "
       "(definition_id) WHERE g.night_id = ANY (ARRAY(SELECT n.night_id FROM night n WHERE " +
           ids + fmt::format(" AND n.sequence > {})) ORDER BY g.night_id, m.name", nights - 1));
  fmt::print("database: {} MiB\n", database_bytes(db) >> 20);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int at, int fallback) { return argc > at ? std::atoi(argv[at]) : fallback; };
  const TempDir state = must(TempDir::make("ng-bench"));
  store::OpenOptions options;
  options.state = state.path();
  options.statement_timeout = std::chrono::hours(1);
  {
    auto keeps_it_running = must(store::open(options));
    store::OpenOptions direct = options;
    direct.where =
        "host=" + (must(store::prepare_place(state.path())).socket).string() + " user=nightgate dbname=nightgate";
    auto db = must(store::Connection::connect(direct));
    const int nights = argument(3, 30);
    writing(options, *db, 0, nights);
    reading(options, *db, argument(1, 200), argument(2, 1095));
    fmt::print("with {} nights of {} series behind it, ", argument(2, 1095), argument(1, 200));
    writing(options, *db, nights, 8);
    folding(options, *db, nights);
    fs::path file = state.path() / "backup";
    const double took = seconds([&] { must(store::backup(options, file)); });
    fmt::print("backup with its proof: {:.1f} s, {} MiB\n", took, fs::file_size(file) >> 20);
  }
  std::error_code error;
  fs::remove_all(fs::weakly_canonical(state.path() / "postgres", error), error);
}
