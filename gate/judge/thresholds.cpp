// What a night must exceed to count as evidence: noise, the series' own worst nights, and its habit to jump and come
// back.
#include <algorithm>
#include <cmath>

#include "gate/judge/series.hpp"

namespace nightgate::judge {
namespace {
constexpr double sleeping = std::numeric_limits<double>::infinity();

// Spread as a standard deviation: half MAD (hardly moved by outliers), half the mean of the central 85 % (steadier, and
// not zero for a series that knows only a few values). The residuals hold bad nights too, as soon as they turned out to
// be noise: without them the spread would be that of a cut-off bell, a third too small, and its own errors would feed
// it.
double spread(Series& s) {
  if (s.residuals.empty()) return 0;
  if (std::isnan(s.spread)) {
    s.spread = (mad_to_sigma * s.residuals.mad() + central_to_sigma * s.residuals.central_spread()) / 2;
  }
  return s.spread;
}

// Shrunk towards the prior: sigma^2 = (n0 s0^2 + n spread^2) / (n0 + n).
double noise(double spread, double n, const ExpertRules& e) {
  return std::sqrt((e.prior_nights * e.prior_sigma * e.prior_sigma + n * spread * spread) / (e.prior_nights + n));
}

// Bad nights cluster: where neighbours are alike, their differences are smaller than the spread: 1 - autocorrelation =
// (spread of differences)^2 / 2 spread^2.
double inflation(const Series& s, double spread, const ExpertRules& e) {
  if (s.residuals.size() < 15 || spread <= 0) return 1;
  const double step_sigma = mad_to_sigma * s.steps.median() / std::sqrt(2.0);
  const double correlation = 1 - (step_sigma / spread) * (step_sigma / spread);
  return std::clamp(1 + e.inflation_slope * correlation, 1.0, e.inflation_max);
}

// Little is known about a young series' noise: it may be larger than it looks.
double caution(const EvidenceLine& line, double n, const ExpertRules& e) {
  const double slope = line.nights > 2 ? e.young_slow : e.young_clear;
  return 1 + slope * std::max(0.0, 1 / std::max(n, 1.0) - 1 / std::max(e.young_nights, 1.0));
}

// The n-th largest excursion still remembered, times a factor.
double flap(const Series& s, const ExpertRules& e) {
  std::vector<double> sizes;
  for (const Excursion& x : s.excursions) {
    if (x.night > s.judged - e.flap_memory) sizes.push_back(x.amplitude);
  }
  const auto n = static_cast<std::size_t>(std::max(e.flap_count, 1));
  if (sizes.size() < n) return 0;
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(n - 1), sizes.end(), std::greater<>());
  return e.flap_factor * sizes[n - 1];
}
}  // namespace

double noise_of(Series& s, const Rules& rules) {
  return noise(spread(s), static_cast<double>(s.residuals.size()), rules.expert);
}

Thresholds thresholds(Series& s, const Rules& rules) {
  const ExpertRules& e = rules.expert;
  Thresholds t;
  const double n = static_cast<double>(s.residuals.size());
  const double own_spread = spread(s);
  t.sigma = noise(own_spread, n, e);
  t.inflation = inflation(s, own_spread, e);
  t.flap = flap(s, e);
  t.bare = t.lowest_worse = t.lowest_better = sleeping;
  t.worse.fill(sleeping);
  t.better.fill(sleeping);
  for (std::size_t i = 0; i < std::min(e.lines.size(), Numbers::max_lines); ++i) {
    const EvidenceLine& line = e.lines[i];
    const double floor = line.floor_share * rules.min_change;
    t.bare = std::min(t.bare, std::max(floor, line.sigmas * t.sigma));
    if (n < line.min_residuals || s.tail.empty()) continue;
    const double sigma = t.sigma * caution(line, n, e) * (line.nights > 2 ? t.inflation : 1.0);
    const double base = std::max({floor, line.sigmas * sigma, t.flap});
    t.worse[i] = std::max(base, line.tail * s.tail.quantile(line.quantile));
    t.better[i] = std::max(base, -line.tail * s.tail.quantile(1 - line.quantile));
    if (i == 0 && !s.level.window.empty()) {  // what the level has shown already is no clear shift
      const double middle = s.level.window.median();
      t.worse[i] = std::max(t.worse[i], e.seen_before * (s.level.window.max() - middle));
      t.better[i] = std::max(t.better[i], e.seen_before * (middle - s.level.window.min()));
    }
    t.lowest_worse = std::min(t.lowest_worse, t.worse[i]);
    t.lowest_better = std::min(t.lowest_better, t.better[i]);
  }
  const double tail = s.tail.empty() ? 0 : e.pinned_tail * s.tail.quantile(e.pinned_quantile);
  t.pinned = std::max({e.pinned_floor_share * rules.min_change, e.pinned_sigmas * t.sigma, tail, t.flap});
  return t;
}
}  // namespace nightgate::judge
