// The stored observations of a bisect, put in order: blocks, failed points, and what is believed.
#pragma once
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "bisect/search/belief.hpp"

namespace nightgate::search {

// Keeps the evidence of complete blocks, so that one bisect decided step by step does not compute them again. Only a
// speed-up.
class EvidenceCache {
 public:
  explicit EvidenceCache(const Problem& problem) : grid(make_grid(problem)) {}
  std::shared_ptr<const Evidence> of(const Block& block);
  const std::vector<Theta> grid;

 private:
  std::map<std::pair<int, int>, std::pair<Block, std::shared_ptr<const Evidence>>> known_;
};

struct State {
  const Problem* problem = nullptr;
  std::shared_ptr<const Layout> layout;
  std::vector<Block> blocks;                              // ascending by number, then machine
  std::vector<std::shared_ptr<const Evidence>> evidence;  // of the blocks
  std::shared_ptr<const Belief> belief;
  std::vector<Theta> grid;
  int measurements = 0;
  int next_block = 0;  // number after the last one seen

  std::vector<const Evidence*> all() const;
  // Evidence of the confirm blocks of candidates in this gap.
  std::vector<const Evidence*> fresh(const Gap& gap) const;
};

// Observations of the range only, sorted by block, machine, order.
std::vector<Observation> in_order(const Problem& problem, std::span<const Observation> observations);

// The state after the observations whose block number is below `before`.
State make_state(const Problem& problem, const std::vector<Observation>& sorted, int before, EvidenceCache& cache);

// Points that failed too often in a row (canonical).
std::vector<int> failed_points(const std::vector<Observation>& sorted, const std::vector<int>& same_as);

}  // namespace nightgate::search
