// Names, checks and helpers around a Problem.
#include <algorithm>
#include <array>
#include <cmath>

#include "bisect/search/answer.hpp"
#include "bisect/search/layout.hpp"

namespace nightgate::search {
namespace {

constexpr std::array<std::string_view, 4> phases{"reproduce", "search", "confirm", "account"};
constexpr std::array<std::string_view, 4> outcomes{"culprit", "range", "not_reproduced", "no_verdict"};

bool positive(double value) { return std::isfinite(value) && value > 0; }

std::optional<std::string> wrong_numbers(const Problem& problem) {
  if (problem.merges < 1) return "the range holds no merge: the good end and the bad end are the same commit";
  if (problem.merges > 1000000) return "the range holds more than 1,000,000 merges";
  if (!positive(problem.shift))
    return "the shift to look for must be above 0 (larger is worse): swap the ends, or give a shift";
  if (!positive(problem.noise)) return "the noise of one measurement must be above 0";
  if (problem.shift / problem.noise > 1e4 || problem.shift / problem.noise < 1e-3)
    return "shift / noise must lie between 0.001 and 10,000";
  if (!(problem.error >= 1e-4 && problem.error <= 0.5)) return "error must lie between 0.0001 and 0.5";
  if (problem.interior < 1 || problem.interior > 15) return "interior must lie between 1 and 15";
  if (problem.machines < 1 || problem.machines > 64) return "machines must lie between 1 and 64";
  return std::nullopt;
}

std::optional<std::string> wrong_lists(const Problem& problem) {
  const std::size_t points = static_cast<std::size_t>(problem.merges) + 1;
  for (const std::size_t size : {problem.available.size(), problem.same_as.size(), problem.weight.size()})
    if (size != 0 && size != points) return "available, same_as and weight must be empty or have one entry a point";
  for (std::size_t i = 0; i < problem.same_as.size(); ++i)
    if (problem.same_as[i] < 0 || static_cast<std::size_t>(problem.same_as[i]) > i)
      return "same_as must name the lowest point with the same digest";
  for (const double weight : problem.weight)
    if (!std::isfinite(weight) || weight < 0) return "weights must be 0 or above";
  return std::nullopt;
}

template <class T>
std::vector<T> slice(const std::vector<T>& all, int first, int last) {
  if (all.empty()) return {};
  return {all.begin() + first, all.begin() + last + 1};
}

Part part_of(const Problem& problem, int first, int last, double shift) {
  Part part{problem, first};
  part.problem.merges = last - first;
  part.problem.shift = shift;
  part.problem.available = slice(problem.available, first, last);
  part.problem.weight = slice(problem.weight, first, last);
  part.problem.same_as.clear();
  if (problem.same_as.empty()) return part;
  const auto begin = problem.same_as.begin() + first;
  for (int i = first; i <= last; ++i) {  // the lowest point of the part with the same digest
    const auto lowest = std::find(begin, begin + (i - first) + 1, problem.same_as[static_cast<std::size_t>(i)]);
    const auto index = lowest == begin + (i - first) + 1 ? i - first : static_cast<int>(lowest - begin);
    part.problem.same_as.push_back(index);
  }
  return part;
}

}  // namespace

std::string_view to_string(Phase phase) { return phases[static_cast<std::size_t>(phase)]; }
std::string_view to_string(Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; }

std::optional<Phase> phase_from(std::string_view text) {
  const auto found = std::find(phases.begin(), phases.end(), text);
  if (found == phases.end()) return std::nullopt;
  return static_cast<Phase>(found - phases.begin());
}

std::optional<std::string> invalid(const Problem& problem) {
  if (auto wrong = wrong_numbers(problem)) return wrong;
  if (auto wrong = wrong_lists(problem)) return wrong;
  if (!problem.available.empty() && (!problem.available.front() || !problem.available.back()))
    return "both ends need a target";
  const Layout layout = lay_out(problem, {});
  if (layout.bad == layout.good) return "both ends have the same digest: there is nothing to tell apart";
  if (layout.before.back() <= 0)
    return "no merge of the range can be the culprit: all lie between equal digests or weigh 0";
  return std::nullopt;
}

int expected_measurements(const Problem& problem) {
  if (invalid(problem)) return 0;
  const double bits = std::log2(static_cast<double>(std::max<std::size_t>(1, lay_out(problem, {}).gaps.size())));
  const double runs = forecast(bits, problem.shift / problem.noise, problem.error);
  return static_cast<int>(std::lround(std::min(runs, static_cast<double>(problem.max_measurements))));
}

std::vector<Part> further(const Problem& problem, const Answer& answer) {
  std::vector<Part> parts;
  if (!answer.residual || answer.range.first < 1) return parts;
  const double rest = answer.shift_now - answer.change;
  if (!(rest > 0)) return parts;
  const std::pair<int, int> sides[] = {{0, answer.range.first - 1}, {answer.range.last, problem.merges}};
  for (const auto& [first, last] : sides) {
    if (last <= first) continue;
    Part part = part_of(problem, first, last, rest);
    if (!invalid(part.problem)) parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace nightgate::search
