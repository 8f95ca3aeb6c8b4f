// The style sheet of every page and the small script of the site. Both are plain text, built into the program.
#pragma once

#include <string_view>

namespace nightgate::report {

// Light, dark and print. Put into a single page, or beside the pages of a site as one file.
[[nodiscard]] std::string_view style_sheet();
// Filters tables and reads charts aloud under the cursor. Nothing is lost without it.
[[nodiscard]] std::string_view site_script();

}  // namespace nightgate::report
