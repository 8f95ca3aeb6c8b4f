#include "gate/measure/sampling.hpp"

namespace nightgate::measure {

// What costs CPU in the deployment (requests to it) comes first, and last at the end.
void Sampling::begin() {
  postgres_.begin();
  extra_.begin();
  conditions_.begin();
  cost_.begin();
}

Status Sampling::tick() {
  conditions_.tick();
  return deployment_.seems_alive();
}

RepeatResult Sampling::end(const LoadResult& load) {
  RepeatResult out;
  out.samples = load.samples;
  out.metrics = load.metrics;
  cost_.end(load, out);
  const double load_seconds = load.inside_this_process ? 0 : load.cpu_seconds;
  auto verdict = conditions_.end(cost_.cpu_seconds() + load_seconds, cost_.throttled_periods());
  out.conditions = std::move(verdict.conditions);
  out.void_reason = load.void_reason.empty() ? std::move(verdict.void_reason) : load.void_reason;
  extra_.end(load.requests, out);
  postgres_.end(load.requests, out);
  return out;
}

}  // namespace nightgate::measure
