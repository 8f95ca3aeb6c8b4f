// Pulls what the next block will probably need, beside the pulls of this one.
#pragma once

#include <thread>
#include <vector>

#include "bisect/search/search.hpp"
#include "config/config.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::session {

// The points that the block after `next` most probably measures, at most `most`, without those of `next` itself: before
// the search its quartiles, during it the middles between them.
[[nodiscard]] std::vector<int> likely_next(const search::Problem& problem, const search::Decision& decision, int most);

// Pulls images in a thread with a finder of its own. Nothing may be pulled during a measurement: finish() comes first.
// A pull that fails is left to the block that needs the image. Not thread-safe.
class Prefetch {
 public:
  explicit Prefetch(const config::Config& config) : config_(config) {}
  // Begins with these, images only; artifacts are here already, and builds would keep the block waiting.
  void start(const std::vector<targets::Target>& wanted);
  // Waits for the pull that is under way; what has not begun is left.
  void finish() { thread_ = {}; }

 private:
  const config::Config& config_;
  std::jthread thread_;  // asked to stop and joined when replaced
};

}  // namespace nightgate::session
