// What goes into the outbox. Bodies hold everything that delivering needs, and nothing that changes without news: the
// same body put again changes nothing.
#include "ci/github/notify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/base/log.hpp"

namespace nightgate::github {
namespace {

using nlohmann::json;

std::string trip_key(std::int64_t id) { return fmt::format("trip-{}", id); }

const char* name(TripNewsState state) {
  constexpr const char* names[] = {"open", "recovered", "accepted", "withdrawn"};
  return names[static_cast<std::size_t>(state)];
}

// jsonb can't hold a zero character.
json safe(const std::string& text) {
  auto out = text;
  std::replace(out.begin(), out.end(), '\0', ' ');
  return out;
}

Status put(store::Store& store, const std::string& project, const char* kind, const std::string& key, const json& body,
           Instant now) {
  store::Notification n;
  n.project = project;
  n.kind = kind;
  n.key = key;
  n.body = dump_json(body);
  n.created = now;
  return store.put_notification(n);
}

bool shares_metric(const store::TripGroup& a, const store::TripGroup& b) {
  return std::any_of(a.trips.begin(), a.trips.end(), [&](const store::Trip& t) {
    return std::any_of(b.trips.begin(), b.trips.end(), [&](const store::Trip& u) { return t.metric == u.metric; });
  });
}

store::Sequence closed_in(const store::TripGroup& group) {
  store::Sequence out = 0;
  for (const auto& trip : group.trips) out = std::max(out, trip.closed.value_or(0));
  return out;
}

Result<json> put_before(store::Store& store, const std::string& project, std::int64_t id) {
  NG_TRY(const auto there, store.notification(project, "issue", trip_key(id)));
  if (!there) return json::object();
  return parse_json(there->body);
}

// The group whose issue this one goes on with: its own, or the one of a recovered group with the same metric.
Result<std::int64_t> root_of(store::Store& store, const TripNews& news, const std::vector<store::TripGroup>& earlier) {
  const auto& group = news.group;
  NG_TRY(const auto own, put_before(store, group.project, group.id));
  if (own.contains("root")) return own["root"].get<std::int64_t>();
  const store::TripGroup* best = nullptr;
  for (const auto& other : earlier) {
    const bool near = closed_in(other) > 0 && group.first > closed_in(other) - 1 &&
                      group.first - closed_in(other) <= comes_back_nights;
    if (other.id == group.id || other.machine != group.machine || state_of(other) != TripNewsState::recovered ||
        !near || !shares_metric(group, other))
      continue;
    if (best == nullptr || other.id > best->id) best = &other;
  }
  if (best == nullptr) return group.id;
  NG_TRY(const auto theirs, put_before(store, group.project, best->id));
  return theirs.contains("root") ? theirs["root"].get<std::int64_t>() : group.id;
}

json metrics_json(const store::TripGroup& group) {
  json out = json::array();
  for (const auto& t : group.trips) {
    const auto known = [](double x) { return x == x ? json(x) : json(); };
    out.push_back({{"metric", t.metric},
                   {"kind", t.kind},
                   {"change", known(t.change)},
                   {"baseline", known(t.baseline)},
                   {"level", known(t.level)}});
  }
  return out;
}

Status put_culprit(store::Store& store, const Channels& channels, const TripNews& news, Instant now) {
  const auto& g = news.group;
  if (!channels.github || news.culprit.empty()) return {};
  if (!news.culprit_comment.empty()) {
    NG_CHECK(put(store, g.project, "comment", trip_key(g.id),
                 {{"commit", news.culprit}, {"markdown", safe(news.culprit_comment)}}, now));
  }
  return put_status(store, channels, g.project, trip_key(g.id), news.culprit, StatusState::failure, "",
                    news.culprit_sentence, now);
}

}  // namespace

Channels channels_from(const config::Report& config, std::vector<std::string>& trouble) {
  Channels out;
  out.hook = config.hook;
  if (config.github) {
    if (auto account = account_from(*config.github)) {
      out.github = std::move(*account);
    } else {
      trouble.push_back("GitHub is not told: " + account.error().text());
    }
  }
  if (!config.webhook_env.empty()) {
    if (auto url = config::secret_from_environment(config.webhook_env)) {
      out.webhook = std::move(*url);
    } else {
      trouble.push_back("the webhook is not told: " + url.error().text());
    }
  }
  return out;
}

TripNewsState state_of(const store::TripGroup& group) {
  const auto any = [&](store::TripState state) {
    return std::any_of(group.trips.begin(), group.trips.end(), [&](const auto& t) { return t.state == state; });
  };
  if (any(store::TripState::open)) return TripNewsState::open;
  if (any(store::TripState::accepted)) return TripNewsState::accepted;
  return any(store::TripState::recovered) ? TripNewsState::recovered : TripNewsState::withdrawn;
}

Status put_trip(store::Store& store, const Channels& channels, const TripNews& news,
                const std::vector<store::TripGroup>& earlier, Instant now) {
  const auto& g = news.group;
  if (channels.github) {
    NG_TRY(const auto root, root_of(store, news, earlier));
    NG_CHECK(put(store, g.project, "issue", trip_key(g.id),
                 {{"root", root},
                  {"trip", g.id},
                  {"state", name(news.state)},
                  {"title", safe(news.title)},
                  {"markdown", safe(news.markdown)},
                  {"closing", news.state == TripNewsState::open ? json("") : safe(news.closing)}},
                 now));
  }
  NG_CHECK(put_culprit(store, channels, news, now));
  const auto details = dump_json({{"trip", g.id},
                                  {"first", g.first},
                                  {"last_good", g.last_good},
                                  {"tripped", g.tripped},
                                  {"metrics", metrics_json(g)},
                                  {"culprit", news.culprit.empty() ? json() : json(news.culprit)}});
  const bool open = news.state == TripNewsState::open;
  // One message for each thing that happens: it tripped (again when another metric joined), it has a culprit, it ended.
  const auto key = open ? fmt::format("trip-{}-open-{}", g.id, g.trips.size())
                        : fmt::format("trip-{}-{}-{}", g.id, name(news.state), closed_in(g));
  NG_CHECK(put_message(store, channels,
                       {g.project, g.machine, key, open ? "trip" : name(news.state), news.sentence, details}, now));
  if (open && !news.culprit.empty()) {
    NG_CHECK(put_message(store, channels,
                         {g.project, g.machine, fmt::format("trip-{}-culprit-{}", g.id, news.culprit.substr(0, 12)),
                          "culprit", news.culprit_sentence, details},
                         now + Micros(1)));  // told after the trip itself
  }
  return {};
}

std::string event_document(const Message& message, Instant now) {
  json body = {{"schema", "nightgate-event/1"}, {"event", message.event},     {"id", message.key},
               {"project", message.project},    {"machine", message.machine}, {"at", to_rfc3339(now)},
               {"text", safe(message.sentence)}};
  if (!message.details.empty()) {
    if (auto details = parse_json(message.details)) body["details"] = std::move(*details);
  }
  return dump_json(body);
}

Status put_message(store::Store& store, const Channels& channels, const Message& message, Instant now) {
  for (const char* kind : {"webhook", "hook"}) {
    if (kind == std::string_view("webhook") ? channels.webhook.empty() : channels.hook.empty()) continue;
    NG_TRY(const auto there, store.notification(message.project, kind, message.key));
    if (there) continue;
    NG_TRY(const auto body, parse_json(event_document(message, now)));
    NG_CHECK(put(store, message.project, kind, message.key, body, now));
  }
  return {};
}

Status put_issue(store::Store& store, const Channels& channels, const std::string& project, const std::string& key,
                 const std::string& title, const std::string& markdown, const std::string& closing, bool open,
                 Instant now) {
  if (!channels.github) return {};
  return put(store, project, "issue", key,
             {{"root", 0},
              {"state", open ? "open" : "recovered"},
              {"title", safe(title)},
              {"markdown", safe(markdown)},
              {"closing", safe(closing)}},
             now);
}

Status put_status(store::Store& store, const Channels& channels, const std::string& project, const std::string& key,
                  const std::string& commit, StatusState state, const std::string& part, const std::string& description,
                  Instant now) {
  if (!channels.github || commit.empty()) return {};
  return put(store, project, "status", key,
             {{"commit", commit},
              {"state", static_cast<int>(state)},
              {"context", "nightgate/" + project + (part.empty() ? "" : "/" + part)},
              {"description", safe(description)}},
             now);
}

}  // namespace nightgate::github
