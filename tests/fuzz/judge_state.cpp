// needs: ng_judge
// Any bytes as a kept state of the gate: refused, or one that goes on and is kept the same.
#include "gate/judge/gate.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate::judge;
using nightgate::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto state = GateState::load(nightgate::fuzz::text_of(data, size));
  if (!state) return 0;
  const auto kept = state->save();
  const auto again = GateState::load(kept);
  require(again.has_value() && again->save() == kept, "what is kept comes back");
  static_cast<void>(state->summary());
  return 0;
}
