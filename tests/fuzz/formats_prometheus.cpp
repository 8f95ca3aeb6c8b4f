// needs: ng_formats
// Any bytes as a Prometheus page and as a selector.
#include "gate/formats/prometheus.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate::formats;
using nightgate::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = nightgate::fuzz::text_of(data, size);
  const auto selector = parse_prometheus_selector(text.substr(0, text.find('\n')));
  if (selector) require(!selector->name.empty(), "a selector has a name");
  const auto samples = parse_prometheus(text);
  if (!samples) return 0;
  for (const auto& sample : *samples) {
    const auto value = prometheus_value(text, {sample.name, sample.labels}, SeveralSamples::sum);
    require(value.has_value() || value.error().code == nightgate::Code::bad_data, "what is on the page is found");
    if (samples->size() > 50) break;  // quadratic on purpose, but not for long
  }
  return 0;
}
