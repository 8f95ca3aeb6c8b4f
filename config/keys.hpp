// Every key that nightgate.json may have, object by object. The loader refuses all others; a test holds
// config/schemas/config.schema.json (whose definitions carry the same names) and config/keys.md to this list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nightgate::config {

struct ObjectKeys {
  std::string_view object;  // name of the definition in the schema; "config" is the whole file
  std::vector<std::string> keys;
};
[[nodiscard]] const std::vector<ObjectKeys>& known_objects();
// Keys of one of them; an unknown name gives an empty list.
[[nodiscard]] const std::vector<std::string>& known_keys(std::string_view object);

// Formats of a command's output (gate/formats knows the same; a test compares).
[[nodiscard]] const std::vector<std::string>& load_formats();

}  // namespace nightgate::config
