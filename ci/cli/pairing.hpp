// What compare and release share: arms from the command line, limits, what is said meanwhile, and how they end.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "ci/cli/context.hpp"
#include "gate/compare.hpp"

namespace nightgate::cli {

// The arms as typed. Nothing is prepared and no lock is needed: wrong names end here.
[[nodiscard]] Result<std::vector<targets::Target>> parse_arms(const Options& options, const config::Config& config,
                                                              targets::Finder& finder);
[[nodiscard]] compare::Options pair_limits(const Options& options, const config::Config& config);

class PairWatch final : public compare::Observer {
 public:
  // arms: what the first and every other arm are called.
  PairWatch(LiveProgress& progress, bool quiet, std::array<std::string_view, 2> arms)
      : progress_(progress), quiet_(quiet), arms_(arms) {}
  void measured(const compare::Step& step) override;
  void differs_from_itself(const std::vector<std::string>& metrics) override;
  void round(int rounds, const compare::Outcome& outcome) override;

 private:
  LiveProgress& progress_;
  bool quiet_;
  std::array<std::string_view, 2> arms_;
};

// For after the result was printed, so that nothing measured is lost: what could not be kept is told, and no pass (3).
[[nodiscard]] int exit_after(int verdict, const Status& kept);

}  // namespace nightgate::cli
