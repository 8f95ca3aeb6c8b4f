#include "bisect/search/plan.hpp"

#include <algorithm>
#include <cmath>

#include "bisect/search/random.hpp"

namespace nightgate::search {
namespace {

// Tuned on bench_search_table, see ../README.md.
constexpr double enter_search = 0.2;   // P(no shift) that is low enough to look for a merge; it is watched all along
constexpr double back_to_ends = 0.5;   // P(no shift) that sends the search back to the ends
constexpr double start_confirm = 0.8;  // P(leading gap) that is worth fresh starts
constexpr double keep_confirming = 0.5;
constexpr int fresh_runs_needed = 2;  // of the point before the culprit and of the culprit, each

double log_sum(const std::vector<double>& terms) {
  const double top = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - top);
  return top + std::log(sum);
}

// Log-likelihood of "merge c" by these blocks, the nuisances weighted by what all blocks said about them.
double log_likelihood(const State& state, const std::vector<Evidence>& blocks, int merge) {
  std::vector<double> terms;
  const std::vector<double>& weight = state.belief->theta();
  for (std::size_t t = 0; t < weight.size(); ++t) {
    double sum = std::log(std::max(weight[t], 1e-300));
    for (const Evidence& block : blocks) sum += block.log_likelihood(t, block.fast_for(merge));
    terms.push_back(sum);
  }
  return log_sum(terms);
}

bool confirms(const Block& block, const Gap& gap) {
  return block.phase == Phase::confirm && block.candidate > gap.lower && block.candidate <= gap.upper;
}

// By fresh measurements of the gap's two ends alone: log of how much likelier a step between them is than none.
double fresh_log_ratio(const State& state, const Gap& gap) {
  std::vector<Evidence> fresh;
  for (const Block& block : state.blocks) {
    if (!confirms(block, gap)) continue;
    Block pair = block;
    pair.points.clear();
    pair.values.clear();
    for (std::size_t i = 0; i < block.points.size(); ++i) {
      if (block.points[i] != gap.lower && block.points[i] != gap.upper) continue;
      pair.points.push_back(block.points[i]);
      pair.values.push_back(block.values[i]);
    }
    if (!pair.points.empty()) fresh.emplace_back(pair, state.grid);
  }
  if (fresh.empty()) return 0;
  const double none = std::max(log_likelihood(state, fresh, gap.lower), log_likelihood(state, fresh, gap.upper + 1));
  return log_likelihood(state, fresh, gap.range.first) - none;
}

bool enough_fresh(const State& state, const Gap& gap) {
  std::ptrdiff_t lower = 0;
  std::ptrdiff_t upper = 0;
  for (const Block& block : state.blocks) {
    if (!confirms(block, gap)) continue;
    lower += std::count(block.points.begin(), block.points.end(), gap.lower);
    upper += std::count(block.points.begin(), block.points.end(), gap.upper);
  }
  return std::min(lower, upper) >= fresh_runs_needed;
}

// The interior point at which the probability of "culprit at or before it" is nearest to `wanted`; the good end if
// none.
int quantile_point(const State& state, double wanted) {
  int best = state.layout->good;
  double nearest = 2;
  for (const int point : state.layout->usable) {
    if (point == state.layout->good || point == state.layout->bad) continue;
    const double off = std::abs(state.belief->share_up_to(point) - wanted);
    if (off >= nearest - 1e-12) continue;
    nearest = off;
    best = point;
  }
  return best;
}

// Both ends and the quantiles of the posterior between them, dealt to the machines in turn.
std::vector<int> search_points(const State& state, int machine) {
  const int machines = state.problem->machines;
  const int interior = state.problem->interior;
  std::vector<int> points{state.layout->good, state.layout->bad};
  for (int k = 0; k < interior; ++k) {
    const double wanted = static_cast<double>(k * machines + machine + 1) / (interior * machines + 1);
    const int point = quantile_point(state, wanted);
    if (point != state.layout->good) points.push_back(point);
  }
  return points;
}

std::vector<int> points_for(const State& state, Phase phase, const Gap& gap, int machine) {
  const int good = state.layout->good;
  const int bad = state.layout->bad;
  switch (phase) {
    case Phase::reproduce:
      if (state.blocks.empty()) return {good, bad, good, bad};
      return {good, bad};
    case Phase::confirm:
      return {gap.lower, gap.lower, gap.upper, gap.upper};
    default:
      return search_points(state, machine);
  }
}

std::string name_of(const Gap& gap) {
  if (gap.suspects == 1) return "merge " + std::to_string(gap.range.first);
  return "merges " + std::to_string(gap.range.first) + " to " + std::to_string(gap.range.last);
}

std::string reason(const State& state, Phase phase, const Gap& gap) {
  if (phase == Phase::reproduce) return "both ends again: do they still differ?";
  if (phase == Phase::confirm)
    return "fresh starts on both sides of " + name_of(gap) + ", which leads with probability " +
           std::to_string(state.belief->of(gap)).substr(0, 4);
  return "both ends and the quantiles of what is still suspected";
}

Plan round_of(const State& state, Phase phase, const Gap& gap) {
  Plan plan;
  std::size_t cost = 0;
  for (int machine = 0; machine < state.problem->machines; ++machine) {
    NextBlock block;
    block.block = state.next_block;
    block.machine = machine;
    block.phase = phase;
    block.candidate = phase == Phase::confirm ? gap.range.first : 0;
    block.points = points_for(state, phase, gap, machine);
    block.why = reason(state, phase, gap);
    Random random(
        mix(state.problem->seed, static_cast<std::uint64_t>(block.block) * 64 + static_cast<std::uint64_t>(machine)));
    random.shuffle(block.points);
    cost += block.points.size();
    plan.blocks.push_back(std::move(block));
  }
  if (static_cast<std::size_t>(state.measurements) + cost <= static_cast<std::size_t>(state.problem->max_measurements))
    return plan;
  plan.would_measure = plan.blocks.front().points;
  std::sort(plan.would_measure.begin(), plan.would_measure.end());
  plan.blocks.clear();
  plan.why = "the budget of " + std::to_string(state.problem->max_measurements) +
             " measurements does not hold another round; grant more and resume, or lengthen the load run";
  return plan;
}

bool searching(const State& state) {
  return std::any_of(state.blocks.begin(), state.blocks.end(),
                     [](const Block& block) { return block.phase != Phase::reproduce; });
}

Plan finished(Outcome outcome, std::string why) {
  Plan plan;
  plan.outcome = outcome;
  plan.why = std::move(why);
  return plan;
}

Plan named(const Gap& gap) {
  if (gap.suspects == 1)
    return {{},
            Outcome::culprit,
            gap,
            "fresh starts on both sides of merge " + std::to_string(gap.range.first) + " confirm it",
            {}};
  return {{},
          Outcome::range,
          gap,
          "the culprit is among " + name_of(gap) + "; the targets between them can't be measured",
          {}};
}

}  // namespace

Plan make_plan(const State& state) {
  if (!state.layout->ends_usable || !state.belief) {
    const bool good = std::binary_search(state.layout->usable.begin(), state.layout->usable.end(), state.layout->good);
    return finished(Outcome::no_verdict,
                    std::string("the ") + (good ? "bad" : "good") +
                        " end can't be measured: its starts failed or it has no target; choose another end");
  }
  const Belief& belief = *state.belief;
  const double error = state.problem->error;
  const Gap lead = belief.leading();
  const bool measured = !state.blocks.empty();
  if (!state.problem->force) {
    if (measured && belief.no_shift() >= 1 - error)
      return finished(Outcome::not_reproduced,
                      "both ends measure alike now: the machine or its surroundings changed, not a merge");
    if (!measured || belief.no_shift() > (searching(state) ? back_to_ends : enter_search))
      return round_of(state, Phase::reproduce, lead);
  }
  const double sure = belief.of(lead);
  const bool held = measured && confirms(state.blocks.back(), lead) && sure >= keep_confirming;
  if (sure < start_confirm && !held) return round_of(state, Phase::search, lead);
  if (sure >= 1 - error && enough_fresh(state, lead) && fresh_log_ratio(state, lead) >= std::log((1 - error) / error))
    return named(lead);
  return round_of(state, Phase::confirm, lead);
}

}  // namespace nightgate::search
