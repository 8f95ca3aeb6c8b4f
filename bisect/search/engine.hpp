// decide() for callers that decide again and again on growing observations (the simulation): the same decisions, but
// evidence of complete blocks is computed once.
#pragma once
#include <memory>
#include <vector>

#include "bisect/search/state.hpp"

namespace nightgate::search {

class Engine {
 public:
  explicit Engine(const Problem& problem) : problem_(problem) {}
  Decision decide(std::span<const Observation> observations);

 private:
  // A noise that was told far too small is taken from the grid's largest on: the problem with the noise doubled as
  // often as the measurements ask for. Each with its own evidence.
  struct Scale {
    explicit Scale(const Problem& scaled) : problem(scaled), cache(problem) {}
    Problem problem;
    EvidenceCache cache;
  };
  Scale& scale(std::size_t doublings);
  State state_before(const std::vector<Observation>& sorted, int block);
  std::vector<NextBlock> unfinished(const std::vector<Observation>& sorted, const State& now);

  Problem problem_;
  std::vector<std::unique_ptr<Scale>> scales_;
};

}  // namespace nightgate::search
