// What a person sees while a bisect runs: the plan, one line per block, both also in a pipe or journal.
#pragma once

#include "bisect/session/session.hpp"

namespace nightgate::cli {

class BisectWatch final : public session::Observer {
 public:
  explicit BisectWatch(bool quiet) : quiet_(quiet) {}
  void planned(const session::Plan& plan, int expected) override;
  void block(const search::NextBlock& block) override;
  void measured(const session::Plan& plan, const store::BisectStep& step) override;
  void progress(const session::Plan& plan, const search::Progress& progress, double minutes_left) override;
  void other_load(const std::string& load) override;

 private:
  bool quiet_;
};

// Plan, evidence and answer for people.
[[nodiscard]] std::string bisect_text(const session::Outcome& outcome);

}  // namespace nightgate::cli
