// Names inside config strings: "{sha}", "{broker.url}". One grammar for the loader, the finder and the measurer.
//
//   {name}     is replaced; name = a letter, then letters, digits, '_', '-', and at most one '.'
//   {{name}}   is the text "{name}" itself
// Everything else in braces ({"json": 1}, a{2,3}, {}) is no name and stays as it is, so JSON bodies need no escaping.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "gate/base/result.hpp"

namespace nightgate::config {

using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

// `text` with every name replaced. Code::usage for a name that `lookup` does not know.
[[nodiscard]] Result<std::string> expand_names(std::string_view text, const Lookup& lookup);
// The same for each of `texts`.
[[nodiscard]] Result<std::vector<std::string>> expand_names(const std::vector<std::string>& texts,
                                                            const Lookup& lookup);
// Every name in `text`, in order, without braces.
[[nodiscard]] std::vector<std::string> names_in(std::string_view text);

// Names that a string may use: in templates of images and artifacts; in build commands; and anywhere in a deployment or
// scenario (`deployment` adds "<node>.url", "<node>.host", "<node>.port" and "<node>.cpus" of each of its nodes).
[[nodiscard]] std::vector<std::string> target_names();
[[nodiscard]] std::vector<std::string> build_names();
[[nodiscard]] std::vector<std::string> runtime_names(const Deployment& deployment);

}  // namespace nightgate::config
