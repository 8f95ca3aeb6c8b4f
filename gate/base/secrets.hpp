// What keeps our secrets ours: from programs that we start, and from core files and neighbours of the same user.
#pragma once

#include <string>
#include <string_view>

namespace nightgate {

// From now on no child gets this variable of our environment, unless its Command names it. Thread-safe. Those that
// GitHub's runner and systemd hand to us are kept back without being named.
void keep_from_children(std::string_view variable);
[[nodiscard]] bool is_kept_from_children(std::string_view variable);

// No core file of this process, and no process of the same user may read its memory or environment (children, which
// are other programs, are as usual). For programs; a test that needs a debugger or leak checker leaves it alone.
void protect_memory();

}  // namespace nightgate
