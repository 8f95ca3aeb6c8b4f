// A test that cannot run says why and counts as skipped: NG_SKIP("no ../shared here") leaves the test case.
// ci/test collects the reasons through the file named in NIGHTGATE_SKIP_LOG.
#pragma once
#include <string>

namespace nightgate::test {
// Appends "test<TAB>reason" to the skip log (when there is one) and prints it on stderr.
void note_skip(const std::string& test, const std::string& reason);
}  // namespace nightgate::test

#define NG_SKIP(reason)                                                                     \
  do {                                                                                      \
    ::nightgate::test::note_skip(Catch::getResultCapture().getCurrentTestName(), (reason)); \
    return;                                                                                 \
  } while (false)
