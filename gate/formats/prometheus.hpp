// A Prometheus text page (exposition format 0.0.4, and OpenMetrics without its extras): samples by name and labels.
// Timestamps and exemplars are read over. The difference of two reads of a counter is the caller's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate::formats {

constexpr std::size_t kMaxPage = std::size_t{16} << 20U;

struct PrometheusSample {
  std::string name;  // with its ending: "http_requests_total", "latency_seconds_bucket"
  std::map<std::string, std::string> labels;
  double value = 0;  // may be infinite or NaN: pages hold such gauges
};

// What to look for: `name` or `name{label="value",...}`; a sample fits when it has these labels, whatever others.
struct PrometheusSelector {
  std::string name;
  std::map<std::string, std::string> labels;
};
[[nodiscard]] Result<PrometheusSelector> parse_prometheus_selector(std::string_view text);  // Code::usage

// Code::bad_data with the line that is none.
[[nodiscard]] Result<std::vector<PrometheusSample>> parse_prometheus(std::string_view page);

// Several samples that fit: refuse (a gauge), or add them up (a counter kept by method or status).
enum class SeveralSamples { refuse, sum };
// Value of the samples that fit. Code::not_found when none does; Code::bad_data when it is not finite, or when several
// fit and they may not be added. Reads only the lines of that name, so a page is cheap to read often.
[[nodiscard]] Result<double> prometheus_value(std::string_view page, const PrometheusSelector& selector,
                                              SeveralSamples several = SeveralSamples::refuse);

}  // namespace nightgate::formats
