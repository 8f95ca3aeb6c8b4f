#include "bisect/search/layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace nightgate::search {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::vector<int> representatives(const Problem& problem) {
  std::vector<int> same(at(problem.merges) + 1);
  for (int i = 0; i <= problem.merges; ++i) {
    same[at(i)] = i;
    if (problem.same_as.empty()) continue;
    same[at(i)] = same[at(problem.same_as[at(i)])];  // <= i, so already final
  }
  return same;
}

// inside[i]: merge i lies between two points of one digest and is innocent.
std::vector<bool> between_equals(const std::vector<int>& same) {
  std::vector<bool> inside(same.size(), false);
  for (std::size_t j = 0; j < same.size(); ++j)
    for (std::size_t i = at(same[j]) + 1; i <= j; ++i) inside[i] = true;
  return inside;
}

std::vector<double> summed_weights(const Problem& problem, const std::vector<bool>& inside) {
  std::vector<double> before(inside.size(), 0.0);
  for (std::size_t i = 1; i < inside.size(); ++i) {
    const double weight = problem.weight.empty() ? 1.0 : problem.weight[i];
    before[i] = before[i - 1] + (inside[i] ? 0.0 : weight);
  }
  return before;
}

bool has_target(const Problem& problem, const std::vector<int>& same, int point) {
  if (problem.available.empty()) return true;
  for (std::size_t i = at(point); i < same.size(); ++i)
    if (same[i] == point && problem.available[i]) return true;
  return false;
}

// A point strictly inside a stretch between equal digests tells nothing: its stretch's representative says the same.
bool inside_stretch(const std::vector<bool>& inside, int point) { return point > 0 && inside[at(point)]; }

std::vector<Gap> make_gaps(const Layout& layout) {
  std::vector<Gap> gaps;
  for (std::size_t k = 1; k < layout.usable.size(); ++k) {
    Gap gap{layout.usable[k - 1], layout.usable[k], 0, {}};
    for (int c = gap.lower + 1; c <= gap.upper; ++c) {
      if (layout.weight(c - 1, c) <= 0) continue;
      if (gap.suspects++ == 0) gap.range.first = c;
      gap.range.last = c;
    }
    if (gap.suspects > 0) gaps.push_back(gap);
  }
  return gaps;
}

}  // namespace

const Gap& Layout::gap_of(int merge) const {
  const auto found = std::find_if(gaps.begin(), gaps.end(), [&](const Gap& gap) { return merge <= gap.range.last; });
  return found == gaps.end() ? gaps.back() : *found;
}

std::size_t Layout::usable_index(int point) const {
  const auto after = std::upper_bound(usable.begin(), usable.end(), point);
  return after == usable.begin() ? 0 : static_cast<std::size_t>(after - usable.begin()) - 1;
}

Layout lay_out(const Problem& problem, const std::vector<int>& failed) {
  Layout layout;
  layout.same_as = representatives(problem);
  const std::vector<bool> inside = between_equals(layout.same_as);
  layout.before = summed_weights(problem, inside);
  layout.bad = layout.same_as[at(problem.merges)];
  for (int i = 0; i <= problem.merges; ++i) {
    if (layout.same_as[at(i)] != i || inside_stretch(inside, i) || !has_target(problem, layout.same_as, i)) continue;
    if (std::find(failed.begin(), failed.end(), i) != failed.end()) {
      layout.untestable.push_back(i);
    } else {
      layout.usable.push_back(i);
    }
  }
  const auto usable = [&](int point) { return std::binary_search(layout.usable.begin(), layout.usable.end(), point); };
  layout.ends_usable = usable(layout.good) && usable(layout.bad);
  layout.gaps = make_gaps(layout);
  return layout;
}

}  // namespace nightgate::search
