// needs: ng_formats
// Any bytes as data.js and as a performance report, found by their first byte so that each gets inputs of its own.
#include "gate/formats/history.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate::formats;
using nightgate::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = nightgate::fuzz::text_of(data + 1, size - 1);
  const auto history = data[0] % 2 == 0 ? parse_data_js(text) : parse_yuneta(text);
  if (!history) {
    require(is_utf8(history.error().text()), "errors are text");
    return 0;
  }
  const auto again = parse_csv(print_csv(history->rows));
  require(again.has_value() && again->rows == history->rows, "what is imported can be exported");
  return 0;
}
