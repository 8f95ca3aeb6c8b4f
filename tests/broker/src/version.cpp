#include "version.hpp"

#ifndef COMMIT
#define COMMIT "unknown"
#endif

namespace broker {
const char* const kCommit = COMMIT;
#if defined(NDEBUG) && defined(__OPTIMIZE__)
const char* const kBuild = "release";
#else
const char* const kBuild = "debug";
#endif
}  // namespace broker
