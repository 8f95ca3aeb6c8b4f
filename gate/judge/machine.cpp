#include "gate/judge/machine.hpp"

#include <algorithm>
#include <cmath>

namespace nightgate::judge {
namespace {
struct Point {
  double at;
  double weight;
  double width;
};

double kernel(double u) {  // biweight
  const double v = 1 - u * u;
  return v > 0 ? v * v : 0;
}

double density(const std::vector<Point>& points, double at) {
  double sum = 0;
  for (const Point& p : points) sum += p.weight * kernel((at - p.at) / p.width);
  return sum;
}

// Many votes: neighbours within 0.2 % become one, so that the search for the peak stays cheap.
std::vector<Point> pooled(std::vector<Point> points) {
  constexpr std::size_t enough = 128;
  constexpr double near = 0.002;
  if (points.size() <= enough) return points;
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.at < b.at; });
  std::vector<Point> out;
  double begin = 0;
  for (const Point& p : points) {
    if (out.empty() || p.at - begin > near) {
      out.push_back({0, 0, 0});
      begin = p.at;
    }
    Point& o = out.back();
    const double w = o.weight + p.weight;
    o = {(o.at * o.weight + p.at * p.weight) / w, w, (o.width * o.weight + p.width * p.weight) / w};
  }
  return out;
}

double refine(const std::vector<Point>& points, double at) {
  for (int i = 0; i < 15; ++i) {
    double sum = 0;
    double weight = 0;
    for (const Point& p : points) {
      const double w = p.weight * kernel((at - p.at) / p.width);
      sum += w * p.at;
      weight += w;
    }
    if (weight <= 0) break;
    const double next = sum / weight;
    if (std::abs(next - at) < 1e-9) return next;
    at = next;
  }
  return at;
}
}  // namespace

MachineEstimate estimate_machine(const std::vector<MachineVote>& votes, const Rules& rules) {
  const ExpertRules& e = rules.expert;
  MachineEstimate estimate;
  estimate.series = static_cast<int>(votes.size());
  if (estimate.series < e.machine_min_series) return estimate;
  std::vector<Point> points;
  points.reserve(votes.size() * 2);
  double total = 0;
  for (const MachineVote& v : votes) {
    const double weight = 1 / std::max(0.02, v.sigma);
    const double width = std::clamp(3 * v.sigma, e.machine_bandwidth, 3 * e.machine_bandwidth);
    points.push_back({v.slow, weight, width});
    total += weight;
    if (!v.has_fast) continue;
    points.push_back({v.fast, weight * e.machine_fast_weight, width});
    total += weight * e.machine_fast_weight;
  }
  points = pooled(std::move(points));
  std::vector<double> densities;
  densities.reserve(points.size());
  for (const Point& p : points) densities.push_back(density(points, p.at));
  const auto best = std::max_element(densities.begin(), densities.end()) - densities.begin();
  estimate.log_speed = refine(points, points[static_cast<std::size_t>(best)].at);
  const double peak = std::max(density(points, estimate.log_speed), densities[static_cast<std::size_t>(best)]);
  double rival = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::abs(points[i].at - estimate.log_speed) > 0.10) rival = std::max(rival, densities[i]);
  }
  estimate.share = peak / total;
  estimate.rival = rival / peak;
  // With few series the machine is believed only where most of them say the same; else it is taken to be as usual, and
  // each series speaks for itself.
  if (estimate.series < e.machine_min_ambiguity && estimate.rival > e.machine_rival) {
    estimate.log_speed = 0;
    return estimate;
  }
  estimate.estimated = true;
  estimate.ambiguous = estimate.series >= e.machine_min_ambiguity &&
                       (estimate.rival > e.machine_rival || estimate.share < e.machine_share);
  return estimate;
}
}  // namespace nightgate::judge
