// What is believed after some blocks: the probability of every merge, and of "no shift between the ends now".
#pragma once
#include <memory>
#include <vector>

#include "bisect/search/evidence.hpp"
#include "bisect/search/layout.hpp"

namespace nightgate::search {

class Belief {
 public:
  // `no_shift_prior`: probability given beforehand to "the ends do not differ now" (0 when the check is skipped).
  Belief(std::shared_ptr<const Layout> layout, const std::vector<Theta>& grid,
         const std::vector<const Evidence*>& blocks, double no_shift_prior);

  double no_shift() const { return none_; }
  double of(int low, int high) const;  // merges low+1 .. high together
  double of(const Gap& gap) const { return of(gap.lower, gap.upper); }
  double share_up_to(int point) const;     // P(culprit <= point), given that there is a shift
  double shift() const { return shift_; }  // posterior means, in units of the problem's noise
  double noise() const { return noise_; }
  const std::vector<double>& theta() const { return theta_; }  // posterior of the grid cells, given a shift
  Gap leading() const;                                         // the most probable gap
  std::vector<double> posterior() const;                       // N+1: [0] = no shift, [i] = merge i

  // Merges nothing measured tells apart: low+1 .. high, with their summed probability.
  struct Class {
    int low = 0;
    int high = 0;
    double mass = 0;
  };
  const std::vector<Class>& classes() const { return classes_; }
  // The same belief with other masses of the classes (they must sum to what they did).
  Belief with(const std::vector<double>& mass) const;

 private:
  void combine(const std::vector<Theta>& grid, const std::vector<const Evidence*>& blocks, double no_shift_prior);
  void spread();

  std::shared_ptr<const Layout> layout_;
  std::vector<Class> classes_;  // between measured points, ascending
  std::vector<double> below_;   // N+1: probability that the culprit is one of the merges 1 .. i
  std::vector<double> theta_;
  double none_ = 0;
  double shift_ = 0;
  double noise_ = 0;
};

}  // namespace nightgate::search
