#include "bisect/search/broker.hpp"

#include <algorithm>

namespace nightgate::search {

Broker::Broker(const Simulation& simulation, std::uint64_t seed) : simulation_(simulation), random_(seed) {
  const auto merges = static_cast<std::size_t>(simulation.merges);
  if (simulation.culprits > 0) large_ = 1 + static_cast<int>(random_.below(merges));
  if (simulation.culprits > 1 && merges > 1) {
    small_ = 1 + static_cast<int>(random_.below(merges - 1));
    if (small_ >= large_) ++small_;
  }
  told_shift_ = simulation.effect * (1.0 + simulation.shift_known * (2.0 * random_.uniform() - 1.0));
  way_ = random_.uniform() < 0.5 ? -1.0 : 1.0;
  available_.assign(merges + 1, true);
  for (std::size_t i = 1; i < merges; ++i) available_[i] = !(random_.uniform() < simulation.missing);
  for (std::size_t i = 0; i <= merges; ++i)
    image_.push_back(random_.normal() * simulation.image_effect * simulation.effect);
  for (int i = 0; i < simulation.machines; ++i) speed_.push_back(i == 0 ? 0.0 : random_.normal() * simulation.effect);
}

double Broker::machine_speed(int machine) {
  double& speed = speed_[static_cast<std::size_t>(machine)];
  const double size = simulation_.drift_size * simulation_.noise;
  if (simulation_.drift == Drift::walk) speed += 0.3 * size * random_.normal();
  if (simulation_.drift == Drift::trend) speed += 0.1 * size * way_;
  if (simulation_.drift == Drift::jump && random_.uniform() < 1.0 / 30.0)
    speed += random_.uniform() < 0.5 ? 3.0 * size : -3.0 * size;
  return speed;
}

double Broker::measure(int point, int machine) {
  double level = 0;
  const double second = small_ > 0 ? 0.4 : 0.0;
  if (large_ > 0 && point >= large_) level += simulation_.effect * (1.0 - second);
  if (small_ > 0 && point >= small_) level += simulation_.effect * second;
  const double wide = random_.uniform() < simulation_.outliers ? 6.0 : 1.0;
  const double side = level > 0 ? simulation_.slow_noise : 1.0;
  return level + image_[static_cast<std::size_t>(point)] + machine_speed(machine) +
         simulation_.noise * wide * side * random_.normal();
}

}  // namespace nightgate::search
