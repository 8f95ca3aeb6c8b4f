// The store: the one place where nights, measurements, verdicts, trips and bisects are kept. See README.md.
//
// Every write is idempotent by its natural key: writing the same thing twice doubles nothing and is no error. Every
// write is one transaction: whole or not at all, and on disk when the call returns. Errors: Code::away (the database
// can't be reached or can't work now: try later), Code::denied (password, rights, read-only), Code::not_found (a key
// that must exist does not), Code::bad_data (a value that can't be kept: NaN sample, invalid UTF-8), Code::internal.
// A failed read is an error, never an empty answer. One object per thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gate/base/result.hpp"
#include "store/rows.hpp"

namespace nightgate::store {

// Is the state after this night worth keeping, when nights up to `last` are judged in one go? Snapshots are thinned
// out with age, and one that would go at once need not be made.
[[nodiscard]] bool keeps_snapshot(Sequence night, Sequence last);

// What begin_night does with an unfinished night: give it back to be continued, or close it (`measuring` becomes
// no_verdict, `measured` waits to be judged) and make the new one. `close` is for nights that come out of the spool.
enum class Unfinished { resume, close };

// What measuring writes. Both the database and the local spool take it, so a night goes on when the database is away.
class Recorder {
 public:
  virtual ~Recorder() = default;
  [[nodiscard]] virtual Status put_machine(const Machine& machine) = 0;
  // `text` is the canonical JSON behind the hash.
  [[nodiscard]] virtual Status put_definition(const std::string& hash, const std::string& text) = 0;
  [[nodiscard]] virtual Status put_target(const std::string& project, const Target& target) = 0;
  // Its machine must be there; the project is made when new. A uuid that is there already stays as it is.
  [[nodiscard]] virtual Status begin_run(const Run& run) = 0;
  [[nodiscard]] virtual Status finish_run(const std::string& uuid, RunState state, Instant ended,
                                          const std::string& result_json) = 0;

  // Makes the next night of (run.project, run.machine), its run included. When the newest night there is unfinished
  // (measuring or measured), that one comes back instead, `resumed`, with its own run uuid: go on with it, reading what
  // it has by measurements(night.run), or close it by set_night(no_verdict) and begin again. The same run.uuid again
  // gives the same night. attempt_of > 0: a further attempt of that night (Code::not_found when there is none).
  [[nodiscard]] virtual Result<Night> begin_night(const Run& run, Sequence attempt_of = 0,
                                                  Unfinished unfinished = Unfinished::resume) = 0;
  // Tonight's target and the fingerprint of all definitions together.
  [[nodiscard]] virtual Status set_night_target(const std::string& run, const Target& target,
                                                const std::string& definition) = 0;
  // One start, repeats included. What is there already stays (also when it was folded since).
  [[nodiscard]] virtual Status put_measurement(const Measurement& measurement) = 0;
  // What the judge will get for this night; input.night is ignored. Ends state `measuring` -> `measured`. A further
  // attempt replaces the readings.
  [[nodiscard]] virtual Status put_readings(const std::string& run, const judge::NightInput& input,
                                            const std::vector<MetricInfo>& metrics) = 0;
  // Closes a night without a verdict (no_verdict, with its reason); other states are set by the other calls.
  [[nodiscard]] virtual Status set_night(const std::string& run, NightState state, const std::string& reason) = 0;
  [[nodiscard]] virtual Status put_noise(const std::string& project, const std::string& machine,
                                         const std::vector<Noise>& noise) = 0;
};

class Store : public Recorder {
 public:
  // ---- judging: reads bounded by what is asked for, however long the history is ----
  // One at a time judges a machine: waits for whoever does (Code::busy after `patience`), and holds until what comes
  // back is destroyed, which must be before the store is. The database gives it up with the connection.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> hold_judging(const std::string& project,
                                                                   const std::string& machine,
                                                                   std::chrono::seconds patience) = 0;
  // The snapshot of the newest night before `before` that has one (they are thinned out with age) and has no night
  // before it that waits to be judged.
  [[nodiscard]] virtual Result<std::optional<Snapshot>> snapshot_before(const std::string& project,
                                                                        const std::string& machine,
                                                                        Sequence before = newest) = 0;
  // Inputs of the nights after `after`, in order: measured or judged, not voided. Tonight's is the last of them.
  [[nodiscard]] virtual Result<std::vector<StoredInput>> inputs_after(const std::string& project,
                                                                      const std::string& machine, Sequence after) = 0;
  // Verdicts, snapshot, trips opened and closed; the night is `judged`. Trips that an earlier judgement of this night
  // opened and this one doesn't are withdrawn, closings likewise undone. Returns the groups opened, with their ids.
  [[nodiscard]] virtual Result<std::vector<TripGroup>> put_judgement(const Judgement& judgement) = 0;

  // ---- nights ----
  [[nodiscard]] virtual Result<std::optional<Night>> night(const std::string& project, const std::string& machine,
                                                           Sequence sequence) = 0;
  [[nodiscard]] virtual Result<std::optional<Night>> night_of_run(const std::string& run) = 0;
  // Newest first; voided and no_verdict ones too.
  [[nodiscard]] virtual Result<std::vector<Night>> nights(const std::string& project, const std::string& machine,
                                                          Sequence before, int limit) = 0;
  // The newest judged night that isn't voided nor environment suspect.
  [[nodiscard]] virtual Result<std::optional<Night>> last_judged(const std::string& project,
                                                                 const std::string& machine) = 0;
  [[nodiscard]] virtual Result<std::vector<Verdict>> verdicts(const std::string& project, const std::string& machine,
                                                              Sequence sequence) = 0;
  // Values, verdicts and what hangs on them, oldest first, for nights from `first` on. Several names: a renamed metric.
  [[nodiscard]] virtual Result<std::vector<SeriesPoint>> series(const std::string& project, const std::string& machine,
                                                                const std::vector<std::string>& metrics,
                                                                Sequence first) = 0;

  // Many series at once, by first <= night <= last; metrics empty: all of them. In the order of the names.
  [[nodiscard]] virtual Result<std::vector<MetricHistory>> histories(const std::string& project,
                                                                     const std::string& machine,
                                                                     const std::vector<std::string>& metrics,
                                                                     Sequence first, Sequence last) = 0;

  // ---- things there are ----
  [[nodiscard]] virtual Result<std::vector<std::string>> projects() = 0;
  [[nodiscard]] virtual Result<std::vector<Machine>> machines(const std::string& project) = 0;  // with a night or run
  [[nodiscard]] virtual Result<std::vector<MetricInfo>> metrics(const std::string& project) = 0;
  [[nodiscard]] virtual Result<std::optional<Run>> run(const std::string& uuid) = 0;
  [[nodiscard]] virtual Result<std::vector<Run>> runs(const std::string& project, RunKind kind, int limit) = 0;
  [[nodiscard]] virtual Result<std::vector<Measurement>> measurements(const std::string& run) = 0;  // as measured
  [[nodiscard]] virtual Result<std::string> definition(const std::string& hash) = 0;  // text; Code::not_found
  [[nodiscard]] virtual Result<std::vector<Noise>> noise(const std::string& project, const std::string& machine) = 0;

  // ---- trips ----
  [[nodiscard]] virtual Result<std::vector<TripGroup>> open_trips(const std::string& project) = 0;  // oldest first
  [[nodiscard]] virtual Result<std::vector<TripGroup>> trips(const std::string& project,
                                                             int limit) = 0;  // newest first
  [[nodiscard]] virtual Result<std::optional<TripGroup>> trip(const std::string& project, std::int64_t id) = 0;
  // A metric goes on under another name, with the same unit: its open trips are the new name's.
  [[nodiscard]] virtual Status rename_trips(const std::string& project, const std::string& old_name,
                                            const std::string& new_name) = 0;
  [[nodiscard]] virtual Status set_trip_answer(std::int64_t id, std::int64_t bisect, const std::string& answer) = 0;

  // ---- people's decisions ----
  // Keeps it and does what it says in the tables: void_night marks the night, accept closes the open trips of the
  // metric as accepted, undo takes back the last decision of (project, machine) that isn't undone. Snapshots and
  // verdicts of later nights are the caller's to judge again. Returns it with its id; for undo: the one taken back.
  [[nodiscard]] virtual Result<Decision> put_decision(const Decision& decision) = 0;
  // In order of time; of the machine, and those that hold for all. Undone ones and undos too.
  [[nodiscard]] virtual Result<std::vector<Decision>> decisions(const std::string& project,
                                                                const std::string& machine) = 0;

  // An accept that is there already closes the open trips of its metric once more: for those that judging opened since.
  [[nodiscard]] virtual Status accept_again(const Decision& decision) = 0;

  // ---- bisects ----
  [[nodiscard]] virtual Result<std::int64_t> put_bisect(const Bisect& bisect) = 0;  // its id
  [[nodiscard]] virtual Status update_bisect(std::int64_t id, BisectState state, const std::string& answer,
                                             std::optional<Instant> ended) = 0;
  [[nodiscard]] virtual Result<std::optional<Bisect>> bisect(std::int64_t id) = 0;
  [[nodiscard]] virtual Result<std::vector<Bisect>> bisects(const std::string& project, int limit) = 0;  // newest first
  [[nodiscard]] virtual Status put_bisect_step(std::int64_t bisect, const BisectStep& step) = 0;
  // In order of block, machine slot, order.
  [[nodiscard]] virtual Result<std::vector<BisectStep>> bisect_steps(std::int64_t bisect) = 0;

  // ---- ledger ----
  [[nodiscard]] virtual Result<std::int64_t> put_ledger(const LedgerEntry& entry) = 0;  // its id
  [[nodiscard]] virtual Status change_ledger(const LedgerChange& change) = 0;
  [[nodiscard]] virtual Result<std::vector<LedgerEntry>> ledger(const std::string& project) = 0;  // oldest first
  [[nodiscard]] virtual Result<std::vector<LedgerChange>> ledger_changes(std::int64_t entry) = 0;

  // ---- notifications ----
  // New, or with another body than the one there: pending. The same body again changes nothing; `result` stays.
  [[nodiscard]] virtual Status put_notification(const Notification& notification) = 0;
  // Outcome of a try: state, tries, not_before, last_error, result as given.
  [[nodiscard]] virtual Status update_notification(const Notification& notification) = 0;
  [[nodiscard]] virtual Result<std::vector<Notification>> pending_notifications(const std::string& project) = 0;
  [[nodiscard]] virtual Result<std::optional<Notification>> notification(const std::string& project,
                                                                         const std::string& kind,
                                                                         const std::string& key) = 0;

  // ---- quiet ----
  // Writes out what the private cluster would otherwise write during a repeat. Other servers: does nothing.
  [[nodiscard]] virtual Status prepare_quiet() = 0;
};

}  // namespace nightgate::store
