// A real container engine and a real registry for tests: a private one of each (ci/engine), started with the first test
// that asks and stopped when the test program ends, however it ends. Instead of these: the engine named in DOCKER_HOST,
// or everything of a `ci/engine start DIR` whose DIR is in NIGHTGATE_SERVICES.
#pragma once

#include <map>
#include <string>

#include "gate/base/files.hpp"
#include "gate/base/result.hpp"

namespace nightgate::test {

struct Services {
  std::string engine;          // "unix:///..."
  std::string registry;        // "127.0.0.1:PORT", open
  std::string guarded;         // the same images, behind basic authentication
  std::string user, password;  // of the guarded one
};
// Why they can't be had here ("no docker-registry ..."), for NG_SKIP, or the services. Asked once per program.
[[nodiscard]] const Result<Services>& services();

// Builds an image whose only file is the static program /box (tests/support/box.c, or a copy of `program`) and gives
// its id. `name` has a tag.
[[nodiscard]] Result<std::string> build_image(const std::string& name, const std::map<std::string, std::string>& labels,
                                              const std::string& salt = "", const fs::path& program = {});
// Pushes it by the engine into the registry that its name begins with.
[[nodiscard]] Status push_image(const std::string& name);

}  // namespace nightgate::test
