// needs: ng_formats ng_base gate/targets/registry.cpp gate/targets/engine_stream.cpp
// Any bytes as what a registry and its token service answer, and as an engine's stream of a pull and of a log.
#include "gate/targets/engine_stream.hpp"
#include "gate/targets/registry.hpp"
#include "tests/fuzz/scripted.hpp"

using namespace nightgate;
using fuzz::require;

namespace {
targets::Registry registry(std::string_view script) {
  targets::RegistryOptions options;
  options.login = targets::RegistryLogin{"user", "canary-secret"};
  options.attempts = 1;
  options.architecture = "amd64";
  return targets::Registry(options, std::make_unique<fuzz::ScriptedClient>(script));
}
void check(const Error& error) {
  require(!error.message.empty(), "an error has a text");
  require(error.text().find("canary-secret") == std::string::npos, "no secret in an error");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = fuzz::text_of(data + 1, size - 1);
  if (text.find("canary") != std::string::npos) return 0;  // the other side says it itself: not our leak
  const auto image = *formats::parse_image_ref("reg.example/a/b:1");
  switch (data[0] % 4) {
    case 0: {
      const auto digest = registry(text).digest(image);
      if (!digest) check(digest.error());
      if (digest) require(formats::is_image_digest(*digest), "a digest is one");
      break;
    }
    case 1: {
      const auto labels = registry(text).labels(image);
      if (!labels) check(labels.error());
      break;
    }
    case 2: {
      const auto tags = registry(text).tags(image);
      if (!tags) check(tags.error());
      for (std::size_t i = 0; tags && i < tags->size(); ++i)
        require(formats::is_image_tag((*tags)[i]), "tags are tags");
      break;
    }
    default: {
      require(targets::demultiplex(text).size() <= text.size(), "frames add nothing");
      targets::PullProgress progress;
      progress.feed(text.substr(0, text.size() / 2));
      progress.feed(text.substr(text.size() / 2));
      if (const auto done = progress.finish(); !done) require(!done.error().message.empty(), "an error has a text");
    }
  }
  return 0;
}
