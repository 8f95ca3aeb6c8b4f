#include "bisect/search/answer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bisect/search/levels.hpp"

namespace nightgate::search {
namespace {

constexpr double z95 = 1.959964;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The smallest set of merges holding 95 % of what is not "no shift", most probable first; ties in merge order.
std::vector<int> likely_merges(const std::vector<double>& posterior) {
  std::vector<int> order(posterior.size() - 1);
  std::iota(order.begin(), order.end(), 1);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return posterior[at(a)] > posterior[at(b)] + 1e-12; });
  const double enough = 0.95 * (1.0 - posterior[0]);
  double sum = 0;
  std::size_t size = 0;
  while (size < order.size() && sum < enough) sum += posterior[at(order[size++])];
  while (size > 0 && posterior[at(order[size - 1])] <= 0) --size;
  order.resize(size);
  return order;
}

Range hull(const std::vector<int>& merges) {
  if (merges.empty()) return {};
  const auto [low, high] = std::minmax_element(merges.begin(), merges.end());
  return {*low, *high};
}

// Everything fast against everything slow, and whether a part of the shift lies elsewhere.
void account(Answer& answer, const State& state, const Gap& gap) {
  enum { good, left, right, bad };
  const int last = state.layout->bad;
  const Levels levels(state, 4, [&](int point) -> int {
    if (point == state.layout->good) return good;
    if (point == last) return bad;
    if (point <= gap.lower) return left;
    return point >= gap.upper ? right : -1;
  });
  const int below = levels.runs(left) > 0 ? left : good;
  const int above = levels.runs(right) > 0 ? right : bad;
  const double unit = state.problem->noise;
  const Contrast whole = levels.difference(bad, good);
  Contrast step = levels.difference(above, below);
  for (const Contrast& rest : {levels.difference(below, good), levels.difference(bad, above)})
    if (rest.known && rest.value > 0 && rest.value / rest.sd > 2.0 && rest.value > 0.1 * whole.value)
      answer.residual = true;
  if (answer.residual) {  // then the step is what its two neighbours show
    const Levels pair(state, 2, [&](int point) { return point == gap.lower ? 0 : point == gap.upper ? 1 : -1; });
    if (pair.difference(1, 0).known) step = pair.difference(1, 0);
  }
  answer.shift_now = unit * whole.value;
  answer.change = unit * step.value;
  answer.change_low = unit * (step.value - z95 * step.sd);
  answer.change_high = unit * (step.value + z95 * step.sd);
  if (whole.value <= 0 || !whole.known) return;
  const double share = step.value / whole.value;
  // As if step and whole were independent: the interval is a little too wide, never too narrow.
  const double sd = std::hypot(step.sd, share * whole.sd) / whole.value;
  answer.share = share;
  answer.share_low = share - z95 * sd;
  answer.share_high = share + z95 * sd;
}

// Up to three usable points on each side of the gap, and both ends.
std::vector<int> ladder_points(const State& state, const Gap& gap) {
  const auto& usable = state.layout->usable;
  const std::size_t low = state.layout->usable_index(gap.lower);
  const std::size_t first = low >= 2 ? low - 2 : 0;
  std::vector<int> points{state.layout->good};
  for (std::size_t i = first; i < usable.size() && i <= low + 3; ++i) points.push_back(usable[i]);
  points.push_back(state.layout->bad);
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

std::vector<Rung> ladder(const State& state, const Gap& gap) {
  const std::vector<int> points = ladder_points(state, gap);
  const int known = static_cast<int>(points.size());
  const Levels levels(state, known + 2, [&](int point) {
    const auto found = std::lower_bound(points.begin(), points.end(), point);
    if (found != points.end() && *found == point) return static_cast<int>(found - points.begin());
    return point < gap.upper ? known : known + 1;
  });
  std::vector<Rung> rungs;
  const double unit = state.problem->noise;
  for (int i = 0; i < known; ++i) {
    const Contrast above = levels.difference(i, 0);
    if (levels.runs(i) == 0 || (i > 0 && !above.known)) continue;
    rungs.push_back({points[at(i)], levels.runs(i), unit * above.value, unit * (above.value - z95 * above.sd),
                     unit * (above.value + z95 * above.sd)});
  }
  return rungs;
}

std::optional<double> mean_at(const Block& block, int point, double unit) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < block.points.size(); ++i) {
    if (block.points[i] != point) continue;
    sum += block.values[i];
    ++count;
  }
  if (count == 0) return std::nullopt;
  return unit * sum / count;
}

std::vector<Ends> ends_over_time(const State& state) {
  std::vector<Ends> ends;
  for (const Block& block : state.blocks) {
    const Ends here{block.number, block.machine, mean_at(block, state.layout->good, state.problem->noise),
                    mean_at(block, state.layout->bad, state.problem->noise)};
    if (here.good || here.bad) ends.push_back(here);
  }
  return ends;
}

void name(Answer& answer, const State& state, const Plan& plan) {
  switch (plan.outcome) {
    case Outcome::culprit:
      answer.culprit = plan.named.range.first;
      [[fallthrough]];
    case Outcome::range:
      answer.range = plan.named.range;
      answer.probability = plan.probability;
      break;
    case Outcome::not_reproduced:
      answer.probability = state.belief->no_shift();
      break;
    case Outcome::no_verdict:
      answer.range = hull(answer.likely);
      answer.probability = state.belief->of(answer.range.first > 0 ? answer.range.first - 1 : 0, answer.range.last);
      break;
  }
}

}  // namespace

Answer make_answer(const State& state, const Plan& plan) {
  Answer answer;
  answer.outcome = plan.outcome;
  answer.why = plan.why;
  answer.verified = !state.problem->force;
  answer.measurements = state.measurements;
  answer.untestable = state.layout->untestable;
  answer.would_measure = plan.would_measure;
  answer.ends = ends_over_time(state);
  if (!state.belief) return answer;
  answer.posterior = state.belief->posterior();
  answer.likely = likely_merges(answer.posterior);
  name(answer, state, plan);
  const bool found = plan.outcome == Outcome::culprit || plan.outcome == Outcome::range;
  const Gap gap = found ? plan.named : state.belief->leading();
  answer.ladder = ladder(state, gap);
  if (found) {
    account(answer, state, gap);
  } else {
    const Levels levels(state, 2, [&](int p) { return p == state.layout->good ? 0 : p == state.layout->bad ? 1 : -1; });
    answer.shift_now = state.problem->noise * levels.difference(1, 0).value;
  }
  return answer;
}

// Fitted to bench_search_table: reproduce and confirm, then so much a bit.
double forecast(double bits, double shift_over_noise, double error) {
  const double d2 = std::max(0.01, shift_over_noise * shift_over_noise);
  const double care = std::log(1.0 / error) / std::log(20.0);
  return 8.0 + 42.0 * care / d2 + bits * (2.2 + 17.0 / d2);
}

Progress make_progress(const State& state, const Answer& answer) {
  Progress progress;
  progress.measurements = state.measurements;
  if (!state.belief) return progress;
  const Gap lead = state.belief->leading();
  progress.suspects = hull(answer.likely);
  progress.suspects_left = static_cast<int>(answer.likely.size());
  progress.leading = lead.range.first;
  progress.probability = state.belief->of(lead);
  progress.no_shift = state.belief->no_shift();
  double bits = 0;
  double done = 0;  // of the confirmation
  for (const Gap& gap : state.layout->gaps) {
    const double p = state.belief->of(gap);
    if (p > 0) bits -= p * std::log2(p);
  }
  for (const Block& block : state.blocks)
    if (block.phase == Phase::confirm && block.candidate == lead.range.first)
      done += static_cast<double>(block.points.size());
  const double d = state.belief->shift() / state.belief->noise();
  double left = forecast(bits, d, state.problem->error) - (state.blocks.empty() ? 0.0 : 4.0) - done;
  if (left < 4.0) left = 4.0;
  progress.measurements_left = std::min(static_cast<int>(std::lround(std::min(left, 1e6))),
                                        std::max(0, state.problem->max_measurements - state.measurements));
  return progress;
}

}  // namespace nightgate::search
