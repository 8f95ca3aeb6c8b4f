// The rules of the search: from what is believed to the next blocks, or to the reason to stop.
#pragma once
#include <string>
#include <vector>

#include "bisect/search/state.hpp"

namespace nightgate::search {

struct Plan {
  std::vector<NextBlock> blocks;  // in measuring order; empty: finished
  Outcome outcome = Outcome::no_verdict;
  Gap named;                       // with culprit or range
  double probability = 0;          // of what is named
  std::string why;                 // finished: what decided it
  std::vector<int> would_measure;  // out of budget: the points of the block that did not fit any more
};

Plan make_plan(const State& state);

}  // namespace nightgate::search
