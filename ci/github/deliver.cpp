// Carrying out what the outbox holds. Each thing is tried once a run; its outcome is written down before the next one.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ci/github/notify.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "gate/base/process.hpp"

namespace nightgate::github {
namespace {

using nlohmann::json;

constexpr int most_tries = 50;    // runs: about as many nights
constexpr int most_refusals = 5;  // of what GitHub calls wrong in itself

std::string text_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}
std::int64_t number_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}
bool flag_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}

json object_from(const std::string& text) {
  if (text.empty()) return json::object();
  auto parsed = parse_json(text);
  return parsed && parsed->is_object() ? std::move(*parsed) : json::object();
}

// The address is a secret, path and all: no message of the client's gets out.
Status post_webhook(HttpClient& http, const std::string& url, json body) {
  auto text = std::string();
  for (const char c : text_of(body, "text")) {  // Slack's own escaping; its mentions and links begin with <
    text += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  body["text"] = text;
  HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.body = dump_json(body);
  request.headers = {{"Content-Type", "application/json"}, {"User-Agent", "nightgate"}};
  const auto answer = http.send(request);
  if (!answer) {
    const bool usage = answer.error().code == Code::usage;
    return fail(usage ? Code::usage : Code::away,
                usage ? "the webhook's address is none" : "the webhook did not answer");
  }
  if (answer->status >= 200 && answer->status < 300) return {};
  return fail(Code::away, fmt::format("the webhook answered {}", answer->status));
}

Status run_hook(const std::vector<std::string>& argv, const std::string& document) {
  Command command;
  command.argv = argv;
  command.input = document + "\n";
  NG_TRY(const auto ran, run(command, std::chrono::seconds(60), 64U << 10U));
  if (ran.ok()) return {};
  return fail(Code::away, fmt::format("the hook {}: {}: {}", argv.front(), ending_text(ran.ending), cut(ran.err, 300)));
}

class Delivery {
 public:
  Delivery(store::Store& store, const Channels& channels, HttpClient& http, Clock& clock)
      : store_(store), channels_(channels), http_(http) {
    if (channels.github) api_.emplace(http, clock, *channels.github);
  }

  [[nodiscard]] bool can(const std::string& kind) const {
    if (kind == "webhook") return !channels_.webhook.empty();
    if (kind == "hook") return !channels_.hook.empty();
    return api_.has_value() && (kind == "issue" || kind == "comment" || kind == "status");
  }

  // What to remember of it (JSON).
  Result<json> carry_out(const store::Notification& n) {
    const auto body = object_from(n.body);
    if (n.kind == "issue") return issue(n, body);
    if (n.kind == "comment") return comment(n, body);
    if (n.kind == "status") return status(body);
    NG_CHECK(n.kind == "webhook" ? post_webhook(http_, channels_.webhook, body) : run_hook(channels_.hook, n.body));
    return json::object();
  }

 private:
  // "trip-12" of the project, as the marker and the comments of an issue are named.
  static std::string issue_key(const store::Notification& n, const json& body) {
    const auto root = number_of(body, "root");
    return n.project + "-" + (root > 0 ? fmt::format("trip-{}", root) : n.key);
  }

  // What is remembered of the issue: its number, and whether it was we who closed it. Of this notification, else of the
  // one whose issue it goes on with.
  Result<json> remembered(const store::Notification& n, const json& body) {
    auto own = object_from(n.result);
    if (number_of(own, "issue") > 0) return own;
    if (number_of(body, "root") == 0 || number_of(body, "root") == number_of(body, "trip")) return own;
    NG_TRY(const auto root, store_.notification(n.project, "issue", fmt::format("trip-{}", number_of(body, "root"))));
    return root ? object_from(root->result) : own;
  }

  Result<json> issue(const store::Notification& n, const json& body) {
    NG_TRY(const auto before, remembered(n, body));
    const auto key = issue_key(n, body);
    const bool open = text_of(body, "state") == "open";
    if (!open && number_of(before, "issue") == 0) {
      NG_TRY(const auto found, find_issue(*api_, key));
      if (found.number == 0) return json{{"issue", 0}, {"closed_by_us", false}};  // it ended before it was told
    }
    NG_TRY(const auto there,
           upsert_issue(*api_, key, text_of(body, "title"), text_of(body, "markdown"), number_of(before, "issue")));
    json after = {{"issue", there.number}, {"closed_by_us", false}};
    if (open) {
      // Closed by a person: their decision. Closed by us: it came back.
      if (there.open || !flag_of(before, "closed_by_us")) return after;
      NG_CHECK(upsert_comment(*api_, there.number, key + "-back-" + n.key, "It came back: see the numbers above."));
      NG_CHECK(set_issue_open(*api_, there.number, IssueState::open));
      return after;
    }
    if (!text_of(body, "closing").empty()) {
      NG_CHECK(upsert_comment(*api_, there.number, key + "-end-" + n.key, text_of(body, "closing")));
    }
    after["closed_by_us"] = text_of(body, "state") == "recovered" && (there.open || flag_of(before, "closed_by_us"));
    if (!there.open) return after;
    NG_CHECK(set_issue_open(*api_, there.number,
                            text_of(body, "state") == "recovered" ? IssueState::completed : IssueState::not_planned));
    return after;
  }

  Result<json> comment(const store::Notification& n, const json& body) {
    NG_TRY(const auto pull, merged_by(*api_, text_of(body, "commit")));
    if (pull == 0) return json{{"pull_request", nullptr}};  // pushed without one: the issue says it
    NG_TRY(const auto made, upsert_comment(*api_, pull, n.project + "-" + n.key, text_of(body, "markdown")));
    return json{{"pull_request", pull}, {"comment", made.id}};
  }

  Result<json> status(const json& body) {
    const auto state = std::clamp<std::int64_t>(number_of(body, "state"), 0, 3);
    NG_CHECK(set_status(*api_, text_of(body, "commit"), static_cast<StatusState>(state), text_of(body, "context"),
                        text_of(body, "description"), ""));
    return json::object();
  }

  store::Store& store_;
  const Channels& channels_;
  HttpClient& http_;
  std::optional<Api> api_;
};

// The outcome of a try as the outbox keeps it.
void book(store::Notification& n, const Result<json>& outcome, Delivered& out) {
  ++n.tries;
  if (outcome) {
    n.state = store::Delivery::sent;
    n.result = dump_json(*outcome);
    n.last_error.clear();
    ++out.sent;
    return;
  }
  n.last_error = std::string(cut(log::redact(outcome.error().text()), 1000));
  std::replace(n.last_error.begin(), n.last_error.end(), '\0', ' ');
  const bool wrong = outcome.error().code == Code::bad_data && n.tries >= most_refusals;
  const bool dropped = wrong || n.tries >= most_tries;
  n.state = dropped ? store::Delivery::dropped : store::Delivery::pending;
  out.dropped += dropped ? 1 : 0;
  out.kept += dropped ? 0 : 1;
  out.complaints.push_back(fmt::format("{} {} {}: {}", n.kind, n.key,
                                       dropped ? "was given up" : "could not be delivered and is kept for the next run",
                                       n.last_error));
}

}  // namespace

Result<Delivered> deliver(store::Store& store, const Channels& channels, HttpClient& http, Clock& clock,
                          const std::string& project) {
  Delivered out;
  Delivery delivery(store, channels, http, clock);
  NG_TRY(auto pending, store.pending_notifications(project));
  for (auto& n : pending) {
    if (!delivery.can(n.kind) || (n.not_before && *n.not_before > clock.now())) continue;
    book(n, delivery.carry_out(n), out);
    NG_CHECK(store.update_notification(n));
  }
  return out;
}

Status send_now(const Channels& channels, HttpClient& http, const Message& message, Instant now) {
  const auto document = event_document(message, now);
  Status out;
  if (!channels.webhook.empty()) out = post_webhook(http, channels.webhook, object_from(document));
  if (!channels.hook.empty()) {
    if (auto ran = run_hook(channels.hook, document); !ran) out = ran;
  }
  return out;
}

}  // namespace nightgate::github
