#include "ci/cli/notices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ci/cli/night_view.hpp"
#include "ci/cli/output.hpp"
#include "ci/cli/pages.hpp"
#include "ci/report/result.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"

namespace nightgate::cli {
namespace {

using github::TripNewsState;
using nlohmann::json;
using report::outside;

constexpr int groups_looked_at = 50;
constexpr std::size_t issue_bytes = github::comment_bytes - 4000;

std::string text_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}
double number_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : store::unknown;
}

std::string fallen(const store::TripGroup& group) {
  if (group.trips.empty()) return "a metric";
  auto out = fmt::format("{} {}", group.trips.front().metric, report::percent(group.trips.front().change));
  if (group.trips.size() > 1) out += fmt::format(" and {} more", group.trips.size() - 1);
  return out;
}

// The merges that may have done it, while no bisect has named one: a link where the project is on GitHub.
std::string suspects(const report::TripModel& model, const config::Config& config) {
  const auto commit = [](const std::optional<store::Night>& night) {
    return night && night->target ? night->target->commit : std::string();
  };
  const auto good = commit(model.good_night), bad = commit(model.first_night);
  if (good.empty() || bad.empty() || good == bad) return "";
  const auto hex = [](const std::string& text) {
    return text.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  if (!hex(good) || !hex(bad)) return "";
  const auto& github = config.report.github;
  if (github && github->api == "https://api.github.com") {
    return fmt::format("\nSuspects: [the merges between {} and {}](https://github.com/{}/compare/{}...{}).\n",
                       good.substr(0, 10), bad.substr(0, 10), github->repository, good, bad);
  }
  return fmt::format("\nSuspects: the merges between `{}` and `{}`.\n", good.substr(0, 10), bad.substr(0, 10));
}

std::string issue_markdown(const report::TripModel& model, const config::Config& config) {
  auto out = report::trip_markdown(model, issue_bytes);
  const auto& g = model.group;
  const auto answer = parse_json(model.answer.empty() ? "{}" : model.answer);
  if (!answer || !answer->is_object() || !answer->contains("culprit") || !(*answer)["culprit"].is_object()) {
    out += suspects(model, config);
  }
  if (answer && answer->is_object() && !text_of(*answer, "reproduce").empty()) {
    out += "\nTo see it again: " + outside(text_of(*answer, "reproduce"), 400) + "\n";
  }
  out += fmt::format("\nCharts and every measurement: trip-{}.html in the report directory of {}.\n", g.id,
                     outside(g.machine));
  out += "\nTwo good nights close this by themselves. Kept on purpose? `nightgate accept METRIC --reason ...`\n";
  return out;
}

// "before, while it was slow, now", of the metrics that recovered.
std::string closing_markdown(const report::TripModel& model, TripNewsState state) {
  const auto& g = model.group;
  std::string out = state == TripNewsState::recovered  ? "Recovered: confirmed by good nights.\n"
                    : state == TripNewsState::accepted ? "Accepted: the figure it has now is the level from here on.\n"
                                                       : "Withdrawn: nights were judged again, and this is no "
                                                         "regression any more.\n";
  out += "\n| metric | before | tripped at | now |\n|---|---:|---:|---:|\n";
  for (const auto& trip : g.trips) {
    double now = store::unknown;
    for (const auto& s : model.series) {
      if (s.info.name != trip.metric) continue;
      for (const auto& point : s.points) {
        if (point.sequence <= trip.closed.value_or(0) && point.value == point.value) now = point.value;
      }
    }
    const auto unit = model.units.find(trip.metric);
    const auto scaled = report::scale_for(trip.baseline, unit == model.units.end() ? "" : unit->second);
    const auto row = fmt::format(
        "| {} | {} | {} | {} {} |\n", outside(trip.metric), report::number(trip.baseline * scaled.factor),
        report::number(trip.level * scaled.factor), report::number(now * scaled.factor), outside(scaled.unit));
    if (out.size() + row.size() < issue_bytes) out += row;
  }
  const auto last = std::max_element(g.trips.begin(), g.trips.end(), [](const auto& a, const auto& b) {
    return a.closed.value_or(0) < b.closed.value_or(0);
  });
  if (last != g.trips.end() && last->closed) out += fmt::format("\nClosed by night {}.\n", *last->closed);
  return out;
}

void add_culprit(const report::TripModel& model, github::TripNews& news) {
  if (model.group.answer.empty()) return;  // an unfinished bisect names nobody
  const auto answer = parse_json(model.group.answer);
  if (!answer || !answer->is_object() || text_of(*answer, "outcome") != "culprit") return;
  const auto culprit = answer->find("culprit");
  if (culprit == answer->end() || !culprit->is_object()) return;
  const auto commit = text_of(*culprit, "commit");
  if (commit.size() < 7 || commit.find_first_not_of("0123456789abcdef") != std::string::npos) return;
  news.culprit = commit;
  const auto sure = report::probability(number_of(*answer, "probability"));
  const auto change = report::percent(number_of(*answer, "change"));
  const auto metric = text_of(*answer, "metric");
  news.culprit_sentence = fmt::format("{} {} at this merge, {} sure ({})", metric, change, sure,
                                      fmt::format("nightgate trip {}", model.group.id));
  news.culprit_comment = fmt::format(
      "nightgate names this merge, {}, as the one that made **{}** worse: **{}**, {} sure, by {:.0f} measurements of "
      "the "
      "versions around it on {}.\n\n{}",
      commit.substr(0, 10), outside(metric), change, sure, number_of(*answer, "measurements"),
      outside(model.group.machine), report::trip_markdown(model, issue_bytes));
}

Result<github::TripNews> news_of(const report::Source& source, const config::Config& config, std::int64_t id) {
  NG_TRY(auto model, report::load_trip(source, id));
  model.answer = model.group.answer;
  github::TripNews news;
  news.group = model.group;
  news.state = github::state_of(model.group);
  news.title = fmt::format("Performance: {} since night {} on {}", clean(fallen(model.group)), model.group.first,
                           clean(model.group.machine));
  news.markdown = issue_markdown(model, config);
  news.sentence = fmt::format("{}: trip {}: {} since night {} on {}", config.project, id, clean(fallen(model.group)),
                              model.group.first, clean(model.group.machine));
  if (news.state != TripNewsState::open) {
    constexpr const char* words[] = {"open", "recovered", "accepted", "withdrawn"};
    news.closing = closing_markdown(model, news.state);
    news.sentence = fmt::format("{}: trip {} {}: {}", config.project, id, words[static_cast<std::size_t>(news.state)],
                                clean(fallen(model.group)));
  }
  add_culprit(model, news);
  return news;
}

// Closed groups are told when they were told as open before; again and again changes nothing.
Result<bool> to_tell(store::Store& store, const store::TripGroup& group) {
  if (group.open) return true;
  NG_TRY(const auto issue, store.notification(group.project, "issue", fmt::format("trip-{}", group.id)));
  if (issue) {
    const auto body = parse_json(issue->body);
    return body && body->is_object() && text_of(*body, "state") == "open";
  }
  for (std::size_t metrics = 1; metrics <= group.trips.size(); ++metrics) {
    for (const char* kind : {"webhook", "hook"}) {
      NG_TRY(const auto there,
             store.notification(group.project, kind, fmt::format("trip-{}-open-{}", group.id, metrics)));
      if (there) return true;
    }
  }
  return false;
}

Status put_trips(store::Store& store, const config::Config& config, const github::Channels& channels,
                 const std::string& machine) {
  const auto source = report_source(store, config, machine);
  NG_TRY(const auto groups, store.trips(config.project, groups_looked_at));
  const auto now = system_clock().now();
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {  // oldest first
    if (group->machine != machine) continue;
    NG_TRY(const bool wanted, to_tell(store, *group));
    if (!wanted) continue;
    NG_TRY(const auto news, news_of(source, config, group->id));
    NG_CHECK(github::put_trip(store, channels, news, groups, now));
  }
  return {};
}

// Tonight's target gets a status, also for those who watch from outside whether there was a night at all.
Status put_night_status(store::Store& store, const config::Config& config, const github::Channels& channels,
                        const nightly::Outcome& outcome) {
  const auto word = night_word(outcome);
  const auto state = word == "regression"   ? github::StatusState::failure
                     : word == "no_verdict" ? github::StatusState::error
                                            : github::StatusState::success;
  const auto day = to_rfc3339(system_clock().now()).substr(0, 10);
  auto plain = std::string(word);
  std::replace(plain.begin(), plain.end(), '_', ' ');
  return github::put_status(store, channels, config.project, "night-" + outcome.machine.name, outcome.target.commit,
                            state, "night", fmt::format("{}: night {}: {}", day, outcome.night.sequence, plain),
                            system_clock().now());
}

Status leave_sign(store::Store& store, const config::Config& config, const nightly::Outcome& outcome) {
  store::Notification sign;
  sign.project = config.project;
  sign.kind = "night";
  sign.key = sign_key(outcome.machine.name);
  sign.created = system_clock().now();
  sign.body = dump_json({{"at", to_rfc3339(sign.created)},
                         {"night", outcome.night.sequence},
                         {"word", std::string(night_word(outcome))},
                         {"exit_code", outcome.exit_code()}});
  NG_CHECK(store.put_notification(sign));
  sign.state = store::Delivery::sent;
  return store.update_notification(sign);
}

}  // namespace

std::string sign_key(const std::string& machine) { return "last-" + machine; }

Status deliver_pending(store::Store& store, const config::Config& config, const github::Channels& channels) {
  NG_CHECK(make_directories(config.state, true));
  NG_TRY(const auto lock, FileLock::take(config.state / "notify.lock", "telling people", std::chrono::seconds(60)));
  const auto http = make_http_client();
  NG_TRY(const auto done, github::deliver(store, channels, *http, system_clock(), config.project));
  for (const auto& complaint : done.complaints) log::warning(complaint);
  return {};
}

Status tell_outside(store::Store& store, const config::Config& config, const nightly::Outcome& outcome) {
  NG_CHECK(leave_sign(store, config, outcome));
  std::vector<std::string> trouble;
  const auto channels = github::channels_from(config.report, trouble);
  for (const auto& text : trouble) log::warning(text);
  if (!channels.any()) return {};
  NG_CHECK(put_trips(store, config, channels, outcome.machine.name));
  NG_CHECK(put_night_status(store, config, channels, outcome));
  return deliver_pending(store, config, channels);
}

}  // namespace nightgate::cli
