// Inside of process.cpp: starting one process and ending one process group. Others use process.hpp.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <utility>

#include "gate/base/files.hpp"
#include "gate/base/process.hpp"
#include "gate/base/result.hpp"

namespace nightgate::spawn {

// Descriptors that become 0, 1 and 2 of the child; each at least 3 (see lifted()).
struct Streams {
  int in;
  int out;
  int err;
};

// The same file on a descriptor of at least 3, closed on exec, so that it can't collide with 0, 1 or 2.
[[nodiscard]] Result<Fd> lifted(Fd fd);
// What the child reads on stdin: /dev/null, or the text in an unnamed file (so nobody has to feed a pipe).
[[nodiscard]] Result<Fd> input_of(const Command& command);

// Starts it as leader of a new session and process group. Returns after exec, so the program is really running.
[[nodiscard]] Result<pid_t> start(const Command& command, const Streams& streams);

// These take a leader that has not been reaped, so its number can't belong to somebody else meanwhile.
[[nodiscard]] bool has_ended(pid_t leader);
// SIGTERM to the group, SIGKILL to what is left after `grace` (at once when zero).
void end_group(pid_t leader, std::chrono::milliseconds grace);
// Kills the rest of the group, waits for the leader, then until nobody of the group runs any more.
[[nodiscard]] std::pair<Ending, Usage> reap(pid_t leader);

}  // namespace nightgate::spawn
