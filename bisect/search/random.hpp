// A small portable random generator (splitmix64): the same seed gives the same numbers everywhere, unlike std
// distributions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nightgate::search {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  double uniform();                      // strictly between 0 and 1
  double normal();                       // mean 0, sd 1 (inverse of the distribution function, Acklam)
  std::size_t below(std::size_t bound);  // 0 .. bound-1; bound > 0
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

// Mixes two numbers into a seed.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace nightgate::search
