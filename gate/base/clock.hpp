// Time: instants are UTC with microseconds everywhere; local time zones do not exist in nightgate.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "gate/base/result.hpp"

namespace nightgate {

using Micros = std::chrono::microseconds;
using Instant = std::chrono::sys_time<Micros>;

// The one way to ask for the time, so that tests can set it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;                         // wall clock, UTC; may jump
  [[nodiscard]] virtual std::chrono::nanoseconds monotonic() const = 0;  // never goes back; since an arbitrary start
  virtual void sleep_for(std::chrono::nanoseconds duration) = 0;
};

// The real clock; lives as long as the program.
Clock& system_clock();

// "2026-11-30T16:38:36Z", with a fraction only when it is not zero.
[[nodiscard]] std::string to_rfc3339(Instant instant);
// Accepts any RFC 3339 time with offset or Z. Code::bad_data with what was found.
[[nodiscard]] Result<Instant> parse_rfc3339(std::string_view text);

}  // namespace nightgate
