// Images as targets: which merges have one (asked of the registry), and pulling them within a disk limit (private to
// gate/targets).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::targets {

// Not thread-safe (asks the registry from several threads of its own).
class Images {
 public:
  virtual ~Images() = default;
  // For each merge a target, or why there is none. Errors: the registry did not answer.
  [[nodiscard]] virtual Result<std::vector<Found>> find_all(const std::vector<Merge>& merges) = 0;
  // From a reference that a person typed: asked of the registry, else of the engine. Code::not_found.
  [[nodiscard]] virtual Result<Target> parse(std::string_view reference) = 0;
  // Pulls it unless the engine has it; removes old ones of ours beyond the disk limit.
  [[nodiscard]] virtual Status prepare(const std::string& reference) = 0;
};
// `history` may be null.
[[nodiscard]] Result<std::unique_ptr<Images>> make_images(const config::Config& config, History* history);

}  // namespace nightgate::targets
