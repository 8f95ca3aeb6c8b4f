#include "ci/github/comments.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "gate/base/log.hpp"

namespace nightgate::github {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}
std::int64_t number_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}

bool ours(const json& item, const std::string& login, const std::string& first_line) {
  const auto user = item.find("user");
  if (user == item.end() || !user->is_object() || text_of(*user, "login") != login) return false;
  return text_of(item, "body").rfind(first_line, 0) == 0;
}

Result<std::vector<json>> our_comments(Api& api, std::int64_t issue, const std::string& first_line) {
  NG_TRY(const auto login, api.login());
  NG_TRY(auto comments, api.list("/issues/" + std::to_string(issue) + "/comments"));
  comments.erase(
      std::remove_if(comments.begin(), comments.end(), [&](const json& c) { return !ours(c, login, first_line); }),
      comments.end());
  std::sort(comments.begin(), comments.end(),
            [](const json& a, const json& b) { return number_of(a, "id") < number_of(b, "id"); });
  return comments;
}

// Two runs can both find none and both post: the first one stays.
Status remove_duplicates(Api& api, const std::vector<json>& comments) {
  for (std::size_t i = 1; i < comments.size(); ++i) {
    NG_CHECK(api.remove("/issues/comments/" + std::to_string(number_of(comments[i], "id"))));
  }
  return {};
}

}  // namespace

std::string marker(std::string_view key) {
  std::string clean;
  for (const char c : key) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    // "--" would end an HTML comment in some readers.
    clean += plain && !(c == '-' && !clean.empty() && clean.back() == '-') ? c : '_';
  }
  return "<!-- nightgate v1 key=" + clean + " -->";
}

Result<Comment> upsert_comment(Api& api, std::int64_t issue, std::string_view key, const std::string& markdown) {
  const auto first_line = marker(key);
  const auto body = first_line + "\n" + markdown;
  NG_TRY(auto comments, our_comments(api, issue, first_line));
  if (!comments.empty()) {
    const auto id = number_of(comments.front(), "id");
    NG_CHECK(remove_duplicates(api, comments));
    if (text_of(comments.front(), "body") == body) return Comment{id, Written::same};
    NG_CHECK(api.patch("/issues/comments/" + std::to_string(id), {{"body", body}}));
    return Comment{id, Written::changed};
  }
  auto posted = api.post("/issues/" + std::to_string(issue) + "/comments", {{"body", body}});
  // Also after a failed POST: one that timed out may have been carried out.
  if (!posted && posted.error().code != Code::away) return tl::unexpected<Error>(std::move(posted).error());
  NG_TRY(comments, our_comments(api, issue, first_line));
  if (comments.empty())
    return posted ? Result<Comment>(Comment{number_of(*posted, "id"), Written::created})
                  : tl::unexpected<Error>(std::move(posted).error());
  NG_CHECK(remove_duplicates(api, comments));
  return Comment{number_of(comments.front(), "id"), Written::created};
}

Result<Issue> find_issue(Api& api, std::string_view key) {
  const auto first_line = marker(key);
  NG_TRY(const auto login, api.login());
  NG_TRY(const auto issues, api.list("/issues?state=all&labels=&creator=" + url_encode(login)));
  Issue found;
  for (const auto& issue : issues) {
    if (issue.contains("pull_request") || !ours(issue, login, first_line)) continue;
    const auto number = number_of(issue, "number");
    if (found.number != 0 && number >= found.number) continue;  // the oldest one is ours to keep
    found.number = number;
    found.open = text_of(issue, "state") != "closed";
  }
  return found;
}

Result<Issue> upsert_issue(Api& api, std::string_view key, const std::string& title, const std::string& markdown) {
  const auto body = marker(key) + "\n" + markdown;
  NG_TRY(auto issue, find_issue(api, key));
  if (issue.number == 0) {
    auto opened = api.post("/issues", {{"title", title}, {"body", body}});
    if (!opened && opened.error().code != Code::away) return tl::unexpected<Error>(std::move(opened).error());
    if (!opened) {
      NG_TRY(issue, find_issue(api, key));
      if (issue.number == 0) return tl::unexpected<Error>(std::move(opened).error());
    } else {
      issue.number = number_of(*opened, "number");
    }
    issue.written = Written::created;
    return issue;
  }
  NG_TRY(const auto now, api.get("/issues/" + std::to_string(issue.number)));
  if (text_of(now, "body") == body && text_of(now, "title") == title) return issue;
  NG_CHECK(api.patch("/issues/" + std::to_string(issue.number), {{"title", title}, {"body", body}}));
  issue.written = Written::changed;
  return issue;
}

Status set_issue_open(Api& api, std::int64_t number, bool open) {
  const json body = open ? json({{"state", "open"}}) : json({{"state", "closed"}, {"state_reason", "completed"}});
  NG_CHECK(api.patch("/issues/" + std::to_string(number), body));
  return {};
}

Status set_status(Api& api, const std::string& commit, StatusState state, std::string_view context,
                  std::string_view description, const std::string& url) {
  constexpr const char* names[] = {"success", "failure", "error", "pending"};
  json body = {{"state", names[static_cast<int>(state)]},
               {"context", std::string(context)},
               {"description", std::string(description.substr(0, 140))}};
  if (!url.empty()) body["target_url"] = url;
  NG_CHECK(api.post("/statuses/" + commit, body));
  return {};
}

Result<std::int64_t> pull_request_of(Api& api, const std::string& head_commit) {
  NG_TRY(const auto pulls, api.list("/commits/" + url_encode(head_commit) + "/pulls"));
  for (const auto& pull : pulls) {
    const auto head = pull.find("head");
    if (head == pull.end() || !head->is_object() || text_of(*head, "sha") != head_commit) continue;
    if (text_of(pull, "state") == "open") return number_of(pull, "number");
  }
  return std::int64_t{0};
}

}  // namespace nightgate::github
