#include "bisect/search/random.hpp"

#include <cmath>

namespace nightgate::search {
namespace {

// Quantile of the standard normal distribution: Acklam's rational approximation (relative error below 1.2e-9).
double tail(double q) {
  return (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
            2.549732539343734e+00) *
               q +
           4.374664141464968e+00) *
              q +
          2.938163982698783e+00) /
         ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
           3.754408661907416e+00) *
              q +
          1.0);
}

double centre(double q) {
  const double r = q * q;
  return (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
            1.383577518672690e+02) *
               r -
           3.066479806614716e+01) *
              r +
          2.506628277459239e+00) *
         q /
         (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
            6.680131188771972e+01) *
               r -
           1.328068155288572e+01) *
              r +
          1.0);
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

double Random::uniform() { return (static_cast<double>(next() >> 12U) + 0.5) / 4503599627370496.0; }

double Random::normal() {
  const double p = uniform();
  if (p < 0.02425) return tail(std::sqrt(-2.0 * std::log(p)));
  if (p > 1.0 - 0.02425) return -tail(std::sqrt(-2.0 * std::log(1.0 - p)));
  return centre(p - 0.5);
}

std::size_t Random::below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  Random random(a ^ (b * 0xD6E8FEB86659FD93ULL));
  return random.next();
}

}  // namespace nightgate::search
