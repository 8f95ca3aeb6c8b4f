#include "bisect/session/prefetch.hpp"

#include <algorithm>

#include "gate/base/log.hpp"

namespace nightgate::session {
namespace {

// The point at which this share of the suspects lies behind, or the next one that has a target.
int point_at(const search::Problem& problem, const std::vector<double>& posterior, double share) {
  double all = 0;
  for (std::size_t i = 1; i < posterior.size(); ++i) all += posterior[i];
  double sum = 0;
  int point = 0;
  while (point < problem.merges && sum < share * all) sum += posterior[static_cast<std::size_t>(++point)];
  const auto usable = [&](int p) {
    return problem.available.empty() || problem.available[static_cast<std::size_t>(p)];
  };
  while (point < problem.merges && !usable(point)) ++point;
  return problem.same_as.empty() ? point : problem.same_as[static_cast<std::size_t>(point)];
}

}  // namespace

std::vector<int> likely_next(const search::Problem& problem, const search::Decision& decision, int most) {
  std::vector<int> out;
  const auto& posterior = decision.answer.posterior;
  if (decision.next.empty() || posterior.size() != static_cast<std::size_t>(problem.merges) + 1) return out;
  const bool before = decision.next.front().phase == search::Phase::reproduce;
  const int parts = before ? problem.interior + 1 : 2 * (problem.interior + 1);
  for (int part = 1; part < parts && static_cast<int>(out.size()) < most; part += before ? 1 : 2) {
    const int point = point_at(problem, posterior, static_cast<double>(part) / parts);
    const auto in_block = [&](const search::NextBlock& block) {
      return std::ranges::find(block.points, point) != block.points.end();
    };
    if (point == 0 || point == problem.merges || std::ranges::any_of(decision.next, in_block)) continue;
    if (std::ranges::find(out, point) == out.end()) out.push_back(point);
  }
  return out;
}

void Prefetch::start(const std::vector<targets::Target>& wanted) {
  finish();
  std::vector<targets::Target> images;
  std::ranges::copy_if(wanted, std::back_inserter(images), [](const targets::Target& target) {
    return std::holds_alternative<targets::ImageTarget>(target.form);
  });
  if (images.empty()) return;
  thread_ = std::jthread([config = config_, images = std::move(images)](const std::stop_token& stop) {
    const auto finder = targets::make_finder(config, nullptr);
    for (const auto& image : images) {
      if (!finder || stop.stop_requested()) return;
      if (const auto ready = (*finder)->prepare(image); !ready) log::debug("pulling ahead: " + ready.error().text());
    }
  });
}

}  // namespace nightgate::session
