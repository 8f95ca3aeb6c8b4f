// Which images we pulled, so that old ones of ours are removed beyond a limit and nobody else's ever (private to
// gate/targets).
#pragma once

#include <string>

#include "gate/base/files.hpp"
#include "gate/targets/engine.hpp"

namespace nightgate::targets {

class ImageCache {
 public:
  // `file` keeps the list between runs. `engine` is borrowed.
  // `kept`: that many of the last used ones stay whatever their size.
  ImageCache(fs::path file, double limit_gb, std::size_t kept, Engine& engine)
      : file_(std::move(file)), limit_gb_(limit_gb), kept_(kept), engine_(engine) {}

  // Notes that this image is used now; `pulled`: by us, so that it is ours. Then removes the longest unused of ours
  // until they fit, but never one of the last used: a block of measurements needs them together.
  [[nodiscard]] Status used(const std::string& reference, const ImageInfo& info, bool pulled);

 private:
  fs::path file_;
  double limit_gb_;
  std::size_t kept_;
  Engine& engine_;
};

}  // namespace nightgate::targets
