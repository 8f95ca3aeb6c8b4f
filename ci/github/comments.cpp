#include "ci/github/comments.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "gate/base/log.hpp"

namespace nightgate::github {
namespace {

using nlohmann::json;

constexpr int most_posts = 3;

std::string text_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}
std::int64_t number_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}

// GitHub may give line ends back as CR LF.
bool same_text(std::string_view there, std::string_view wanted) {
  std::string plain(there);
  plain.erase(std::remove(plain.begin(), plain.end(), '\r'), plain.end());
  return plain == wanted;
}

void learn_author(Api& api, const json& made) {
  const auto user = made.find("user");
  if (user == made.end() || !user->is_object()) return;
  if (const auto login = text_of(*user, "login"); !login.empty()) api.learn_login(login);
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

// The oldest of ours stays and says `body`; the others, posted by runs that raced with this one, go.
Result<Comment> settle(Api& api, const std::vector<json>& comments, const std::string& body) {
  for (std::size_t i = 1; i < comments.size(); ++i) {
    NG_CHECK(api.remove("/issues/comments/" + std::to_string(number_of(comments[i], "id"))));
  }
  const auto id = number_of(comments.front(), "id");
  if (same_text(text_of(comments.front(), "body"), body)) return Comment{id, Written::same};
  NG_CHECK(api.patch("/issues/comments/" + std::to_string(id), {{"body", body}}));
  return Comment{id, Written::changed};
}

// Posts a comment. One that failed half-way may have been carried out all the same, so it is looked for before it is
// posted again. Returns what is there afterwards, never empty.
Result<std::vector<json>> post_comment(Api& api, std::int64_t issue, const std::string& first_line,
                                       const std::string& body) {
  for (int attempt = 1;; ++attempt) {
    auto posted = api.post("/issues/" + std::to_string(issue) + "/comments", {{"body", body}});
    if (!posted && posted.error().code != Code::away) return tl::unexpected<Error>(std::move(posted).error());
    if (posted) learn_author(api, *posted);
    NG_TRY(auto comments, our_comments(api, issue, first_line));
    if (!comments.empty()) return comments;
    if (posted) return std::vector<json>{std::move(*posted)};  // the list may lag behind
    if (attempt == most_posts) return tl::unexpected<Error>(std::move(posted).error());
    api.wait(std::chrono::seconds(1LL << attempt));
  }
}

Issue issue_from(const json& issue) {
  Issue out;
  out.number = number_of(issue, "number");
  out.open = text_of(issue, "state") != "closed";
  out.reason = text_of(issue, "state_reason");
  out.title = text_of(issue, "title");
  out.body = text_of(issue, "body");
  return out;
}

// As with comments: what a failed POST may have left is looked for before it is tried again.
Result<Issue> open_issue(Api& api, std::string_view key, const std::string& title, const std::string& body) {
  for (int attempt = 1;; ++attempt) {
    auto opened = api.post("/issues", {{"title", std::string(cut(title, 250))}, {"body", body}});
    if (!opened && opened.error().code != Code::away) return tl::unexpected<Error>(std::move(opened).error());
    Issue issue;
    if (opened) {
      learn_author(api, *opened);
      issue = issue_from(*opened);
    } else {
      NG_TRY(issue, find_issue(api, key));
    }
    issue.written = Written::created;
    if (issue.number != 0) return issue;
    if (opened) return fail(Code::bad_data, "GitHub opened an issue but did not say its number");
    if (attempt == most_posts) return tl::unexpected<Error>(std::move(opened).error());
    api.wait(std::chrono::seconds(1LL << attempt));
  }
}

}  // namespace

std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

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
  if (!comments.empty()) return settle(api, comments, body);
  NG_TRY(comments, post_comment(api, issue, first_line, body));
  NG_TRY(auto comment, settle(api, comments, body));
  comment.written = Written::created;
  return comment;
}

Result<bool> has_comment(Api& api, std::int64_t issue, std::string_view key) {
  NG_TRY(const auto comments, our_comments(api, issue, marker(key)));
  return !comments.empty();
}

Result<Issue> find_issue(Api& api, std::string_view key) {
  const auto first_line = marker(key);
  NG_TRY(const auto login, api.login());
  NG_TRY(const auto issues, api.list("/issues?state=all&creator=" + url_encode(login)));
  Issue found;
  for (const auto& issue : issues) {
    if (issue.contains("pull_request") || !ours(issue, login, first_line)) continue;
    const auto number = number_of(issue, "number");
    if (found.number != 0 && number >= found.number) continue;  // the oldest one is ours to keep
    found = issue_from(issue);
  }
  return found;
}

Result<Issue> get_issue(Api& api, std::int64_t number, std::string_view key) {
  const auto issue = api.get("/issues/" + std::to_string(number));
  if (!issue) {
    // Deleted (410 is bad_data) or moved away: as if it had never been.
    if (issue.error().code == Code::not_found || issue.error().code == Code::bad_data) return Issue{};
    return tl::unexpected<Error>(issue.error());
  }
  if (!issue->is_object() || text_of(*issue, "body").rfind(marker(key), 0) != 0) return Issue{};
  return issue_from(*issue);
}

Result<Issue> upsert_issue(Api& api, std::string_view key, const std::string& title, const std::string& markdown,
                           std::int64_t known) {
  const auto body = marker(key) + "\n" + markdown;
  Issue issue;
  if (known > 0) {
    NG_TRY(issue, get_issue(api, known, key));
  }
  if (issue.number == 0) {
    NG_TRY(issue, find_issue(api, key));
  }
  if (issue.number == 0) return open_issue(api, key, title, body);
  if (same_text(issue.body, body) && issue.title == cut(title, 250)) return issue;
  NG_CHECK(
      api.patch("/issues/" + std::to_string(issue.number), {{"title", std::string(cut(title, 250))}, {"body", body}}));
  issue.written = Written::changed;
  return issue;
}

Status set_issue_open(Api& api, std::int64_t number, IssueState state) {
  json body = {{"state", state == IssueState::open ? "open" : "closed"}};
  if (state != IssueState::open) body["state_reason"] = state == IssueState::completed ? "completed" : "not_planned";
  NG_CHECK(api.patch("/issues/" + std::to_string(number), body));
  return {};
}

Status set_status(Api& api, const std::string& commit, StatusState state, std::string_view context,
                  std::string_view description, const std::string& url) {
  constexpr const char* names[] = {"success", "failure", "error", "pending"};
  json body = {{"state", names[static_cast<int>(state)]},
               {"context", std::string(context)},
               {"description", std::string(cut(description, 140))}};
  if (!url.empty()) body["target_url"] = url;
  NG_CHECK(api.post("/statuses/" + commit, body));
  return {};
}

Result<std::int64_t> pull_request_of(Api& api, const std::string& head_commit, const HeadBranch& branch) {
  NG_TRY(const auto pulls, api.list("/commits/" + url_encode(head_commit) + "/pulls"));
  for (const auto& pull : pulls) {
    const auto head = pull.find("head");
    if (head == pull.end() || !head->is_object() || text_of(*head, "sha") != head_commit) continue;
    if (text_of(pull, "state") != "open") continue;
    if (!branch.name.empty() && text_of(*head, "ref") != branch.name) continue;
    const auto repository = head->find("repo");
    const bool known = repository != head->end() && repository->is_object();  // null: the fork was deleted
    if (!branch.repository.empty() && (!known || text_of(*repository, "full_name") != branch.repository)) continue;
    return number_of(pull, "number");
  }
  return std::int64_t{0};
}

Result<std::int64_t> merged_by(Api& api, const std::string& merge) {
  const auto pulls = api.list("/commits/" + url_encode(merge) + "/pulls");
  if (!pulls) {
    // 422: GitHub does not know the commit.
    if (pulls.error().code == Code::not_found || pulls.error().code == Code::bad_data) return std::int64_t{0};
    return tl::unexpected<Error>(pulls.error());
  }
  std::int64_t merged = 0;
  for (const auto& pull : *pulls) {
    if (text_of(pull, "merge_commit_sha") == merge) return number_of(pull, "number");
    if (merged == 0 && !text_of(pull, "merged_at").empty()) merged = number_of(pull, "number");
  }
  return merged;
}

}  // namespace nightgate::github
