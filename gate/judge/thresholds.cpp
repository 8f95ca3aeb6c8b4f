// What a night must exceed to count as evidence: noise, the series' own worst nights, and its habit to jump and come
// back.
#include <algorithm>
#include <cmath>

#include "gate/judge/series.hpp"

namespace nightgate::judge {
namespace {
constexpr double sleeping = std::numeric_limits<double>::infinity();

// MAD of the residuals about their own median, shrunk towards the prior: sigma^2 = (n0 s0^2 + n mad^2) / (n0 + n).
double noise(double mad_sigma, double n, const ExpertRules& e) {
  return std::sqrt((e.prior_nights * e.prior_sigma * e.prior_sigma + n * mad_sigma * mad_sigma) / (e.prior_nights + n));
}

// Bad nights cluster: where neighbours are alike, their differences are smaller than the spread.
double inflation(const Series& s, double mad_sigma, const ExpertRules& e) {
  if (s.residuals.size() < 15) return 1;
  const double step_sigma = mad_to_sigma * s.steps.median() / std::sqrt(2.0);
  if (mad_sigma <= 0) return 1;
  if (step_sigma <= 0) return e.inflation_max;
  return std::clamp(std::pow(mad_sigma / step_sigma, e.inflation_exponent), 1.0, e.inflation_max);
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

double noise_of(const Series& s, const Rules& rules) {
  const double mad_sigma = s.residuals.empty() ? 0 : mad_to_sigma * s.residuals.mad();
  return noise(mad_sigma, static_cast<double>(s.residuals.size()), rules.expert);
}

Thresholds thresholds(const Series& s, const Rules& rules) {
  const ExpertRules& e = rules.expert;
  Thresholds t;
  const double n = static_cast<double>(s.residuals.size());
  const double mad_sigma = s.residuals.empty() ? 0 : mad_to_sigma * s.residuals.mad();
  t.sigma = noise(mad_sigma, n, e);
  t.inflation = inflation(s, mad_sigma, e);
  t.flap = flap(s, e);
  t.bare = sleeping;
  t.lowest_worse = sleeping;
  t.lowest_better = sleeping;
  t.worse.fill(sleeping);
  t.better.fill(sleeping);
  for (std::size_t i = 0; i < std::min(e.lines.size(), Numbers::max_lines); ++i) {
    const EvidenceLine& line = e.lines[i];
    const double floor = line.floor_share * rules.min_change;
    const double bare = std::max(floor, line.sigmas * t.sigma);
    t.bare = std::min(t.bare, bare);
    if (n < line.min_residuals || s.tail.empty()) continue;
    const double base = std::max({floor, line.sigmas * t.sigma * (line.nights > 2 ? t.inflation : 1.0), t.flap});
    t.worse[i] = std::max(base, line.tail * s.tail.quantile(line.quantile));
    t.better[i] = std::max(base, -line.tail * s.tail.quantile(1 - line.quantile));
    t.lowest_worse = std::min(t.lowest_worse, t.worse[i]);
    t.lowest_better = std::min(t.lowest_better, t.better[i]);
  }
  const double tail = s.tail.empty() ? 0 : e.pinned_tail * s.tail.quantile(e.pinned_quantile);
  t.pinned = std::max({e.pinned_floor_share * rules.min_change, e.pinned_sigmas * t.sigma, tail, t.flap});
  return t;
}
}  // namespace nightgate::judge
