#include "ci/cli/pairing.hpp"

#include <fmt/format.h>

#include "gate/base/log.hpp"

namespace nightgate::cli {

Result<std::vector<targets::Target>> parse_arms(const Options& options, const config::Config& config,
                                                targets::Finder& finder) {
  NG_CHECK(check_scenarios(options, config));
  std::vector<targets::Target> arms;
  for (const auto& reference : options.positional) {
    NG_TRY(auto target, finder.parse(reference));
    arms.push_back(std::move(target));
  }
  return arms;
}

compare::Options pair_limits(const Options& options, const config::Config& config) {
  compare::Options out;
  out.max_pairs = options.pairs > 0 ? options.pairs : config.compare.max_pairs;
  out.max_minutes = options.max_minutes > 0 ? options.max_minutes : config.compare.max_minutes;
  out.rules.min_change = config.gate.min_change;
  out.scenarios = options.scenarios;
  out.ladder = options.ladder;
  out.stop = [] { return stop_requested(); };
  return out;
}

void PairWatch::measured(const compare::Step& step) {
  progress_.clear();
  if (!quiet_ && !step.failure.empty()) log::warning(fmt::format("{}: {}", arms_[step.arm == 0 ? 0 : 1], step.failure));
}

void PairWatch::differs_from_itself(const std::vector<std::string>& metrics) {
  progress_.clear();
  if (quiet_) return;
  std::string names;
  for (const auto& name : metrics) names += (names.empty() ? "" : ", ") + name;
  log::warning(fmt::format("A/A: {}; measured against itself once more",
                           names.empty() ? "not measured whole" : names + " of the first arm differ from themselves"));
}

void PairWatch::round(int rounds, const compare::Outcome& outcome) {
  progress_.clear();
  if (quiet_) return;
  std::size_t open = 0, all = 0;
  for (const auto* list : {&outcome.heads, &outcome.rungs}) {
    for (const auto& comparison : *list) {
      all += comparison.metrics.size();
      for (const auto& m : comparison.metrics) open += m.result.open ? 1 : 0;
    }
  }
  log::info(fmt::format("pair {}: {} of {} figures settled", rounds, all - open, all));
}

int exit_after(int verdict, const Status& kept) {
  if (kept) return verdict;
  log::error("the result is printed, but could not be kept: " + kept.error().text());
  return verdict == 0 ? 3 : verdict;
}

}  // namespace nightgate::cli
