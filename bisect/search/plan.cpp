#include "bisect/search/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "bisect/search/random.hpp"
#include "bisect/search/refine.hpp"

namespace nightgate::search {
namespace {

// Tuned on bench_search_table, see ../README.md.
constexpr double enter_search = 0.2;   // P(no shift) that is low enough to look for a merge; it is watched all along
constexpr double back_to_ends = 0.3;   // P(no shift) that sends the search back to the ends
constexpr double start_confirm = 0.7;  // P(leading gap) that is worth fresh starts
constexpr double keep_confirming = 0.5;
constexpr double enough_if_settled = 0.6;  // P(leading gap) that is named when more runs can't settle it, see settled()
constexpr double settled_information = 200;  // runs times (shift / noise)^2 of the gap's ends after which it is so
constexpr std::size_t widest_range = 3;      // gaps of a range answered then
constexpr double quiet = 3;                // shift / noise above which it is the images that are in doubt, not the runs
constexpr double second_look_error = 0.5;  // of the error allowed, where it is quiet: images scatter in many ways
constexpr int fresh_runs_needed = 2;       // of the point before the culprit and of the culprit, each

double log_sum(const std::vector<double>& terms) {
  double top = -std::numeric_limits<double>::infinity();
  for (const double term : terms) top = std::max(top, term);
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

// Both sides of the gap, and one neighbour further out on each side, another one every time.
std::vector<int> ladder_block(const State& state, const Gap& gap) {
  const auto& usable = state.layout->usable;
  const std::size_t low = state.layout->usable_index(gap.lower);
  const std::size_t high = state.layout->usable_index(gap.upper);
  const auto before = static_cast<std::size_t>(std::count_if(state.blocks.begin(), state.blocks.end(),
                                                             [&](const Block& block) { return confirms(block, gap); }));
  const std::size_t away = 1 + before % 4;
  return {gap.lower, gap.upper, usable[low - std::min(low, away)], usable[std::min(high + away, usable.size() - 1)]};
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

bool is_quiet(const State& state) { return state.belief->shift() >= quiet * state.belief->noise(); }

// After the first pairs: where runs are quiet, or the first look is sure already, it is the images that are in doubt,
// and other images are the better company.
bool wants_ladder(const State& state, const Gap& gap) {
  const bool images_in_doubt = state.belief->of(gap) >= 1 - state.problem->error;
  return enough_fresh(state, gap) && (images_in_doubt || is_quiet(state));
}

// An image may have an offset of its own, and the two at the ends are but two. After the first pairs the ends'
// neighbours further in stand in for them, in turn with the ends themselves.
std::vector<int> stand_ins(const State& state) {
  const std::size_t good = state.layout->usable_index(state.layout->good);
  const std::size_t bad = state.layout->usable_index(state.layout->bad);
  const std::size_t away = std::min(state.blocks.size() % 3, (bad - good) / 4);
  return {state.layout->usable[good + away], state.layout->usable[bad - away]};
}

// Elsewhere the runs' own noise is larger than what images add.
bool told_quiet(const State& state) { return state.problem->shift >= quiet * state.problem->noise; }

bool searching(const State& state) {
  return std::any_of(state.blocks.begin(), state.blocks.end(),
                     [](const Block& block) { return block.phase != Phase::reproduce; });
}

std::vector<int> points_for(const State& state, Phase phase, const Gap& gap, int machine) {
  const int good = state.layout->good;
  const int bad = state.layout->bad;
  switch (phase) {
    case Phase::reproduce:
      if (state.blocks.empty()) return {good, bad, good, bad};
      return searching(state) || !told_quiet(state) ? std::vector<int>{good, bad} : stand_ins(state);
    case Phase::confirm:
      return wants_ladder(state, gap) ? ladder_block(state, gap)
                                      : std::vector<int>{gap.lower, gap.lower, gap.upper, gap.upper};
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
           std::to_string(state.belief->of(gap)).substr(0, 4);  // "0.97"
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

Plan finished(Outcome outcome, std::string why) {
  Plan plan;
  plan.outcome = outcome;
  plan.why = std::move(why);
  return plan;
}

Plan named(const Gap& gap, double probability) {
  Plan plan;
  plan.named = gap;
  plan.probability = probability;
  plan.outcome = gap.suspects == 1 ? Outcome::culprit : Outcome::range;
  plan.why = gap.suspects == 1
                 ? "fresh starts on both sides of " + name_of(gap) + " confirm it"
                 : "the culprit is among " + name_of(gap) + "; what lies between can't be measured or told apart";
  return plan;
}

// Have both ends of the gap been measured so often that what is still unsure is the images' own offsets? Their scatter
// (taken as 0.2 of the shift) is then several times what is left of the noise.
bool settled(const State& state, const Gap& gap) {
  std::ptrdiff_t lower = 0;
  std::ptrdiff_t upper = 0;
  for (const Block& block : state.blocks) {
    lower += std::count(block.points.begin(), block.points.end(), gap.lower);
    upper += std::count(block.points.begin(), block.points.end(), gap.upper);
  }
  const double d = state.belief->shift() / state.belief->noise();
  return static_cast<double>(std::min(lower, upper)) * d * d >= settled_information;
}

// The gap grown on its likelier side until it holds enough; nothing when that takes too many gaps.
std::optional<Gap> widened(const State& state, const Belief& belief, const Gap& gap, double enough) {
  const auto& gaps = state.layout->gaps;
  std::size_t low = 0;
  while (gaps[low].upper != gap.upper) ++low;
  std::size_t high = low;
  double mass = belief.of(gap);
  while (mass < enough && high - low + 1 < widest_range && high - low + 1 < gaps.size()) {
    const double left = low > 0 ? belief.of(gaps[low - 1]) : -1.0;
    const double right = high + 1 < gaps.size() ? belief.of(gaps[high + 1]) : -1.0;
    mass += std::max(left, right);
    left >= right ? --low : ++high;
  }
  if (mass < enough) return std::nullopt;
  Gap wide{gaps[low].lower, gaps[high].upper, 0, {gaps[low].range.first, gaps[high].range.last}};
  for (std::size_t i = low; i <= high; ++i) wide.suspects += gaps[i].suspects;
  return wide;
}

// Fresh starts around the leading gap until it can be named by the second look (see refine()) and by themselves.
Plan confirm(const State& state) {
  const double error = state.problem->error;
  const Belief second = refine(state);
  const Gap lead = second.leading();
  const double sure = second.of(lead);
  const bool fresh = enough_fresh(state, lead) && fresh_log_ratio(state, lead) >= std::log((1 - error) / error);
  const double allowed = is_quiet(state) ? second_look_error * error : error;
  if (fresh && sure >= 1 - allowed) return named(lead, sure);
  // However clear it looks, nobody is named without fresh starts.
  if (enough_fresh(state, lead) && settled(state, lead)) {
    if (fresh && sure >= enough_if_settled) return named(lead, sure);
    if (const auto wide = widened(state, second, lead, 1 - error)) return named(*wide, second.of(*wide));
  }
  return round_of(state, Phase::confirm, lead);
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
    const bool enough_images = !told_quiet(state) || state.layout->usable.size() < 5 || state.blocks.size() > 1;
    if (measured && enough_images && belief.no_shift() >= 1 - error)
      return finished(Outcome::not_reproduced,
                      "both ends measure alike now: the machine or its surroundings changed, not a merge");
    if (!measured || belief.no_shift() > (searching(state) ? back_to_ends : enter_search))
      return round_of(state, Phase::reproduce, lead);
  }
  const double sure = belief.of(lead);
  const bool confirming = measured && state.blocks.back().phase == Phase::confirm && sure >= keep_confirming;
  if (sure < start_confirm && !confirming) return round_of(state, Phase::search, lead);
  return confirm(state);
}

}  // namespace nightgate::search
