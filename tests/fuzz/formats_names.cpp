// needs: ng_formats
// Any bytes as an image name, a Link or WWW-Authenticate header, and a commit message.
#include "gate/formats/git_title.hpp"
#include "gate/formats/http_headers.hpp"
#include "gate/formats/image_ref.hpp"
#include "gate/formats/reading.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using namespace nightgate::formats;
using nightgate::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = nightgate::fuzz::text_of(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0: {
      const auto image = parse_image_ref(text);
      if (!image) break;
      const auto again = parse_image_ref(image->text());
      require(again.has_value() && *again == *image, "the full form of an image name means the same");
      require(image->text().find_first_of(" \n\r?#%\\") == std::string::npos &&
                  image->repository.find("..") == std::string::npos,
              "an image name is safe in a URL path");
      break;
    }
    case 1:
      if (const auto links = parse_links(text)) {
        for (const auto& link : *links) require(link.target.find('\n') == std::string::npos, "a link is one line");
      }
      break;
    case 2:
      if (const auto challenges = parse_challenges(text)) {
        for (const auto& challenge : *challenges) {
          require(!challenge.scheme.empty() && (challenge.token.empty() || challenge.parameters.empty()),
                  "a challenge has one form");
        }
      }
      break;
    default: {
      const auto title = parse_git_title(text);
      require(title.title.size() <= 200 && is_utf8(title.title) && is_utf8(title.reverted_title),
              "a title is short text");
      require(title.title.find_first_of("\n\r\x1b") == std::string::npos, "a title is one line");
      require(!title.number || *title.number > 0, "requests are counted from 1");
    }
  }
  return 0;
}
