#include "bisect/search/image_fit.hpp"

#include <algorithm>
#include <cmath>

namespace nightgate::search {
namespace {

constexpr std::size_t most_images = 16;  // with an unknown of their own; bounds the cost of a decision
constexpr double shift_prior_sd = 0.4;   // of the expected shift
constexpr int rounds = 3;

double squared(double x) { return x * x; }

// Cholesky factor in the lower half, in place; returns the log determinant.
double factor(std::vector<double>& a, std::size_t n) {
  double log_determinant = 0;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j) {
        a[j * n + j] = std::sqrt(std::max(sum, 1e-12));
        log_determinant += 2.0 * std::log(a[j * n + j]);
      } else {
        a[i * n + j] = sum / a[j * n + j];
      }
    }
  return log_determinant;
}

void solve(const std::vector<double>& l, std::vector<double>& x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
}

// Which points get an unknown of their own: the most measured ones, of those measured at least twice.
std::vector<std::size_t> number_images(const State& state, std::size_t& images) {
  std::vector<int> count(state.layout->same_as.size(), 0);
  for (const Block& block : state.blocks)
    for (const int point : block.points) ++count[static_cast<std::size_t>(point)];
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count.size(); ++i)
    if (count[i] > 1) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return count[a] > count[b]; });
  std::vector<std::size_t> number(count.size(), 0);
  images = std::min(order.size(), most_images);
  for (std::size_t i = 0; i < images; ++i) number[order[i]] = i + 1;
  return number;
}

}  // namespace

ImageData collect_images(const State& state) {
  ImageData data;
  const std::vector<std::size_t> number = number_images(state, data.images);
  for (const Block& block : state.blocks) {
    if (block.points.empty()) continue;
    for (std::size_t i = 0; i < block.points.size(); ++i)
      data.runs.push_back({data.blocks, block.points[i], number[static_cast<std::size_t>(block.points[i])],
                           block.values[i] - block.values[0]});
    ++data.blocks;
  }
  data.expected_shift = state.problem->shift / state.problem->noise;
  data.believed_shift = state.belief->shift();
  data.slow_ratio = 0;
  const std::vector<double>& theta = state.belief->theta();
  for (std::size_t t = 0; t < theta.size(); ++t)
    data.slow_ratio += theta[t] * state.grid[t].slow_sd / state.grid[t].fast_sd;
  return data;
}

ImageFit::ImageFit(const ImageData& data, int merge, double sd, double image_sd)
    : data_(data), merge_(merge), image_sd_(image_sd), unknowns_(image_sd > 0 ? data.images + 1 : 1) {
  for (const ImageData::Run& run : data.runs) {
    const double own = slow(run) ? sd * data.slow_ratio : sd;
    sd_.push_back(unknown(run) > 0 ? own : std::hypot(own, image_sd));
  }
}

double ImageFit::log_evidence() {
  start();
  weigh();
  for (int round = 0; round < rounds; ++round) {
    step();
    weigh();
  }
  double log_prior = -0.5 * squared((x_[0] / data_.expected_shift - 1.0) / shift_prior_sd);
  for (std::size_t k = 1; k < unknowns_; ++k) log_prior -= 0.5 * squared(x_[k] / image_sd_) + std::log(image_sd_);
  return log_likelihood_ + log_prior - 0.5 * (log_determinant_ + log_blocks_);
}

double ImageFit::residual(std::size_t i) const {
  const ImageData::Run& run = data_.runs[i];
  const std::size_t own = unknown(run);
  return run.value - offset_[run.block] - (slow(run) ? x_[0] : 0.0) - (own > 0 ? x_[own] : 0.0);
}

// The believed shift, no offsets of images, and every block at the median of what remains.
void ImageFit::start() {
  x_.assign(unknowns_, 0.0);
  x_[0] = data_.believed_shift;
  offset_.assign(data_.blocks, 0.0);
  for (std::size_t i = 0; i < data_.runs.size();) {
    const std::size_t block = data_.runs[i].block;
    std::vector<double> rest;
    for (; i < data_.runs.size() && data_.runs[i].block == block; ++i) rest.push_back(residual(i));
    std::sort(rest.begin(), rest.end());
    offset_[block] = 0.5 * (rest[(rest.size() - 1) / 2] + rest[rest.size() / 2]);
  }
}

void ImageFit::weigh() {
  weight_.resize(data_.runs.size());
  log_likelihood_ = 0;
  for (std::size_t i = 0; i < weight_.size(); ++i) {
    const double z2 = squared(residual(i) / sd_[i]);
    const double core = 0.95 * std::exp(-0.5 * z2);
    const double tail = 0.05 / 6.0 * std::exp(-0.5 * z2 / 36.0) + 1e-12;
    log_likelihood_ += std::log((core + tail) / sd_[i]);
    weight_[i] = (core + tail / 36.0) / (core + tail) / squared(sd_[i]);
  }
}

// One reweighted least squares step.
void ImageFit::step() {
  const std::size_t n = unknowns_;
  std::vector<double> right(n, 0.0);
  std::vector<double> in_block(data_.blocks * n, 0.0);
  matrix_.assign(n * n, 0.0);
  matrix_[0] = 1.0 / squared(shift_prior_sd * data_.expected_shift);
  right[0] = data_.expected_shift * matrix_[0];
  for (std::size_t k = 1; k < n; ++k) matrix_[k * n + k] = 1.0 / squared(image_sd_);
  add_runs(right, in_block);
  eliminate_blocks(right, in_block);
  log_determinant_ = factor(matrix_, n);
  solve(matrix_, right, n);
  x_ = right;
  for (std::size_t b = 0; b < data_.blocks; ++b) {
    offset_[b] = sum_[b];
    for (std::size_t k = 0; k < n; ++k) offset_[b] -= in_block[b * n + k] * x_[k];
    offset_[b] /= total_[b];
  }
}

void ImageFit::add_runs(std::vector<double>& right, std::vector<double>& in_block) {
  const std::size_t n = unknowns_;
  total_.assign(data_.blocks, 0.0);
  sum_.assign(data_.blocks, 0.0);
  for (std::size_t i = 0; i < data_.runs.size(); ++i) {
    const ImageData::Run& run = data_.runs[i];
    const double w = weight_[i];
    const std::size_t own = unknown(run);
    total_[run.block] += w;
    sum_[run.block] += w * run.value;
    if (slow(run)) {
      matrix_[0] += w;
      right[0] += w * run.value;
      in_block[run.block * n] += w;
    }
    if (own == 0) continue;
    if (slow(run)) matrix_[own * n] += w;
    matrix_[own * n + own] += w;
    right[own] += w * run.value;
    in_block[run.block * n + own] += w;
  }
}

void ImageFit::eliminate_blocks(std::vector<double>& right, const std::vector<double>& in_block) {
  const std::size_t n = unknowns_;
  log_blocks_ = 0;
  for (std::size_t b = 0; b < data_.blocks; ++b) {
    const double* row = &in_block[b * n];
    log_blocks_ += std::log(total_[b]);
    for (std::size_t i = 0; i < n; ++i) {
      if (row[i] == 0) continue;
      right[i] -= row[i] * sum_[b] / total_[b];
      for (std::size_t k = 0; k <= i; ++k) matrix_[i * n + k] -= row[i] * row[k] / total_[b];
    }
  }
}

}  // namespace nightgate::search
