#include "bisect/search/levels.hpp"

#include <cmath>
#include <utility>

namespace nightgate::search {
namespace {

// Inverse of a small symmetric positive matrix (Gauss-Jordan); a row without data stays huge in variance, not singular.
std::vector<double> inverse(std::vector<double> a, std::size_t n) {
  std::vector<double> b(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) b[i * n + i] = 1.0;
  for (std::size_t p = 0; p < n; ++p) {
    const double pivot = a[p * n + p];
    for (std::size_t k = 0; k < n; ++k) {
      a[p * n + k] /= pivot;
      b[p * n + k] /= pivot;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double factor = a[i * n + p];
      if (i == p || factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        a[i * n + k] -= factor * a[p * n + k];
        b[i * n + k] -= factor * b[p * n + k];
      }
    }
  }
  return b;
}

}  // namespace

Levels::Levels(const State& state, int groups, const std::function<int(int)>& group_of)
    : groups_(static_cast<std::size_t>(groups)), runs_(groups_, 0) {
  for (const Block& block : state.blocks) {
    for (std::size_t i = 0; i < block.points.size(); ++i) {
      const int group = group_of(block.points[i]);
      if (group < 0) continue;
      data_.push_back({blocks_, static_cast<std::size_t>(group), block.values[i] - block.values[0]});
      ++runs_[static_cast<std::size_t>(group)];
    }
    ++blocks_;
  }
  const double noise = state.belief ? state.belief->noise() : 1.0;
  std::vector<double> weight(data_.size(), 1.0 / (noise * noise));
  for (int round = 0; round < 12; ++round) {
    fit(weight);
    weight = reweigh(noise);
  }
}

// Normal equations with the block offsets eliminated; the reference group and empty groups are tied down.
void Levels::fit(const std::vector<double>& weight) {
  const std::size_t n = groups_;
  std::vector<double> matrix(n * n, 0.0);
  std::vector<double> right(n, 0.0);
  std::vector<double> in_block(blocks_ * n, 0.0);
  std::vector<double> total(blocks_, 0.0);
  std::vector<double> sum(blocks_, 0.0);
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const Run& run = data_[i];
    matrix[run.group * n + run.group] += weight[i];
    right[run.group] += weight[i] * run.value;
    in_block[run.block * n + run.group] += weight[i];
    total[run.block] += weight[i];
    sum[run.block] += weight[i] * run.value;
  }
  for (std::size_t b = 0; b < blocks_; ++b) {
    if (total[b] <= 0) continue;
    const double* row = &in_block[b * n];
    for (std::size_t i = 0; i < n; ++i) {
      right[i] -= row[i] * sum[b] / total[b];
      for (std::size_t k = 0; k < n; ++k) matrix[i * n + k] -= row[i] * row[k] / total[b];
    }
  }
  matrix[0] += 1e9;
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += 1e-6;
  covariance_ = inverse(std::move(matrix), n);
  level_.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) level_[i] += covariance_[i * n + k] * right[k];
  offset_.assign(blocks_, 0.0);
  for (std::size_t b = 0; b < blocks_; ++b) {
    if (total[b] <= 0) continue;
    offset_[b] = sum[b];
    for (std::size_t k = 0; k < n; ++k) offset_[b] -= in_block[b * n + k] * level_[k];
    offset_[b] /= total[b];
  }
}

std::vector<double> Levels::reweigh(double noise) const {
  std::vector<double> weight;
  for (const Run& run : data_) {
    const double z = (run.value - offset_[run.block] - level_[run.group]) / noise;
    const double core = 0.95 * std::exp(-0.5 * z * z);
    const double tail = 0.05 / 6.0 * std::exp(-0.5 * z * z / 36.0) + 1e-12;
    weight.push_back((core + tail / 36.0) / (core + tail) / (noise * noise));
  }
  return weight;
}

Contrast Levels::difference(int high, int low) const {
  Contrast contrast;
  const auto h = static_cast<std::size_t>(high);
  const auto l = static_cast<std::size_t>(low);
  if (h == l || runs_[h] == 0 || runs_[l] == 0) return contrast;
  contrast.value = level_[h] - level_[l];
  const std::size_t n = groups_;
  const double variance = covariance_[h * n + h] + covariance_[l * n + l] - 2.0 * covariance_[h * n + l];
  contrast.sd = std::sqrt(std::max(variance, 0.0));
  contrast.known = contrast.sd < 100.0;  // never in one block with the other, not even through others: nothing known
  return contrast;
}

}  // namespace nightgate::search
