// needs: ng_formats
// Any bytes as the output of each load program; the first byte chooses the format, the second whether to pick.
#include <cmath>

#include "gate/formats/load.hpp"
#include "gate/formats/wrk.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate::formats;
using nightgate::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto text = nightgate::fuzz::text_of(data + 2, size - 2);
  const auto& formats = program_formats();
  const std::size_t choice = data[0] % (formats.size() + 1);
  if (choice == formats.size()) {
    const auto result = parse_wrk(text);
    if (result) require(std::isfinite(result->rate()) && wrk_readings(*result).size() == 5, "wrk figures are finite");
    if (result) require(!wrk_complaint(*result) || !wrk_complaint(*result)->empty(), "complaints have a text");
    return 0;
  }
  Picks picks;
  if (data[1] % 2 == 1 || formats[choice] == "regex")
    picks = {{"a", formats[choice] == "regex" ? "([0-9.]+) req" : "/a/0/b~1c"}};
  const auto readings = parse_program(formats[choice], text, picks);
  if (!readings) {
    require(is_utf8(readings.error().text()), "errors are text");
    return 0;
  }
  require(!readings->empty(), "readings");
  for (const auto& reading : *readings)
    require(std::isfinite(reading.value) && is_utf8(reading.name) && is_utf8(reading.unit), "good readings");
  return 0;
}
