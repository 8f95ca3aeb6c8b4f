// Base64 (RFC 4648, section 4), with padding; `url` takes the alphabet of section 5 instead.
#pragma once

#include <string>
#include <string_view>

namespace nightgate::targets {

enum class Base64 { standard, url };
[[nodiscard]] std::string base64(std::string_view bytes, Base64 alphabet = Base64::standard);

}  // namespace nightgate::targets
