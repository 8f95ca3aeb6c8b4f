// The bisect search: measurements in, next block or answer out. Pure: standard library only, no clock, no input or
// output, no hidden state. The same problem and observations give the same decision bit for bit, so a bisect resumes
// and replays.
//
// Positions: a range of N merges has points 0..N; point 0 is the good end, point i the target after merge i, point N
// the bad end. Merge i (1..N) is the culprit when point i-1 is fast and point i slow. Values are logarithms turned so
// that larger is worse (the caller applies the metric's direction), so a shift of 0.3 is about 35 % slower at any
// level.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nightgate::search {

enum class Phase { reproduce, search, confirm, account };           // stored with observations: do not renumber
enum class Outcome { culprit, range, not_reproduced, no_verdict };  // names as in `bisect --json`

std::string_view to_string(Phase phase);
std::string_view to_string(Outcome outcome);
std::optional<Phase> phase_from(std::string_view text);

// What is searched. Must stay the same for the whole bisect, except `available` (an image may vanish), `machines` and
// `max_measurements` (more time may be granted).
struct Problem {
  int merges = 0;               // N >= 1
  std::vector<bool> available;  // N+1 flags: has the point a target? Empty = all have. Both ends must have one.
  std::vector<int> same_as;  // N+1 numbers: the lowest point with the same digest (itself if none). Empty = all differ.
                             // Points of one digest are one point; merges between them can't be the culprit.
  std::vector<double> weight;  // N+1 prior weights of the merges ([0] unused), >= 0. Empty = all alike.
  double shift = 0;            // > 0: log shift between the ends, from the nights
  double noise = 0;            // > 0: sd of the log of one measurement (one fresh start), from the nights
  double error = 0.01;         // probability of naming a wrong merge that is allowed, 0.0001 to 0.5
  int interior = 3;            // interior points a search block, 1 to 15
  int max_measurements = 400;  // failed ones count too
  int machines = 1;            // 1 to 64; that many blocks are handed out at a time
  bool force = false;          // skip the reproduction check; the answer is then not `verified`
  std::uint64_t seed = 1;      // shuffles the order within blocks
};

// One measurement (one fresh start), as the caller stored it. A failed one has no value; a value that isn't finite
// counts as failed. `block`, `machine`, `phase` and `candidate` are copied from the NextBlock it belongs to.
struct Observation {
  int block = 0;
  int machine = 0;
  int order = 0;  // 0, 1, 2 ... as measured within the block, failures counted
  int point = 0;
  std::optional<double> value;
  Phase phase = Phase::search;
  int candidate = 0;
};

// Measure `points` in this order, back to back, on one machine, each by one fresh start. A point that fails is handed
// out again by the next decide(); after `failures_allowed` failures in a row it is untestable and the search steps
// around it. (block, machine) names a block; the next number begins when all blocks of this one are complete.
struct NextBlock {
  int block = 0;
  int machine = 0;          // slot 0 .. machines-1
  std::vector<int> points;  // what remains of the block: all of it, or the rest after a kill. May hold a point twice.
  Phase phase = Phase::search;
  int candidate = 0;  // the merge being confirmed; 0 otherwise
  std::string why;    // one sentence for people
};
inline constexpr int failures_allowed = 3;

struct Range {
  int first = 0;
  int last = 0;
};

// The level of one point relative to the good end, with a 95 % interval (log, larger is worse).
struct Rung {
  int point = 0;
  int runs = 0;
  double level = 0;
  double low = 0;
  double high = 0;
};

// Both ends as one block saw them (means of the log); a block without an end leaves it empty.
struct Ends {
  int block = 0;
  int machine = 0;
  std::optional<double> good;
  std::optional<double> bad;
};

struct Answer {
  Outcome outcome = Outcome::no_verdict;
  std::string why;  // one sentence: what decided it, or what is missing
  int culprit = 0;  // merge 1..N, only with outcome `culprit`
  Range range;  // suspects, both ends included; one merge with `culprit`; everything not ruled out with `no_verdict`
  double probability =
      0;  // of the culprit, the range, or of "no shift now" with `not_reproduced`; else of the leading suspects
  bool verified = true;  // false: `force` was used and the ends did not show the shift again
  double change = 0;     // log shift at the named step (0 when nothing is named), with a 95 % interval
  double change_low = 0;
  double change_high = 0;
  double shift_now = 0;  // log shift between both ends as measured in this bisect
  double share = 0;      // change / shift_now, with a 95 % interval; 1 when the step explains all
  double share_low = 0;
  double share_high = 0;
  bool residual = false;           // the step explains only part: more remains in the range (see further())
  std::vector<int> likely;         // smallest set of merges holding 95 % of the probability, most probable first
  std::vector<int> would_measure;  // points the next block would hold, when measuring stopped early
  std::vector<double> posterior;   // N+1: [0] = no shift between the ends now, [i] = merge i; sums to 1
  std::vector<Rung> ladder;        // points around the leading merge, ascending, and both ends
  std::vector<Ends> ends;          // both ends over time, block by block
  std::vector<int> untestable;     // available points that failed too often
  int measurements = 0;            // observations seen, failures included
};

// For one line after each block.
struct Progress {
  Range suspects;          // hull of the 95 % set
  int suspects_left = 0;   // size of the 95 % set
  int leading = 0;         // the most probable merge (first of its gap where targets are missing)
  double probability = 0;  // of the leading merge, or of its whole gap where targets are missing
  double no_shift = 0;     // probability that the ends do not differ now
  int measurements = 0;
  int measurements_left = 0;  // a forecast, not a promise
};

// `next` empty: finished, and `answer` is final. Otherwise `answer` is what would be said if measuring stopped now
// (outcome no_verdict), which is what a caller out of time reports.
struct Decision {
  std::vector<NextBlock> next;
  Answer answer;
  Progress progress;
};

// Why this problem can't be searched (a sentence), or nothing when it can. decide() answers no_verdict with this
// sentence.
std::optional<std::string> invalid(const Problem& problem);

// The next block(s) or the answer. Observations may come in any order; those of points outside the range are ignored.
Decision decide(const Problem& problem, std::span<const Observation> observations);

// What a bisect of this problem is expected to take, before anything is measured (a formula fitted to the simulation).
int expected_measurements(const Problem& problem);

// After a culprit with residual: the ranges left and right of it, to be searched as problems of their own with the
// shift that remains. Point p of `problem` is point p + offset of the range it came from. Empty when nothing worth a
// search remains.
struct Part {
  Problem problem;
  int offset = 0;
};
std::vector<Part> further(const Problem& problem, const Answer& answer);

}  // namespace nightgate::search
