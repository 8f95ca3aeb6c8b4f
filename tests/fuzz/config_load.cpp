// needs: ng_config
// Whatever the text is, parse() ends with a config or with a usage error.
#include <cstdlib>

#include "config/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto config = nightgate::config::parse(text, "/srv", "fuzz");
  if (!config && (config.error().code != nightgate::Code::usage || config.error().message.empty())) std::abort();
  return 0;
}
