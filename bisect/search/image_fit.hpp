// How well one hypothesis explains all blocks together when every image has an offset of its own that its runs share.
#pragma once
#include <cstddef>
#include <vector>

#include "bisect/search/state.hpp"

namespace nightgate::search {

// All successful runs of a state, in units of the problem's noise.
struct ImageData {
  struct Run {
    std::size_t block = 0;
    int point = 0;
    std::size_t image =
        0;             // 1 .. images: unknown of its own; 0: measured too seldom, its offset is noise of that one run
    double value = 0;  // relative to the first value of its block
  };
  std::vector<Run> runs;
  std::size_t blocks = 0;
  std::size_t images = 0;
  double expected_shift = 0;
  double believed_shift = 0;
  double slow_ratio = 1;  // slow sd / fast sd, as believed
};
ImageData collect_images(const State& state);

// Hypothesis: merge c, noise `sd`, images scatter by `image_sd` (0: not at all). Unknown 0 is the shift, 1.. are the
// images' offsets, block offsets are eliminated. Outliers are weighed down by their odds; the evidence is Laplace's
// approximation.
class ImageFit {
 public:
  ImageFit(const ImageData& data, int merge, double sd, double image_sd);
  double log_evidence();

 private:
  bool slow(const ImageData::Run& run) const { return run.point >= merge_; }
  std::size_t unknown(const ImageData::Run& run) const { return image_sd_ > 0 ? run.image : 0; }
  double residual(std::size_t i) const;
  void start();
  void weigh();
  void step();
  void add_runs(std::vector<double>& right, std::vector<double>& in_block);
  void eliminate_blocks(std::vector<double>& right, const std::vector<double>& in_block);

  const ImageData& data_;
  int merge_;
  double image_sd_;
  std::size_t unknowns_ = 1;
  std::vector<double> sd_;      // of every run
  std::vector<double> x_;       // the unknowns
  std::vector<double> offset_;  // of every block
  std::vector<double> weight_;  // of every run
  std::vector<double> total_;   // summed weight of every block
  std::vector<double> sum_;     // weighted sum of values of every block
  std::vector<double> matrix_;
  double log_likelihood_ = 0;
  double log_determinant_ = 0;
  double log_blocks_ = 0;
};

}  // namespace nightgate::search
