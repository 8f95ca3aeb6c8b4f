// Which points of a problem can be measured, and which merges lie between them.
#pragma once
#include <vector>

#include "bisect/search/search.hpp"

namespace nightgate::search {

// Everything between two neighbouring usable points: the merges that can't be told apart.
struct Gap {
  int lower = 0;     // usable point below the suspects: fast if the culprit is here
  int upper = 0;     // usable point above them: slow if the culprit is here
  int suspects = 0;  // merges of the gap that can be the culprit at all (weight > 0)
  Range range;       // the first and last of them
};

struct Layout {
  std::vector<int> same_as;  // N+1: the point that stands for each (points of one digest are one)
  std::vector<double>
      before;               // N+1: summed prior weight of the merges 1..i (merges between equal digests weigh nothing)
  std::vector<int> usable;  // ascending points that stand for themselves and can be measured; first 0
  std::vector<Gap> gaps;    // ascending, those with suspects only
  std::vector<int> untestable;  // ascending: available, but failed too often
  int good = 0;
  int bad = 0;  // the point that stands for the bad end
  bool ends_usable = true;

  double weight(int low, int high) const {  // prior weight of the merges low+1 .. high
    return before[static_cast<std::size_t>(high)] - before[static_cast<std::size_t>(low)];
  }
  // The gap that holds merge c; c must have weight.
  const Gap& gap_of(int merge) const;
  // Index in `usable` of the last point <= p.
  std::size_t usable_index(int point) const;
};

// `failed`: points that can't be measured any more. The problem must be valid (see invalid()).
Layout lay_out(const Problem& problem, const std::vector<int>& failed);

}  // namespace nightgate::search
