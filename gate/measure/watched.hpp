// A load program that runs while somebody watches.
#pragma once

#include <string>

#include "gate/base/process.hpp"
#include "gate/measure/load.hpp"

namespace nightgate::measure {

struct Watched {
  Ending ending = TimedOut{};
  std::string out;       // its stdout, at most 64 MiB
  std::string err_tail;  // the last lines of its stderr
  Usage usage;
  double seconds = 0;
};

inline constexpr double never = 1e9;  // seconds

struct WatchLimits {
  double deadline_seconds = never;   // past it the program has failed
  double interrupt_seconds = never;  // after it the program is asked once, by SIGINT, to end and print its result
};

// Runs to the end. `tick` is called about four times a second; its error, or the deadline, ends the whole group
// (Code::measure). Streams go to files in `directory`.
[[nodiscard]] Result<Watched> run_watched(const Command& command, const fs::path& directory, const WatchLimits& limits,
                                          const Tick& tick);

}  // namespace nightgate::measure
