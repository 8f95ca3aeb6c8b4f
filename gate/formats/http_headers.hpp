// Two HTTP headers whose values have a grammar of their own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate::formats {

constexpr std::size_t kMaxHeader = std::size_t{16} << 10U;

// Link (RFC 8288): `</v2/x/tags/list?last=b&n=100>; rel="next", <...>; rel=last`.
struct Link {
  std::string target;                             // as written: absolute or relative to the request
  std::map<std::string, std::string> parameters;  // names in small letters; of a repeated name the first counts
  [[nodiscard]] bool has_rel(std::string_view relation) const;  // "rel" holds this word, whatever the case
};
// Code::bad_data when it is no list of links.
[[nodiscard]] Result<std::vector<Link>> parse_links(std::string_view header);
// Target of the first link with rel=next; nothing when there is none. Same errors.
[[nodiscard]] Result<std::optional<std::string>> next_link(std::string_view header);

// WWW-Authenticate (RFC 9110): `Bearer realm="https://auth.example/token",service="r",scope="repository:a/b:pull"`.
struct Challenge {
  std::string scheme;                             // small letters: "bearer", "basic"
  std::map<std::string, std::string> parameters;  // names in small letters
  std::string token;                              // the token68 form instead of parameters; may be empty
};
// One header may hold several challenges. Code::bad_data when it is no list of challenges or repeats a parameter.
[[nodiscard]] Result<std::vector<Challenge>> parse_challenges(std::string_view header);

}  // namespace nightgate::formats
