// Which commit this binary was built from, and how. version.cpp is compiled anew for every commit, with -DCOMMIT="...".
#pragma once

namespace broker {
extern const char* const kCommit;
extern const char* const kBuild;  // "release" or "debug"
}  // namespace broker
