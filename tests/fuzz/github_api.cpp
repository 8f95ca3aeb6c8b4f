// needs: ng_formats ng_config ng_base ci/github/api.cpp ci/github/comments.cpp ci/github/workflow.cpp
// Any bytes as what GitHub answers while a comment and an issue are brought up to date, and as an event's payload.
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "ci/github/comments.hpp"
#include "ci/github/workflow.hpp"
#include "gate/base/log.hpp"
#include "tests/fuzz/scripted.hpp"

using namespace nightgate;
using fuzz::require;

namespace {
template <class T>
void check(const Result<T>& result) {
  if (result) return;
  require(!result.error().message.empty(), "an error has a text");
  require(result.error().text().find("canary-secret") == std::string::npos, "no secret in an error");
}

void read_payload(std::string_view text) {
  static const fs::path file = "/tmp/ng-fuzz-event-" + std::to_string(::getpid());
  static const Defer removed([] {
    std::error_code none;
    fs::remove(file, none);
  });
  if (!write_file(file, text)) return;
  github::Runner runner;
  runner.event = file;
  for (const char* name : {"pull_request", "workflow_run", "push"}) {
    runner.event_name = name;
    const auto event = github::read_event(runner);
    check(event);
    if (event) require(event->pull_request >= 0 && event->run >= 0, "numbers of things are no less than none");
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = (log::set_level(log::Level::error), true);
  static_cast<void>(quiet);
  if (size == 0) return 0;
  const auto text = fuzz::text_of(data + 1, size - 1);
  if (text.find("canary") != std::string::npos) return 0;  // the other side says it itself: not our leak
  if (data[0] % 8 == 0) {
    read_payload(text);
    return 0;
  }
  fuzz::ScriptedClient client(text);
  fuzz::FakeClock clock;
  github::Account account;
  account.repository = "o/r";
  account.token = "canary-secret";
  github::Api api(client, clock, account);
  switch (data[0] % 4) {
    case 0:
      check(github::upsert_comment(api, 7, "gate", "text"));
      break;
    case 1:
      check(github::upsert_issue(api, "trip-1", "title", "text", data[0] % 3));
      break;
    case 2:
      check(github::find_issue(api, "trip-1"));
      break;
    default:
      check(api.list("/issues"));
      check(api.login());
  }
  return 0;
}
