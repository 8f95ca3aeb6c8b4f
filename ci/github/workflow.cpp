#include "ci/github/workflow.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/base/log.hpp"

namespace nightgate::github {
namespace {

using nlohmann::json;

constexpr std::size_t most_message = 1000;  // the runner cuts at 4096

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string percent_encoded(std::string_view text, std::string_view what) {
  std::string out;
  for (const char c : text) {
    if (what.find(c) == std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

const json* member(const json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto at = object->find(key);
  return at == object->end() ? nullptr : &*at;
}
std::string text_of(const json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}
std::int64_t number_of(const json* value) {
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

}  // namespace

Runner runner_from_environment() {
  Runner out;
  out.actions = environment("GITHUB_ACTIONS") == "true";
  out.output = environment("GITHUB_OUTPUT");
  out.summary = environment("GITHUB_STEP_SUMMARY");
  out.event = environment("GITHUB_EVENT_PATH");
  out.event_name = environment("GITHUB_EVENT_NAME");
  out.repository = environment("GITHUB_REPOSITORY");
  out.api = environment("GITHUB_API_URL");
  if (out.api.empty()) out.api = "https://api.github.com";
  while (out.api.back() == '/') out.api.pop_back();
  out.server = environment("GITHUB_SERVER_URL");
  out.run_id = environment("GITHUB_RUN_ID");
  out.token = environment("NIGHTGATE_TOKEN");
  if (out.token.empty()) out.token = environment("GITHUB_TOKEN");
  log::hide(out.token);
  return out;
}

std::string workflow_command(const Annotation& annotation) {
  constexpr std::string_view names[] = {"error", "warning", "notice"};
  return fmt::format("::{} title={}::{}\n", names[static_cast<std::size_t>(annotation.level)],
                     percent_encoded(cut(annotation.title, 200), "%\r\n:,"),
                     percent_encoded(cut(annotation.message, most_message), "%\r\n"));
}

std::string annotations_text(const std::vector<Annotation>& annotations) {
  std::string out;
  for (std::size_t i = 0; i < annotations.size() && i < most_annotations; ++i) out += workflow_command(annotations[i]);
  if (annotations.size() > most_annotations) {
    out += workflow_command({annotations[most_annotations].level, "nightgate",
                             fmt::format("and {} more: see the summary", annotations.size() - most_annotations)});
  }
  return out;
}

Status append_to(const fs::path& file, std::string_view text) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return fail(Code::io, "cannot open " + file.string() + ": " + errno_text(errno));
  while (!text.empty()) {
    const auto n = ::write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(Code::io, "cannot write " + file.string() + ": " + errno_text(errno));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status write_outputs(const fs::path& file, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string out;
  for (const auto& [name, value] : values) {
    const auto delimiter = "nightgate_" + make_uuid();
    if (value.find(delimiter) != std::string::npos) return fail(Code::internal, "a random delimiter was guessed");
    out += name + "<<" + delimiter + "\n" + value + "\n" + delimiter + "\n";
  }
  return append_to(file, out);
}

std::size_t summary_room(const fs::path& file) {
  std::error_code error;
  const auto used = fs::file_size(file, error);
  if (error) return summary_bytes;
  return used >= summary_bytes ? 0 : summary_bytes - static_cast<std::size_t>(used);
}

Result<Event> read_event(const Runner& runner) {
  Event out;
  if (runner.event.empty()) return out;
  NG_TRY(const auto text, read_file(runner.event, 32U << 20U));
  auto parsed = parse_json(text, {32U << 20U, 64, false});
  if (!parsed) return with_context(std::move(parsed).error(), "reading the event " + runner.event.string());
  const json& payload = *parsed;
  if (runner.event_name == "pull_request" || runner.event_name == "pull_request_target") {
    const auto* pull = member(&payload, "pull_request");
    const auto* head = member(pull, "head");
    out.pull_request = number_of(member(pull, "number"));
    out.head_sha = text_of(member(head, "sha"));
    const auto there = text_of(member(member(head, "repo"), "full_name"));
    out.fork = there != text_of(member(member(member(pull, "base"), "repo"), "full_name"));
  } else if (runner.event_name == "workflow_run") {
    const auto* run = member(&payload, "workflow_run");
    out.head_sha = text_of(member(run, "head_sha"));
    out.head = {text_of(member(member(run, "head_repository"), "full_name")), text_of(member(run, "head_branch"))};
    out.run = number_of(member(run, "id"));
  }
  return out;
}

}  // namespace nightgate::github
