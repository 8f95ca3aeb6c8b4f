// What a measurement is, and how one is made. Written by gate/measure, kept by the store, read by judge and reports.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/clock.hpp"
#include "gate/base/result.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::measure {

// One metric of one repeat.
struct Sample {
  std::string metric;  // short name: "rate", "p50", "cpu_us" ... (full name is deployment.scenario.metric)
  double value = 0;
};
// Conditions seen during a repeat or at the start of a run: name -> value ("load1", "foreign_cpu", "steal", ...).
using Conditions = std::map<std::string, double>;

struct Repeat {
  int number = 0;       // from 0 within the start
  int attempt = 0;      // 0 for the first; a repeat that was out of bounds is done again
  bool voided = false;  // kept, marked, never used
  std::string void_reason;
  Instant begin, end;
  std::vector<Sample> samples;
  Conditions conditions;
};
// One start of one deployment of one target under one scenario: its value per metric is the median of its valid
// repeats.
struct Measurement {
  std::string deployment, scenario;
  int start = 0;
  std::vector<Repeat> repeats;
  std::string no_verdict;                             // why there is no usable number; empty when there is
  std::string log_tail;                               // the broker's last lines when something went wrong
  std::map<std::string, config::MetricInfo> metrics;  // unit and direction of everything in `repeats`
  // Median over the valid repeats; nullopt when there is none.
  [[nodiscard]] std::optional<double> value(std::string_view metric) const;
  // From the lowest valid repeat to the highest, as a share of the median; 0 where there is nothing to compare.
  [[nodiscard]] double spread(std::string_view metric) const;
  // The valid repeat whose main metric ("rate", else the first) is the lower median: shown figures come from here.
  [[nodiscard]] const Repeat* shown() const;
};

// What the numbers depend on besides the broker's code: one hash, and the parts it was made from (for people).
struct Definition {
  std::string hash;  // 16 hex digits
  std::string text;  // canonical JSON of everything that went in
};
struct MachineInfo {
  std::string name, machine_class, boot_id, kernel, cpu_model, engine;
  std::string cgroup;  // "v1", "v2", "hybrid" or "none"
  int cpus = 0;
  bool smt = false;
  std::string broker_cpus, load_cpus;  // as placed
  bool shared = false;
};

// Live progress for people; all methods may be called often. Default: does nothing.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void step(std::string_view) {}              // "create_c50, start 1 of 2, repeat 2 of 3"
  virtual void rate(double, std::chrono::seconds) {}  // so far, time left
  virtual void done(const Measurement&) {}
};

// True once somebody asked to stop; measuring then ends within 5 s (Code::measure), with everything removed again.
using StopFlag = std::function<bool()>;

// Measures. One object per run; takes no lock itself (the verb holds the host's lock). Not thread-safe.
class Measurer {
 public:
  virtual ~Measurer() = default;
  // Where am I, and is everything here that the config needs (wrk, engine, CPUs)? Code::measure with what to install.
  [[nodiscard]] virtual Result<MachineInfo> machine() = 0;
  // Removes what a killed run of ours left behind (containers by label, process groups, temp dirs); says what.
  [[nodiscard]] virtual Result<std::vector<std::string>> clean_left_overs() = 0;
  // Depends on scenario, deployment and machine placement, not on the target.
  [[nodiscard]] virtual Result<Definition> definition(const config::Deployment&, const config::Scenario&) = 0;
  // One fresh start. An error is Code::measure (broker broken, port taken, wrong commit ...) with the log's last lines;
  // conditions out of bounds end as Measurement::no_verdict.
  [[nodiscard]] virtual Result<Measurement> measure(const targets::Target&, const config::Deployment&,
                                                    const config::Scenario&, int start) = 0;
  // Fresh start, fixture, then the answers of the equivalence requests.
  struct Answer {
    std::string request;
    int status = 0;
    std::string hash, body;  // hash of the canonical JSON without the ignored pointers; body as it came
    bool empty = false;      // nothing in it, or nothing but what is ignored: [], {}, null, ""
  };
  [[nodiscard]] virtual Result<std::vector<Answer>> answers(const targets::Target&, const config::Deployment&,
                                                            const config::Scenario&,
                                                            const std::vector<config::Equivalence>&) = 0;
};
[[nodiscard]] Result<std::unique_ptr<Measurer>> make_measurer(const config::Config& config, Clock& clock,
                                                              Progress& progress, StopFlag stop);

// The lock that everything that measures on this host holds: any project, any verb, any user. wait 0: Code::busy.
[[nodiscard]] Result<FileLock> lock_host(std::string_view what, std::chrono::seconds wait);

}  // namespace nightgate::measure
