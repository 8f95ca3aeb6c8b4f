// The local spool: what a night measures while the database is away, kept on disk and delivered later, exactly once.
//
// <state>/spool holds one file per writer: a line per write, "CHECKSUM JSON", fsynced before the write is acknowledged.
// A last line that was cut off by a crash was never acknowledged and is left out; a damaged line anywhere else sets the
// file aside as *.damaged, said loudly. Delivery writes through the store's idempotent keys and removes a file only
// after all of it is committed, so a crash in between delivers again without doubling anything.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gate/base/files.hpp"
#include "store/store.hpp"

namespace nightgate::store {

struct Delivered {
  int files = 0;
  int writes = 0;
  std::vector<std::string> damaged;  // set aside, with what is wrong
};
// Delivers everything that no living process is still writing, oldest first. Call it before a night begins. Stops at
// the first error (Code::away: what is left stays in the spool).
[[nodiscard]] Result<Delivered> deliver_spool(const fs::path& state, Recorder& store);
// Is there anything to deliver (or being written)?
[[nodiscard]] bool spool_pending(const fs::path& state);

// Writes to the store while it answers, and to the spool once it does not (Code::away or Code::denied). From then on
// everything goes to the spool, in order; put_readings and every half minute try to deliver and go back. A night begun
// in the spool has sequence 0 until it is delivered. `store` may be null: away from the start. Both are borrowed.
class SpoolingRecorder final : public Recorder {
 public:
  SpoolingRecorder(Store* store, fs::path state);
  ~SpoolingRecorder() override;
  SpoolingRecorder(const SpoolingRecorder&) = delete;
  SpoolingRecorder& operator=(const SpoolingRecorder&) = delete;
  // Something of ours is in the spool and not in the database: judge nothing now.
  [[nodiscard]] bool spooling() const { return behind_; }

  Status put_machine(const Machine& machine) override;
  Status put_definition(const std::string& hash, const std::string& text) override;
  Status put_target(const std::string& project, const Target& target) override;
  Status begin_run(const Run& run) override;
  Status finish_run(const std::string& uuid, RunState state, Instant ended, const std::string& result_json) override;
  Result<Night> begin_night(const Run& run, Sequence attempt_of = 0,
                            Unfinished unfinished = Unfinished::resume) override;
  Status set_night_target(const std::string& run, const Target& target, const std::string& definition) override;
  Status put_measurement(const Measurement& measurement) override;
  Status put_readings(const std::string& run, const judge::NightInput& input,
                      const std::vector<MetricInfo>& metrics) override;
  Status set_night(const std::string& run, NightState state, const std::string& reason) override;
  Status put_noise(const std::string& project, const std::string& machine, const std::vector<Noise>& noise) override;

 private:
  class File;
  // To the store, or as a line to the spool.
  template <class Direct, class Line>
  Status write(Direct direct, Line line);
  [[nodiscard]] Status spool(const std::string& line);
  void try_to_deliver(bool at_once);

  Store* store_;
  fs::path state_;
  std::unique_ptr<File> file_;  // being written
  bool behind_ = false;         // the spool holds what the database doesn't: nothing may overtake it
  std::chrono::steady_clock::time_point last_try_{};
};

}  // namespace nightgate::store
