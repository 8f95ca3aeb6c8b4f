// watch: the dead man's switch. It runs by a timer of its own and says so when no night with a verdict came to an end
// by the stated hour: one alarm a night, not one per metric.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/cli/notices.hpp"
#include "ci/cli/output.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

constexpr int exit_no_night = 4;
constexpr auto day = std::chrono::hours(24);

Result<std::chrono::minutes> minutes_of(const std::string& text) {
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9' ? text[i] - '0' : -100; };
  if (text.size() == 5 && text[2] == ':') {
    const int hours = digit(0) * 10 + digit(1), minutes = digit(3) * 10 + digit(4);
    if (hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60) return std::chrono::minutes(hours * 60 + minutes);
  }
  return fail(Code::usage, "--by takes an hour of the day in UTC, as in 09:00; found '" + text + "'");
}

// The newest instant at that hour that has passed.
Instant due(Instant now, std::chrono::minutes by) {
  const Instant today = std::chrono::floor<std::chrono::days>(now) + by;
  return today <= now ? today : today - day;
}

struct Finding {
  bool there = false;
  std::string sentence;  // what there was, or what there was not
};

// What systemd says about the unit whose OnFailure= started us (from 251 on it tells more than the name).
std::string failure_of(const std::string& unit) {
  std::string out = unit + " failed";
  const char* result = std::getenv("MONITOR_SERVICE_RESULT");
  const char* status = std::getenv("MONITOR_EXIT_STATUS");
  if (result != nullptr && *result != '\0')
    out += fmt::format(" ({}{}{})", result, status ? " " : "", status ? status : "");
  return out;
}

// nightgate-nightly@shop.service -> /etc/nightgate/shop/nightgate.json, as the units have it.
std::string config_of_unit(const std::string& unit) {
  const auto at = unit.find('@');
  const auto instance = at == std::string::npos ? "" : unit.substr(at + 1, unit.rfind('.') - at - 1);
  return (fs::path("/etc/nightgate") / instance / "nightgate.json").string();
}

// A night counts when it has a verdict, or when there was nothing new to measure and the nightly said so.
Result<Finding> look(store::Store& store, const config::Config& config, const std::string& machine, Instant since) {
  NG_TRY(const auto sign, store.notification(config.project, "night", sign_key(machine)));
  if (sign) {
    const auto body = parse_json(sign->body);
    const bool readable = body && body->is_object() && body->contains("at") && (*body)["at"].is_string();
    const auto at =
        readable ? parse_rfc3339((*body)["at"].get<std::string>()) : Result<Instant>(fail(Code::bad_data, ""));
    const auto word = readable && body->contains("word") && (*body)["word"].is_string()
                          ? (*body)["word"].get<std::string>()
                          : std::string();
    if (at && *at >= since && word == "nothing_to_do") return Finding{true, "there was nothing new to measure"};
  }
  NG_TRY(const auto nights, store.nights(config.project, machine, store::newest, 10));
  std::string last = "no night at all yet";
  for (const auto& night : nights) {
    const bool judged = night.state == store::NightState::judged && !night.environment && !night.voided;
    if (night.started < since) {
      if (last == "no night at all yet") last = fmt::format("the last night began {}", to_rfc3339(night.started));
      break;
    }
    if (judged) return Finding{true, fmt::format("night {} has a verdict", night.sequence)};
    last = fmt::format("night {} has no verdict{}", night.sequence,
                       night.reason.empty() ? " yet" : ": " + clean(night.reason));
  }
  return Finding{false, last};
}

// GitHub's issue and a message, once for each night that is missing.
Status alarm(store::Store& store, const config::Config& config, const github::Channels& channels,
             const std::string& machine, Instant hour, const Finding& found) {
  const bool missing = !found.there;
  const auto now = system_clock().now();
  const auto key = "watch-" + machine;
  NG_TRY(const auto before, store.notification(config.project, "issue", key));
  const bool was_open = before && before->body.find("\"open\"") != std::string::npos;
  if (missing || was_open) {
    const auto text = fmt::format("{}: no night with a verdict on {}", config.project, machine);
    const auto said = clean(found.sentence);
    const auto markdown = fmt::format(
        "There is no night with a verdict for {}.\n\n    {}\n\nIs the machine up, does its timer run, what does "
        "`nightgate status` say, and `journalctl -u nightgate-nightly`?\n",
        to_rfc3339(hour), said);
    NG_CHECK(github::put_issue(store, channels, config.project, key, text, missing ? markdown : "Nights are back.\n",
                               missing ? "" : "Back: " + said + ".\n", missing, now));
  }
  const auto night = to_rfc3339(hour).substr(0, 10);
  if (missing) {
    NG_CHECK(github::put_message(store, channels,
                                 {config.project, machine, fmt::format("no-night-{}-{}", machine, night), "no_night",
                                  fmt::format("{}: no night with a verdict on {} for {}: {}", config.project, machine,
                                              to_rfc3339(hour), clean(found.sentence)),
                                  ""},
                                 now));
  }
  return deliver_pending(store, config, channels);
}

// The store itself is away: told without the outbox, and once a night by a file that remembers it.
Status alarm_without_store(const config::Config& config, const github::Channels& channels, const std::string& machine,
                           Instant hour, const Error& error) {
  const auto mark = config.state / ("watch-" + to_rfc3339(hour).substr(0, 10));
  if (fs::exists(mark)) return {};
  const auto http = make_http_client();
  const auto sentence =
      fmt::format("{}: the store of {} can't be read, so it is not known whether there was a night: {}", config.project,
                  machine, log::redact(error.text()));
  NG_CHECK(github::send_now(
      channels, *http,
      {config.project, machine, "no-store-" + to_rfc3339(hour).substr(0, 10), "no_night", sentence, ""},
      system_clock().now()));
  NG_CHECK(make_directories(config.state, true));
  return write_file(mark, "told\n");
}

}  // namespace

Result<int> verb_watch(const Options& given) {
  Options options = given;
  if (!options.failed_unit.empty() && options.config == Options().config) {
    options.config = config_of_unit(options.failed_unit);
  }
  NG_TRY(const auto by, minutes_of(options.by));
  NG_TRY(const auto config, load_config(options));
  const auto machine = machine_name(options, config);
  auto hour = due(system_clock().now(), by);
  // A night that failed is told at once, as the alarm of the hour that comes: then it is not told again.
  if (!options.failed_unit.empty()) hour += day;
  std::vector<std::string> trouble;
  const auto channels = github::channels_from(config.report, trouble);
  for (const auto& text : trouble) log::warning(text);
  auto store = open_store(config);
  if (!store) {
    if (auto told = alarm_without_store(config, channels, machine, hour, store.error()); !told) {
      log::warning(told.error().text());
    }
    return tl::unexpected<Error>(std::move(store).error());
  }
  NG_TRY(auto found, look(**store, config, machine, hour - day));
  if (!found.there && !options.failed_unit.empty())
    found.sentence = failure_of(options.failed_unit) + "; " + found.sentence;
  NG_CHECK(alarm(**store, config, channels, machine, hour, found));
  if (options.json) {
    print_json(options, {{"machine", machine},
                         {"by", to_rfc3339(hour)},
                         {"since", to_rfc3339(hour - day)},
                         {"night", found.there},
                         {"message", found.sentence}});
  } else {
    print(fmt::format("{}: {} ({} to {})\n", found.there ? "fine" : "ALARM: no night with a verdict",
                      clean(found.sentence), to_rfc3339(hour - day), to_rfc3339(hour)));
  }
  return found.there ? 0 : exit_no_night;
}

}  // namespace nightgate::cli
