// needs: ng_base store/spool_lines.cpp
// Any bytes as a line of the spool: refused with a text, or a write whose values are whole.
#include <cmath>

#include "store/spool_lines.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate;
using namespace nightgate::store;
using fuzz::require;

namespace {
class Checking final : public Recorder {
 public:
  Status put_machine(const Machine&) override { return {}; }
  Status put_definition(const std::string&, const std::string&) override { return {}; }
  Status put_target(const std::string&, const Target&) override { return {}; }
  Status begin_run(const Run&) override { return {}; }
  Status finish_run(const std::string&, RunState, Instant, const std::string&) override { return {}; }
  Result<Night> begin_night(const Run&, Sequence attempt_of, Unfinished) override {
    require(attempt_of >= 0, "nights are counted");
    return Night{};
  }
  Status set_night_target(const std::string&, const Target&, const std::string&) override { return {}; }
  Status put_measurement(const Measurement& measurement) override {
    for (const auto& repeat : measurement.repeats) {
      for (const auto& [name, value] : repeat.samples) require(std::isfinite(value), "samples are numbers");
    }
    return {};
  }
  Status put_readings(const std::string&, const judge::NightInput&, const std::vector<MetricInfo>&) override {
    return {};
  }
  Status set_night(const std::string&, NightState, const std::string&) override { return {}; }
  Status put_noise(const std::string&, const std::string&, const std::vector<Noise>&) override { return {}; }
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Checking recorder;
  const auto done = spool_lines::apply(fuzz::text_of(data, size), recorder);
  if (!done) require(done.error().code == Code::bad_data && !done.error().message.empty(), "refused with a text");
  return 0;
}
