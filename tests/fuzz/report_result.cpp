// needs: ng_base ci/report/result_read.cpp ci/report/result_markdown.cpp ci/report/compare_read.cpp
// needs: ci/report/release_read.cpp ci/report/reading.cpp ci/report/text.cpp

// Any bytes as the document of a compare, night, bisect or release that an artifact of somebody else's job holds.
#include "ci/report/compare.hpp"
#include "ci/report/release.hpp"
#include "ci/report/result.hpp"
#include "gate/base/files.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate;
using fuzz::require;

namespace {
// Nothing from outside comes alive: no link, image, HTML, mention or command of a workflow but our own.
void check_markdown(const std::string& text, std::size_t most) {
  require(text.size() <= most, "Markdown keeps its budget");
  for (const char* alive : {"<script", "<img", "](http", "\n::error", "\n::set-output", "javascript:"}) {
    require(text.find(alive) == std::string::npos, "nothing from outside comes alive");
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  if (const auto result = report::read_result(text)) {
    const int code = result->exit_code;
    require(code >= 0 && code <= 5, "an exit code of the table");
    for (const std::size_t most : {std::size_t{2000}, std::size_t{60000}})
      check_markdown(report::result_markdown(*result, most), most);
  } else {
    require(!result.error().message.empty(), "an error has a text");
  }
  if (const auto compare = report::read_compare(text)) require(compare->heads.size() <= 20000, "not endless");
  if (const auto release = report::read_release(text)) require(release->changes.size() <= 20000, "not endless");
  return 0;
}
