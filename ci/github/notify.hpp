// Telling people about trips outside the terminal: one issue per trip group, one comment on the culprit's pull request,
// a commit status on the culprit, a webhook and a command. Everything goes through the store's outbox: what can't be
// delivered is kept there and tried again at the next run, and what was delivered is not sent again.
//
//   put_trip(), put_message() ...  what is to be true outside, written into the outbox (no network)
//   deliver()                      carries out what is pending
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ci/github/comments.hpp"
#include "store/store.hpp"

namespace nightgate::github {

// Where to tell. A part that is absent is not used, and nothing is put into the outbox for it.
struct Channels {
  std::optional<Account> github;
  std::string webhook;            // URL; a secret
  std::vector<std::string> hook;  // command that gets the JSON on stdin
  [[nodiscard]] bool any() const { return github || !webhook.empty() || !hook.empty(); }
};
// From the config and the environment. A missing token or variable is a complaint in `trouble`, not an error: the other
// channels still work.
[[nodiscard]] Channels channels_from(const config::Report& config, std::vector<std::string>& trouble);

enum class TripNewsState { open, recovered, accepted, withdrawn };
[[nodiscard]] TripNewsState state_of(const store::TripGroup& group);

// A trip group as of tonight. Texts are rendered by the caller; Markdown is safe already.
struct TripNews {
  store::TripGroup group;
  TripNewsState state = TripNewsState::open;
  std::string title;     // plain text, one line
  std::string markdown;  // the issue's text
  std::string closing;   // Markdown of the comment that closes the issue; the numbers
  std::string sentence;  // plain text for chats: what fell, by how much, or that it recovered
  // Where a culprit was named:
  std::string culprit;           // commit
  std::string culprit_sentence;  // plain text
  std::string culprit_comment;   // Markdown for its pull request
};
// Puts what the news amount to. `earlier`: other groups of the project (an issue that was closed because its metric
// recovered is opened again when the same metric falls within `comes_back_nights`).
inline constexpr std::int64_t comes_back_nights = 30;
[[nodiscard]] Status put_trip(store::Store& store, const Channels& channels, const TripNews& news,
                              const std::vector<store::TripGroup>& earlier, Instant now);

// A message for the webhook and the command, once per key: a second one with the same key is not put.
struct Message {
  std::string project, machine, key;
  std::string event;     // "trip", "culprit", "recovered", "accepted", "withdrawn", "no_night", "night_back"
  std::string sentence;  // plain text
  std::string details;   // JSON object, or empty
};
[[nodiscard]] Status put_message(store::Store& store, const Channels& channels, const Message& message, Instant now);
// The JSON that the webhook and the command get ("nightgate-event/1"); `text` is what Slack and the like show.
[[nodiscard]] std::string event_document(const Message& message, Instant now);
// At once and without the outbox, for when there is no store; the last error, if any.
[[nodiscard]] Status send_now(const Channels& channels, HttpClient& http, const Message& message, Instant now);
// An issue that is not about a trip, kept under a key of its own ("watch-bench1").
[[nodiscard]] Status put_issue(store::Store& store, const Channels& channels, const std::string& project,
                               const std::string& key, const std::string& title, const std::string& markdown,
                               const std::string& closing, bool open, Instant now);
// A commit status under the context "nightgate/<project>[/<part>]".
[[nodiscard]] Status put_status(store::Store& store, const Channels& channels, const std::string& project,
                                const std::string& key, const std::string& commit, StatusState state,
                                const std::string& part, const std::string& description, Instant now);

struct Delivered {
  int sent = 0, kept = 0, dropped = 0;
  std::vector<std::string> complaints;  // one sentence each, without secrets
};
// Tries everything pending of the project once. Errors are the store's only.
[[nodiscard]] Result<Delivered> deliver(store::Store& store, const Channels& channels, HttpClient& http, Clock& clock,
                                        const std::string& project);

}  // namespace nightgate::github
