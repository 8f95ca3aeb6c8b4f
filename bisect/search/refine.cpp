#include "bisect/search/refine.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "bisect/search/image_fit.hpp"

namespace nightgate::search {
namespace {

struct Scatter {
  double share;  // of the shift
  double prior;
};
constexpr std::array<Scatter, 2> scatters{Scatter{0.0, 0.3}, Scatter{0.2, 0.7}};
constexpr std::array<double, 3> noises{0.7, 1.0, 1.4};
constexpr std::size_t neighbours = 12;

// The classes worth a second look: the neighbours of the most probable one differ from it by a few images only.
std::vector<std::size_t> live_classes(const State& state) {
  const auto& classes = state.belief->classes();
  std::size_t middle = 0;
  for (std::size_t i = 1; i < classes.size(); ++i)
    if (classes[i].mass > classes[middle].mass) middle = i;
  std::vector<std::size_t> live;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::size_t away = i > middle ? i - middle : middle - i;
    const bool possible = state.layout->weight(classes[i].low, classes[i].high) > 0;
    if (possible && (away <= neighbours || (classes[i].mass > 0.01 && live.size() < 30))) live.push_back(i);
  }
  return live;
}

// Log weights of one class, one a grid cell.
std::vector<double> weigh_class(const State& state, const ImageData& data, const Belief::Class& one) {
  std::vector<double> weights;
  const double log_prior = std::log(state.layout->weight(one.low, one.high));
  for (const Scatter& scatter : scatters)
    for (const double noise : noises) {
      const double z = std::log(noise) / 0.35;
      ImageFit fit(data, one.low + 1, noise, scatter.share * data.believed_shift);
      weights.push_back(log_prior + std::log(scatter.prior) - 0.5 * z * z + fit.log_evidence());
    }
  return weights;
}

}  // namespace

Belief refine(const State& state) {
  const auto& classes = state.belief->classes();
  const std::vector<std::size_t> live = live_classes(state);
  if (live.size() < 2) return *state.belief;
  const ImageData data = collect_images(state);
  std::vector<std::vector<double>> weights;
  double top = -1e300;
  double inside = 0;
  for (const std::size_t index : live) {
    weights.push_back(weigh_class(state, data, classes[index]));
    for (const double weight : weights.back()) top = std::max(top, weight);
    inside += classes[index].mass;
  }
  std::vector<double> mass;
  mass.reserve(classes.size());
  for (const Belief::Class& one : classes) mass.push_back(one.mass);
  double total = 0;
  for (std::size_t i = 0; i < live.size(); ++i) {
    double sum = 0;
    for (const double weight : weights[i]) sum += std::exp(weight - top);
    mass[live[i]] = sum;
    total += sum;
  }
  for (const std::size_t index : live) mass[index] *= inside / total;
  return state.belief->with(mass);
}

}  // namespace nightgate::search
