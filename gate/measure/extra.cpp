#include "gate/measure/extra.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "gate/base/log.hpp"
#include "gate/formats/pattern.hpp"
#include "gate/formats/prometheus.hpp"
#include "gate/measure/answers.hpp"
#include "gate/measure/calls.hpp"
#include "gate/measure/cost.hpp"

namespace nightgate::measure {
namespace {

using Kind = config::ExtraMetric::Kind;

bool is_difference(Kind kind) { return kind == Kind::prometheus_counter || kind == Kind::log_lines; }

}  // namespace

Result<double> matching_lines(std::string_view log, std::string_view pattern) {
  NG_TRY(const auto compiled, formats::Pattern::compile(pattern));
  double lines = 0;
  while (!log.empty()) {
    auto piece = log.substr(0, formats::Pattern::kMaxText);
    if (piece.size() < log.size()) {  // end at a line's end where there is one
      if (const auto end = piece.rfind('\n'); end != std::string_view::npos) piece = piece.substr(0, end + 1);
    }
    NG_TRY(const auto count, compiled.count_lines(piece));
    lines += static_cast<double>(count);
    log.remove_prefix(piece.size());
  }
  return lines;
}

Result<std::string> ExtraMeter::page(const std::string& url) {
  config::HttpCall call;
  call.url = url;
  NG_TRY(auto response, expect_call(deployment_.http(), call, deployment_.names(), deployment_.call_options()));
  return std::move(response.body);
}

Result<double> ExtraMeter::read(const config::ExtraMetric& metric) {
  if (metric.kind == Kind::log_lines) {
    const auto* broker = deployment_.first_broker_node();
    if (broker == nullptr) return fail(Code::usage, "there is no broker whose log could be read");
    NG_TRY(const auto log, broker->whole_log());
    return matching_lines(log, metric.pick);
  }
  NG_TRY(const auto body, page(metric.url));
  if (metric.kind == Kind::answer_hash) {  // 48 bits: a double holds them exactly
    return static_cast<double>(std::strtoull(answer_hash(200, body, {}).substr(0, 12).c_str(), nullptr, 16));
  }
  NG_TRY(const auto selector, formats::parse_prometheus_selector(metric.pick));
  const bool counter = metric.kind == Kind::prometheus_counter;
  return formats::prometheus_value(body, selector,
                                   counter ? formats::SeveralSamples::sum : formats::SeveralSamples::refuse);
}

void ExtraMeter::begin() {
  before_.clear();
  for (const auto& metric : metrics_) {
    auto& value = before_.emplace_back();
    if (!is_difference(metric.kind)) continue;
    if (auto now = read(metric)) value = *now;
  }
}

void ExtraMeter::end(std::uint64_t requests, RepeatResult& into) {
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const auto& metric = metrics_[i];
    const auto now = read(metric);
    if (!now) {
      log::warning(fmt::format("the extra metric '{}' could not be read: {}", metric.name, now.error().text()));
      continue;
    }
    double value = *now;
    if (is_difference(metric.kind)) {
      if (i >= before_.size() || !before_[i]) continue;  // the page was not there before: no difference
      value -= *before_[i];
    }
    if (metric.per_request) {
      if (requests == 0) continue;
      value /= static_cast<double>(requests);
    }
    add_sample(into, metric.name, value, {metric.unit, metric.better, metric.kind != Kind::answer_hash});
  }
}

}  // namespace nightgate::measure
