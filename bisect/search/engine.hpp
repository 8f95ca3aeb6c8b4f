// decide() for callers that decide again and again on growing observations (the simulation): the same decisions, but
// evidence of complete blocks is computed once.
#pragma once
#include "bisect/search/state.hpp"

namespace nightgate::search {

class Engine {
 public:
  explicit Engine(const Problem& problem) : problem_(problem), cache_(problem_) {}
  Decision decide(std::span<const Observation> observations);

 private:
  Problem problem_;
  EvidenceCache cache_;
};

}  // namespace nightgate::search
