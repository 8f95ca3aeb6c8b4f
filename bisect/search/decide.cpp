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

// Do the measurements want more noise than the grid has? Said by most of the posterior in the cells with the most.
bool too_quiet(const State& state) {
  constexpr double most = 0.8;
  if (!state.belief || state.blocks.empty()) return false;
  double highest = 0, there = 0;
  for (const Theta& theta : state.grid) highest = std::max(highest, theta.fast_sd);
  for (std::size_t t = 0; t < state.grid.size(); ++t)
    if (state.grid[t].fast_sd >= highest) there += state.belief->theta()[t];
  return there > most;
}

}  // namespace

Engine::Scale& Engine::scale(std::size_t doublings) {
  while (scales_.size() <= doublings) {
    Problem scaled = problem_;
    scaled.noise = std::ldexp(problem_.noise, static_cast<int>(scales_.size()));
    scales_.push_back(std::make_unique<Scale>(scaled));
  }
  return *scales_[doublings];
}

// The state after the blocks below this number, at the smallest noise that explains them.
State Engine::state_before(const std::vector<Observation>& sorted, int block) {
  constexpr std::size_t most_doublings = 5;
  for (std::size_t doublings = 0;; ++doublings) {
    Scale& at = scale(doublings);
    State state = make_state(at.problem, sorted, block, at.cache);
    const bool last = doublings == most_doublings || at.problem.shift < 0.01 * at.problem.noise;
    if (last || !too_quiet(state)) return state;
  }
}

// The rest of the last block that was begun. Its plan follows from the blocks before it, so nothing but observations is
// kept.
std::vector<NextBlock> Engine::unfinished(const std::vector<Observation>& sorted, const State& now) {
  if (sorted.empty() || now.measurements >= problem_.max_measurements || !now.layout->ends_usable) return {};
  const Plan plan = make_plan(state_before(sorted, sorted.back().block));
  // A plan that differs from what was measured was made by another version or with other targets: the block counts as
  // it is.
  const bool ours = std::any_of(plan.blocks.begin(), plan.blocks.end(), [&](const NextBlock& block) {
    return block.block == sorted.back().block && block.phase == sorted.back().phase;
  });
  return ours ? remaining(plan.blocks, now) : std::vector<NextBlock>{};
}

Decision Engine::decide(std::span<const Observation> observations) {
  Decision decision;
  if (const auto wrong = invalid(problem_)) {
    decision.answer.why = *wrong;
    return decision;
  }
  const std::vector<Observation> sorted = in_order(problem_, observations);
  const State now = state_before(sorted, sorted.empty() ? 0 : sorted.back().block + 1);
  Plan plan;
  decision.next = unfinished(sorted, now);
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
