// Can this series be gated at all?
#include <cmath>

#include "gate/judge/levels.hpp"

namespace nightgate::judge {
namespace {
struct Modes {
  bool two = false;
  double apart = 0;
};

// The nights since the last switch don't count towards their side: a new level alone is no habit.
bool goes_back_and_forth(const SortedRing& recent, double cut, const ExpertRules& e) {
  const bool tonight = recent.oldest(recent.size() - 1) > cut;
  int switches = 0;
  int like_tonight = 0;  // before the last switch
  int run = 0;
  for (std::size_t i = 0; i < recent.size(); ++i) {
    const bool high = recent.oldest(i) > cut;
    if (i > 0 && high != (recent.oldest(i - 1) > cut)) {
      ++switches;
      run = 0;
    }
    ++run;
    like_tonight += high == tonight ? 1 : 0;
  }
  return switches >= e.modes_switches && like_tonight - run >= e.modes_share * static_cast<double>(recent.size());
}

// The split of the sorted values that explains most of their variance (two means; Otsu 1979), then: are both sides well
// filled, far apart, and does the series go back and forth between them? A change and its repair are only two switches.
Modes modes(const SortedRing& recent, const ExpertRules& e) {
  const auto x = recent.sorted();
  const auto n = static_cast<double>(x.size());
  if (n < e.modes_nights || recent.max() - recent.min() < e.modes_apart) return {};
  double sum = 0;
  double squares = 0;
  for (const float kept : x) {
    const double v = static_cast<double>(kept);
    sum += v;
    squares += v * v;
  }
  const double total = squares - sum * sum / n;
  const auto least = static_cast<std::size_t>(std::max(1.0, std::ceil(e.modes_share * n)));
  double best = 0;
  std::size_t at = 0;
  double left = 0;
  double left_best = 0;
  for (std::size_t i = 0; i + least < x.size(); ++i) {
    left += static_cast<double>(x[i]);
    if (i + 1 < least) continue;
    const double k = static_cast<double>(i + 1);
    const double difference = n * left - k * sum;
    const double between = difference * difference / (n * k * (n - k));
    if (between <= best) continue;
    best = between;
    at = i;
    left_best = left;
  }
  if (best < e.modes_explained * total) return {};
  const double k = static_cast<double>(at + 1);
  const double apart = (sum - left_best) / (n - k) - left_best / k;
  const double cut = (static_cast<double>(x[at]) + static_cast<double>(x[at + 1])) / 2;
  if (apart < e.modes_apart) return {};
  return {goes_back_and_forth(recent, cut, e), apart};
}

std::string percent(double log_size) { return std::to_string(std::lround(100 * std::expm1(log_size))) + " %"; }
}  // namespace

void update_fitness(Series& s, const Thresholds& limits, const Rules& rules) {
  const ExpertRules& e = rules.expert;
  s.unfit_reason.clear();
  if (s.residuals.size() < static_cast<std::size_t>(e.unfit_residuals)) return;
  const Modes found = modes(s.recent, e);
  if (found.two) {
    s.unfit_reason = "goes back and forth between two levels " + percent(found.apart) +
                     " apart, as on two kinds of machine: record the machine class, or measure a control";
  } else if (limits.lowest_worse > e.unfit_threshold && !std::isinf(limits.lowest_worse)) {
    s.unfit_reason = "too noisy to gate: only changes beyond " + percent(limits.lowest_worse) +
                     " could be told from noise; more repeats, a control, or a CPU-per-request metric would help";
  }
}
}  // namespace nightgate::judge
