#include "gate/base/clock.hpp"

#include <date/date.h>
#include <fmt/format.h>

#include <sstream>
#include <thread>

namespace nightgate {
namespace {

class SystemClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now()); }
  std::chrono::nanoseconds monotonic() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void sleep_for(std::chrono::nanoseconds duration) override { std::this_thread::sleep_for(duration); }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::string to_rfc3339(Instant instant) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(instant);
  const auto days = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day ymd{days};
  const std::chrono::hh_mm_ss time{seconds - days};
  auto out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(ymd.year()),
                         static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()), time.hours().count(),
                         time.minutes().count(), time.seconds().count());
  if (const auto micros = (instant - seconds).count(); micros != 0) {
    out += fmt::format(".{:06}", micros);
    while (out.back() == '0') out.pop_back();
  }
  return out + "Z";
}

Result<Instant> parse_rfc3339(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::bad_data,
                fmt::format("'{}' is not an RFC 3339 time such as 2026-11-30T16:38:36Z", text.substr(0, 64)));
  };
  // Longest form is 2026-11-30T16:38:36.123456789+01:00; date::parse alone would take shorter fields and trailing text.
  if (text.size() < 20 || text.size() > 40 || text[4] != '-' || text[10] != 'T') return bad();
  std::istringstream in{std::string(text)};
  date::sys_time<Micros> parsed;
  in >> date::parse(text.back() == 'Z' ? "%FT%TZ" : "%FT%T%Ez", parsed);
  if (in.fail() || in.peek() != std::istringstream::traits_type::eof()) return bad();
  return Instant{parsed.time_since_epoch()};
}

}  // namespace nightgate
