// Further metrics that the config names, read around a repeat: counters and gauges of a Prometheus page, lines of the
// broker's log, the hash of a last answer.
#pragma once

#include <optional>
#include <vector>

#include "gate/measure/deployment.hpp"
#include "gate/measure/repeats.hpp"

namespace nightgate::measure {

class ExtraMeter {
 public:
  ExtraMeter(RunningDeployment& deployment, const std::vector<config::ExtraMetric>& metrics)
      : deployment_(deployment), metrics_(metrics) {}
  // What can't be read is said in the log and left out: a metric that is missing has no verdict.
  void begin();
  void end(std::uint64_t requests, RepeatResult& into);

 private:
  [[nodiscard]] Result<double> read(const config::ExtraMetric& metric);
  [[nodiscard]] Result<std::string> page(const std::string& url);
  RunningDeployment& deployment_;
  const std::vector<config::ExtraMetric>& metrics_;
  std::vector<std::optional<double>> before_;
};

// Lines of `log` that match, read in pieces that the pattern allows. Code::usage for a wrong pattern.
[[nodiscard]] Result<double> matching_lines(std::string_view log, std::string_view pattern);

}  // namespace nightgate::measure
