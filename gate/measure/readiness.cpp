#include "gate/measure/readiness.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>

#include "gate/base/log.hpp"

namespace nightgate::measure {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{5};
constexpr milliseconds longest_pause{100};
constexpr milliseconds probe_timeout{2000};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Empty when it answered, else what went wrong.
std::string try_tcp(int port) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // sockaddr is the type the socket calls take for every family.
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  return errno_text(errno);
}

std::string try_http(const config::Node& node, HttpClient& client, const Names& names) {
  auto options = options_for(node);
  options.timeout = probe_timeout;
  const auto response = expect_call(client, node.ready.http, names, options);
  return response ? std::string() : response.error().message;
}

std::string try_command(const config::Node& node, const Names& names) {
  Command command;
  auto argv = names.expand(node.ready.command);
  if (!argv) return argv.error().message;
  command.argv = *std::move(argv);
  const auto output = run(command, std::chrono::seconds(10), 65536);
  if (!output) return output.error().message;
  return output->ok() ? std::string() : ending_text(output->ending) + ": " + body_start(output->err + output->out);
}

std::string try_probe(const config::Node& node, HttpClient& client, const Names& names) {
  using Kind = config::Readiness::Kind;
  switch (node.ready.kind) {
    case Kind::http:
      return try_http(node, client, names);
    case Kind::tcp:
      return node.port == 0 ? std::string() : try_tcp(node.port);
    case Kind::command:
      return try_command(node, names);
  }
  return {};
}

}  // namespace

CallOptions options_for(const config::Node& node) {
  CallOptions options;
  options.base_url = url_of(node);
  options.ca_file = node.ready.ca_file;
  options.verify_tls = node.ready.verify_tls;
  return options;
}

Status wait_ready(RunningNode& node, HttpClient& client, const Names& names, Clock& clock, const StopFlag& stop) {
  const auto deadline = clock.monotonic() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                std::chrono::duration<double>(node.node().ready.deadline_seconds));
  std::string last;
  for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    if (stop && stop()) return fail(Code::measure, "stopped on request while " + node.text() + " was starting");
    NG_CHECK(node.alive());
    last = try_probe(node.node(), client, names);
    if (last.empty()) break;
    if (clock.monotonic() > deadline) {
      return fail(Code::measure, fmt::format("{} was not ready within {} s ({}){}", node.text(),
                                             node.node().ready.deadline_seconds, last, log_note(node.log_tail())));
    }
    clock.sleep_for(pause);
  }
  NG_CHECK(node.alive());
  return node.listens_itself();
}

bool same_commit(std::string_view a, std::string_view b) {
  const auto length = std::min(a.size(), b.size());
  return length >= 7 && lower(a.substr(0, length)) == lower(b.substr(0, length));
}

bool is_debug_build(std::string_view build_type) { return lower(build_type).find("debug") != std::string::npos; }

Status check_identity(const config::Node& node, HttpClient& client, const Names& names, const targets::Target& target) {
  const auto& identity = node.identity;
  if (identity.get.url.empty()) return {};
  const auto doing = fmt::format("asking the broker '{}' what it is", node.name);
  auto response = expect_call(client, identity.get, names, options_for(node));
  if (!response) return with_context(std::move(response).error(), doing);
  if (!identity.commit.empty() && !target.commit.empty()) {
    auto commit = text_at(*response, identity.commit);
    if (!commit) return with_context(std::move(commit).error(), doing);
    if (!same_commit(*commit, target.commit)) {
      return fail(Code::measure, fmt::format("the broker '{}' says it is commit {}, asked for was {}; its target is "
                                             "stale or wrongly labelled",
                                             node.name, body_start(*commit), target.commit));
    }
  }
  if (!identity.build_type.empty()) {
    auto build = text_at(*response, identity.build_type);
    if (!build) return with_context(std::move(build).error(), doing);
    if (is_debug_build(*build)) {
      return fail(Code::measure, fmt::format("the broker '{}' says it is a debug build ('{}'); its numbers would say "
                                             "nothing about the released one",
                                             node.name, body_start(*build)));
    }
  }
  return {};
}

Status check_label(targets::Engine& engine, const targets::Target& target) {
  const auto* image = std::get_if<targets::ImageTarget>(&target.form);
  if (image == nullptr || target.commit.empty()) return {};
  NG_TRY(const auto info, engine.image(image->reference));
  const auto label = info.labels.find("org.opencontainers.image.revision");
  if (label == info.labels.end()) {
    log::debug(fmt::format("image {} has no org.opencontainers.image.revision label", image->reference));
    return {};
  }
  if (same_commit(label->second, target.commit)) return {};
  return fail(Code::measure, fmt::format("image {} is labelled as commit {}, asked for was {}", image->reference,
                                         body_start(label->second), target.commit));
}

}  // namespace nightgate::measure
