#include "gate/base/clock.hpp"

#include <fmt/format.h>

#include <optional>
#include <thread>

namespace nightgate {
namespace {

class SystemClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now()); }
  std::chrono::nanoseconds monotonic() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void sleep_for(std::chrono::nanoseconds duration) override { std::this_thread::sleep_for(duration); }
};

// Takes what it reads off the front of the text; false leaves the rest undefined.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  // Exactly `count` digits.
  bool digits(int count, int& value) {
    value = 0;
    for (int i = 0; i < count; ++i, rest_.remove_prefix(1)) {
      if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return false;
      value = value * 10 + (rest_.front() - '0');
    }
    return true;
  }
  // One of these characters.
  bool one_of(std::string_view allowed, char& found) {
    if (rest_.empty() || allowed.find(rest_.front()) == std::string_view::npos) return false;
    found = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  bool one_of(std::string_view allowed) {
    char ignored = 0;
    return one_of(allowed, ignored);
  }
  // A fraction of any length, at least one digit; what is finer than a microsecond is cut off.
  bool fraction(int& micros) {
    micros = 0;
    int scale = 100'000;
    int digit = 0;
    if (!digits(1, digit)) return false;
    do {
      micros += digit * scale;
      scale /= 10;
    } while (digits(1, digit));
    return true;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The grammar of RFC 3339, 5.6, by hand: the parsers at hand take short fields, trailing text or offsets of 25 hours,
// and refuse nanoseconds, which container engines write.
std::optional<Instant> parse(std::string_view text) {
  Reader in(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, micros = 0, zone_hour = 0, zone_minute = 0;
  const bool has_date = in.digits(4, year) && in.one_of("-") && in.digits(2, month) && in.one_of("-") &&
                        in.digits(2, day) && in.one_of("Tt");
  const bool has_time = has_date && in.digits(2, hour) && in.one_of(":") && in.digits(2, minute) && in.one_of(":") &&
                        in.digits(2, second);
  if (!has_time || (in.one_of(".") && !in.fraction(micros))) return std::nullopt;
  char sign = 0;
  if (!in.one_of("Zz")) {
    if (!in.one_of("+-", sign) || !in.digits(2, zone_hour) || !in.one_of(":") || !in.digits(2, zone_minute)) {
      return std::nullopt;
    }
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // A leap second (60) is the first instant of the next minute, as in POSIX time.
  if (!in.at_end() || !date.ok() || hour > 23 || minute > 59 || second > 60 || zone_hour > 23 || zone_minute > 59) {
    return std::nullopt;
  }
  using namespace std::chrono_literals;
  const auto offset = (zone_hour * 1h + zone_minute * 1min) * (sign == '-' ? -1 : 1);
  return std::chrono::sys_days(date) + hour * 1h + minute * 1min + second * 1s + Micros(micros) - offset;
}

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
  if (const auto parsed = parse(text)) return *parsed;
  return fail(Code::bad_data,
              fmt::format("'{}' is not an RFC 3339 time such as 2026-11-30T16:38:36Z", text.substr(0, 64)));
}

}  // namespace nightgate
