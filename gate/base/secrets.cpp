#include "gate/base/secrets.hpp"

#include <sys/prctl.h>

#include <mutex>
#include <set>

namespace nightgate {
namespace {

struct Kept {
  std::mutex mutex;
  std::set<std::string, std::less<>> names = {"NIGHTGATE_TOKEN", "ACTIONS_RUNTIME_TOKEN",
                                              "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "CREDENTIALS_DIRECTORY"};
};
Kept& kept() {
  static Kept instance;
  return instance;
}

}  // namespace

void keep_from_children(std::string_view variable) {
  const std::lock_guard lock(kept().mutex);
  kept().names.emplace(variable);
}

bool is_kept_from_children(std::string_view variable) {
  const std::lock_guard lock(kept().mutex);
  return kept().names.contains(variable);
}

void protect_memory() { ::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL); }

}  // namespace nightgate
