// The gate's rules over a recorded history, as if night by night: what would have tripped. Never looks ahead: the
// verdict of a night is the same whether or not later nights follow.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gate/judge/gate.hpp"

namespace nightgate::judge {

// The deployment and scenario of deployment.scenario.metric: the figures of one load are one witness of the machine.
// Empty for names of another form.
std::string load_of(std::string_view metric);

// A history held compactly: 16 bytes a value.
struct History {
  struct Metric {
    std::string name;
    std::string unit;
    Better better = Better::higher;
  };
  struct Cell {
    std::uint32_t metric = 0;  // index into metrics
    double value = 0;
  };
  struct Night {
    std::int64_t instant = 0;  // microseconds since 1970, UTC
    std::string machine;
    std::string machine_class;
    std::string commit;
    std::string digest;  // empty: not known
    std::vector<Cell> cells;
  };
  std::vector<Metric> metrics;
  std::vector<Night> nights;  // ordered by instant within each machine
};

struct ReplayTrip {
  Trip trip;
  std::string machine;
  std::optional<NightRef> recovered;
};
struct ReplayMove {  // a suspect night (first == confirmed) or a confirmed gain
  std::string metric;
  std::string machine;
  NightRef first;
  NightRef confirmed;
  double change = 0;
};
struct ReplayWarmUp {
  std::string metric;
  std::string machine;
  int nights_left = 0;
};
struct ReplayUnfit {
  std::string metric;
  std::string machine;
  std::string reason;
};
struct ReplayNight {
  NightRef night;
  std::string machine;
  std::string reason;
};

// What `replay --json` prints. In order of time; the warming-up and the unfit are as of the last night, by name.
struct ReplayResult {
  std::int64_t nights = 0;
  std::int64_t metrics = 0;
  std::vector<ReplayTrip> trips;
  std::vector<ReplayMove> suspects;  // every held-out night on the worse side, tripped later or not
  std::vector<ReplayMove> gains;
  std::vector<ReplayNight> environment;
  std::vector<ReplayWarmUp> warming_up;
  std::vector<ReplayUnfit> unfit;
};

// Feed nights in order (per machine), then ask. Memory does not grow with nights, except for what is reported.
class Replay {
 public:
  explicit Replay(Rules rules = replay_rules());
  // Judges a night of a machine; the verdict stays valid until the next call.
  const NightVerdict& night(const std::string& machine, const NightInput& night);
  ReplayResult result() const;
  const std::map<std::string, GateState>& states() const { return states_; }

 private:
  void collect(const std::string& machine, const NightVerdict& verdict);
  Rules rules_;
  std::map<std::string, GateState> states_;
  NightVerdict verdict_;
  ReplayResult so_far_;
};

// Sequence numbers are the index of the night in history.nights. `each`, when given, sees every night's verdict.
using NightSink = std::function<void(const History::Night& night, const NightVerdict& verdict)>;
ReplayResult replay(const History& history, const Rules& rules = replay_rules(), const NightSink& each = {});

}  // namespace nightgate::judge
