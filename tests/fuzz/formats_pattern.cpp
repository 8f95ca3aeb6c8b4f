// needs: ng_formats
// First line: a regular expression; the rest: the text it is matched against. No pattern may hang on any text.
#include "gate/formats/pattern.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate::formats;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto whole = nightgate::fuzz::text_of(data, size);
  const auto end = whole.find('\n');
  if (end == std::string_view::npos) return 0;
  const auto pattern = Pattern::compile(whole.substr(0, end));
  if (!pattern) return 0;
  const auto text = whole.substr(end + 1);
  const auto count = pattern->count_lines(text);
  const auto numbers = pattern->numbers(text);
  if (count && numbers) nightgate::fuzz::require(*count == numbers->size(), "one number per line that matches");
  return 0;
}
