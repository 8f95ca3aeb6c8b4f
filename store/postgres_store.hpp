// The Store on PostgreSQL. Its methods live in postgres_record.cpp (what measuring writes), postgres_nights.cpp,
// postgres_read.cpp, postgres_judgement.cpp (verdicts and trips), postgres_decisions.cpp and postgres_bisects.cpp
// (bisects, ledger, notifications).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/postgres_connection.hpp"
#include "store/store.hpp"

namespace nightgate::store {

class Cluster;

class PostgresStore final : public Store {
 public:
  // `cluster`: the private one this connection leads to, kept running while the store is open; null for other servers.
  PostgresStore(std::unique_ptr<Connection> connection, std::shared_ptr<Cluster> cluster)
      : cluster_(std::move(cluster)), connection_(std::move(connection)) {}
  ~PostgresStore() override;
  [[nodiscard]] Connection& connection() { return *connection_; }

  Status put_machine(const Machine& machine) override;
  Status put_definition(const std::string& hash, const std::string& text) override;
  Status put_target(const std::string& project, const Target& target) override;
  Status begin_run(const Run& run) override;
  Status finish_run(const std::string& uuid, RunState state, Instant ended, const std::string& result_json) override;
  Result<Night> begin_night(const Run& run, Sequence attempt_of, Unfinished unfinished) override;
  Status set_night_target(const std::string& run, const Target& target, const std::string& definition) override;
  Status put_measurement(const Measurement& measurement) override;
  Status put_readings(const std::string& run, const judge::NightInput& input,
                      const std::vector<MetricInfo>& metrics) override;
  Status set_night(const std::string& run, NightState state, const std::string& reason) override;
  Status put_noise(const std::string& project, const std::string& machine, const std::vector<Noise>& noise) override;
  Result<std::shared_ptr<void>> hold_judging(const std::string& project, const std::string& machine,
                                             std::chrono::seconds patience) override;
  Result<std::optional<Snapshot>> snapshot_before(const std::string& project, const std::string& machine,
                                                  Sequence before) override;
  Result<std::vector<StoredInput>> inputs_after(const std::string& project, const std::string& machine,
                                                Sequence after) override;
  Result<std::vector<TripGroup>> put_judgement(const Judgement& judgement) override;
  Result<std::optional<Night>> night(const std::string& project, const std::string& machine,
                                     Sequence sequence) override;
  Result<std::optional<Night>> night_of_run(const std::string& run) override;
  Result<std::vector<Night>> nights(const std::string& project, const std::string& machine, Sequence before,
                                    int limit) override;
  Result<std::optional<Night>> last_judged(const std::string& project, const std::string& machine) override;
  Result<std::vector<Verdict>> verdicts(const std::string& project, const std::string& machine,
                                        Sequence sequence) override;
  Result<std::vector<SeriesPoint>> series(const std::string& project, const std::string& machine,
                                          const std::vector<std::string>& metrics, Sequence first) override;
  Result<std::vector<MetricHistory>> histories(const std::string& project, const std::string& machine,
                                               const std::vector<std::string>& metrics, Sequence first,
                                               Sequence last) override;
  Result<std::vector<std::string>> projects() override;
  Result<std::vector<Machine>> machines(const std::string& project) override;
  Result<std::vector<MetricInfo>> metrics(const std::string& project) override;
  Result<std::optional<Run>> run(const std::string& uuid) override;
  Result<std::vector<Run>> runs(const std::string& project, RunKind kind, int limit) override;
  Result<std::vector<Measurement>> measurements(const std::string& run) override;
  Result<std::string> definition(const std::string& hash) override;
  Result<std::vector<Noise>> noise(const std::string& project, const std::string& machine) override;
  Result<std::vector<TripGroup>> open_trips(const std::string& project) override;
  Result<std::vector<TripGroup>> trips(const std::string& project, int limit) override;
  Result<std::optional<TripGroup>> trip(const std::string& project, std::int64_t id) override;
  Status accept_again(const Decision& decision) override;
  Status rename_trips(const std::string& project, const std::string& old_name, const std::string& new_name) override;
  Status set_trip_answer(std::int64_t id, std::int64_t bisect, const std::string& answer) override;
  Result<Decision> put_decision(const Decision& decision) override;
  Result<std::vector<Decision>> decisions(const std::string& project, const std::string& machine) override;
  Result<std::int64_t> put_bisect(const Bisect& bisect) override;
  Status update_bisect(std::int64_t id, BisectState state, const std::string& answer,
                       std::optional<Instant> ended) override;
  Result<std::optional<Bisect>> bisect(std::int64_t id) override;
  Result<std::vector<Bisect>> bisects(const std::string& project, int limit) override;
  Status put_bisect_step(std::int64_t bisect, const BisectStep& step) override;
  Result<std::vector<BisectStep>> bisect_steps(std::int64_t bisect) override;
  Result<std::int64_t> put_ledger(const LedgerEntry& entry) override;
  Status change_ledger(const LedgerChange& change) override;
  Result<std::vector<LedgerEntry>> ledger(const std::string& project) override;
  Result<std::vector<LedgerChange>> ledger_changes(std::int64_t entry) override;
  Status put_notification(const Notification& notification) override;
  Status update_notification(const Notification& notification) override;
  Result<std::vector<Notification>> pending_notifications(const std::string& project) override;
  Result<std::optional<Notification>> notification(const std::string& project, const std::string& kind,
                                                   const std::string& key) override;
  Status prepare_quiet() override;

 private:
  // One statement in a transaction of its own (with its one more try).
  [[nodiscard]] Result<Rows> query(const std::string& sql, const Params& params);
  [[nodiscard]] Status command(const std::string& sql, const Params& params);
  // The same, and Code::not_found with `missing` when it touched no row.
  [[nodiscard]] Status must_touch(const std::string& sql, const Params& params, const std::string& missing);

  std::shared_ptr<Cluster> cluster_;  // outlives the connection
  std::unique_ptr<Connection> connection_;
};

}  // namespace nightgate::store
