#include "gate/targets/images.hpp"

namespace nightgate::targets {

Result<std::unique_ptr<Images>> make_images(const config::Config& /*config*/, History* /*history*/) {
  return fail(Code::usage, "images are not finished yet; leave \"engine\" out to use plain processes");
}

}  // namespace nightgate::targets
