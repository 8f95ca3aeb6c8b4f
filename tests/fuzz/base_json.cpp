// needs: ng_base
// Any bytes as JSON: refused with line and column, or a value that is its own inverse.
#include <nlohmann/json.hpp>

#include "gate/base/clock.hpp"
#include "gate/base/json.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const auto value = parse_json(text, {1U << 20U, 64, size % 2 == 1});
  if (!value) {
    require(value.error().code == Code::bad_data && !value.error().message.empty(), "refused with a text");
  } else {
    const auto again = parse_json(dump_json(*value));
    require(again.has_value() && *again == *value, "what is written is read again");
  }
  if (const auto instant = parse_rfc3339(text)) {
    const auto same = parse_rfc3339(to_rfc3339(*instant));
    require(same.has_value() && *same == *instant, "a time is its own inverse");
  }
  return 0;
}
