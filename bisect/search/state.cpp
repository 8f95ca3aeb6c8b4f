#include "bisect/search/state.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace nightgate::search {
namespace {

constexpr double no_shift_prior = 0.2;

bool same_content(const Block& a, const Block& b) { return a.points == b.points && a.values == b.values; }

// A single log this far out is a broken value, not a measurement: it would swallow the others by rounding.
constexpr double absurd = 1e9;

bool succeeded(const Observation& observation) {
  return observation.value && std::isfinite(*observation.value) && std::abs(*observation.value) < absurd;
}

Block make_block(std::span<const Observation> observations, const Layout& layout, double unit) {
  Block block;
  block.number = observations.front().block;
  block.machine = observations.front().machine;
  block.phase = observations.front().phase;
  block.candidate = observations.front().candidate;
  std::vector<std::pair<int, double>> measured;
  for (const Observation& one : observations)
    if (succeeded(one)) measured.emplace_back(layout.same_as[static_cast<std::size_t>(one.point)], *one.value / unit);
  std::stable_sort(measured.begin(), measured.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [point, value] : measured) {
    block.points.push_back(point);
    block.values.push_back(value);
  }
  return block;
}

}  // namespace

std::shared_ptr<const Evidence> EvidenceCache::of(const Block& block) {
  auto& entry = known_[{block.number, block.machine}];
  if (!entry.second || !same_content(entry.first, block)) entry = {block, std::make_shared<Evidence>(block, grid)};
  return entry.second;
}

std::vector<const Evidence*> State::all() const {
  std::vector<const Evidence*> pointers;
  for (const auto& one : evidence) pointers.push_back(one.get());
  return pointers;
}

std::vector<const Evidence*> State::fresh(const Gap& gap) const {
  std::vector<const Evidence*> pointers;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].phase == Phase::confirm && blocks[i].candidate > gap.lower && blocks[i].candidate <= gap.upper)
      pointers.push_back(evidence[i].get());
  return pointers;
}

std::vector<Observation> in_order(const Problem& problem, std::span<const Observation> observations) {
  std::vector<Observation> sorted;
  for (const Observation& one : observations)
    if (one.point >= 0 && one.point <= problem.merges && one.block >= 0) sorted.push_back(one);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Observation& a, const Observation& b) {
    return std::tie(a.block, a.machine, a.order) < std::tie(b.block, b.machine, b.order);
  });
  return sorted;
}

std::vector<int> failed_points(const std::vector<Observation>& sorted, const std::vector<int>& same_as) {
  std::vector<int> in_a_row(same_as.size(), 0);
  std::vector<int> failed;
  for (const Observation& one : sorted) {
    const auto point = static_cast<std::size_t>(same_as[static_cast<std::size_t>(one.point)]);
    if (succeeded(one)) {
      in_a_row[point] = 0;
    } else if (++in_a_row[point] == failures_allowed) {
      failed.push_back(static_cast<int>(point));
    }
  }
  return failed;
}

State make_state(const Problem& problem, const std::vector<Observation>& sorted, int before, EvidenceCache& cache) {
  State state;
  state.problem = &problem;
  state.grid = cache.grid;
  const auto end = std::find_if(sorted.begin(), sorted.end(), [&](const Observation& o) { return o.block >= before; });
  const std::vector<Observation> seen(sorted.begin(), end);
  state.measurements = static_cast<int>(seen.size());
  state.layout = std::make_shared<Layout>(lay_out(problem, failed_points(seen, lay_out(problem, {}).same_as)));
  for (std::size_t i = 0; i < seen.size();) {
    std::size_t next = i;
    while (next < seen.size() && seen[next].block == seen[i].block && seen[next].machine == seen[i].machine) ++next;
    state.blocks.push_back(make_block({&seen[i], next - i}, *state.layout, problem.noise));
    state.evidence.push_back(cache.of(state.blocks.back()));
    state.next_block = seen[i].block + 1;
    i = next;
  }
  if (!state.layout->gaps.empty())
    state.belief =
        std::make_shared<Belief>(state.layout, state.grid, state.all(), problem.force ? 0.0 : no_shift_prior);
  return state;
}

}  // namespace nightgate::search
