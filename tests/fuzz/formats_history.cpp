// needs: ng_formats
// Any bytes as a history. What is taken must be printable and come back equal, by CSV and by JSON lines.
#include <cmath>

#include "gate/formats/history.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate::formats;
using nightgate::fuzz::require;

namespace {
void check(const nightgate::Result<History>& history) {
  if (!history) {
    require(!history.error().message.empty() && is_utf8(history.error().text()), "errors are text");
    return;
  }
  require(!history->rows.empty(), "rows");
  for (const auto& row : history->rows)
    require(std::isfinite(row.value) && row.value > 0 && !row.metric.empty(), "good rows");
  const auto csv = parse_csv(print_csv(history->rows));
  require(csv.has_value() && csv->rows == history->rows, "CSV is its own inverse");
  const auto lines = parse_json_lines(print_json_lines(history->rows));
  require(lines.has_value() && lines->rows == history->rows, "JSON lines are their own inverse");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = nightgate::fuzz::text_of(data, size);
  HistoryOptions options;
  options.night.time = nightgate::Instant{std::chrono::hours{500000}};
  check(parse_csv(text, options));
  check(parse_json_lines(text, options));
  options.bad_values = BadValues::leave_out;
  if (const auto format = detect_format("", text)) check(parse_history(*format, text, options));
  check(parse_csv("time,commit,machine,metric,unit,better,value,class\n" + std::string(text), options));
  return 0;
}
