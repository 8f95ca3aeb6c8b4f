#include "gate/measure/sampling.hpp"

namespace nightgate::measure {

Status Sampling::begin() { return {}; }

Status Sampling::tick() { return deployment_.alive(); }

Result<RepeatResult> Sampling::end(const LoadResult& load) {
  RepeatResult out;
  out.samples = load.samples;
  out.metrics = load.metrics;
  out.void_reason = load.void_reason;
  return out;
}

}  // namespace nightgate::measure
