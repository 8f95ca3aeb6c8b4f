#include <algorithm>
#include <cmath>

#include "bisect/search/answer.hpp"
#include "bisect/search/engine.hpp"

namespace nightgate::search {
namespace {

// What remains of the planned blocks after these observations, untestable points left out.
std::vector<NextBlock> remaining(std::vector<NextBlock> blocks, const State& now) {
  for (NextBlock& block : blocks) {
    for (const Block& seen : now.blocks) {
      if (seen.number != block.block || seen.machine != block.machine) continue;
      for (const int point : seen.points) {
        const auto found = std::find(block.points.begin(), block.points.end(), point);
        if (found != block.points.end()) block.points.erase(found);
      }
    }
    std::erase_if(block.points, [&](int point) {
      return !std::binary_search(now.layout->usable.begin(), now.layout->usable.end(), point);
    });
  }
  std::erase_if(blocks, [](const NextBlock& block) { return block.points.empty(); });
  return blocks;
}

// The rest of the last block that was begun. Its plan follows from the blocks before it, so nothing but observations is
// kept.
std::vector<NextBlock> unfinished(const Problem& problem, const std::vector<Observation>& sorted, const State& now,
                                  EvidenceCache& cache) {
  if (sorted.empty() || now.measurements >= problem.max_measurements || !now.layout->ends_usable) return {};
  const State then = make_state(problem, sorted, sorted.back().block, cache);
  const Plan plan = make_plan(then);
  // A plan that differs from what was measured was made by another version or with other targets: the block counts as
  // it is.
  const bool ours = std::any_of(plan.blocks.begin(), plan.blocks.end(), [&](const NextBlock& block) {
    return block.block == sorted.back().block && block.phase == sorted.back().phase;
  });
  return ours ? remaining(plan.blocks, now) : std::vector<NextBlock>{};
}

}  // namespace

Decision Engine::decide(std::span<const Observation> observations) {
  Decision decision;
  if (const auto wrong = invalid(problem_)) {
    decision.answer.why = *wrong;
    return decision;
  }
  const std::vector<Observation> sorted = in_order(problem_, observations);
  const State now = make_state(problem_, sorted, sorted.empty() ? 0 : sorted.back().block + 1, cache_);
  Plan plan;
  decision.next = unfinished(problem_, sorted, now, cache_);
  if (decision.next.empty()) {
    plan = make_plan(now);
    decision.next = plan.blocks;
  }
  if (!decision.next.empty()) {
    plan = {};
    plan.why = "not finished";
    plan.would_measure = decision.next.front().points;
    std::sort(plan.would_measure.begin(), plan.would_measure.end());
  }
  decision.answer = make_answer(now, plan);
  decision.progress = make_progress(now, decision.answer);
  return decision;
}

Decision decide(const Problem& problem, std::span<const Observation> observations) {
  return Engine(problem).decide(observations);
}

}  // namespace nightgate::search
