// Network access of libgit2, in a child process that can be stopped.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "gate/base/files.hpp"
#include "gate/targets/base64.hpp"
#include "gate/targets/git.hpp"

namespace nightgate::targets::git {
namespace {

constexpr std::chrono::minutes deadline{15};

// Asked only after a refusal: over HTTP the token has gone along with the first request, so nothing better can be
// given.
int credentials(git_credential** out, const char* /*url*/, const char* user, unsigned allowed, void* payload) {
  auto* refused = static_cast<bool*>(payload);
  const bool again = std::exchange(*refused, true);
  if (!again && (allowed & unsigned{GIT_CREDENTIAL_SSH_KEY}) != 0) {
    return git_credential_ssh_key_from_agent(out, user != nullptr ? user : "git");
  }
  return GIT_EAUTH;
}

Status fetch_here(const std::string& path, const std::string& url, const std::string& token) {
  git_repository* raw = nullptr;
  if (git_repository_open_bare(&raw, path.c_str()) != 0 && git_repository_init(&raw, path.c_str(), 1) != 0) {
    return failure(Code::io, "could not make " + path);
  }
  const Repository repository(raw);
  git_remote* raw_remote = nullptr;
  if (git_remote_create_anonymous(&raw_remote, raw, url.c_str()) != 0)
    return failure(Code::usage, "\"" + url + "\" is no repository url");
  const Remote remote(raw_remote);
  git_fetch_options options{};
  git_fetch_options_init(&options, unsigned{GIT_FETCH_OPTIONS_VERSION});
  bool refused = false;
  options.callbacks.credentials = credentials;
  options.callbacks.payload = &refused;
  // Sent with the first request, not after a 401: libgit2 1.5 with the distribution's http-parser cannot read on after
  // a 401 that has a body. It must not follow us to another host then.
  std::string authorization = "Authorization: Basic " + base64("x-access-token:" + token);
  std::array<char*, 1> headers = {authorization.data()};
  if (!token.empty() && url.starts_with("http")) {
    options.custom_headers = {headers.data(), headers.size()};
    options.follow_redirects = GIT_REMOTE_REDIRECT_NONE;
  }
  options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_ALL;
  options.update_fetchhead = 0;
  std::array<char*, 2> specs = {const_cast<char*>("+refs/heads/*:refs/heads/*"),
                                const_cast<char*>("+refs/tags/*:refs/tags/*")};
  const git_strarray wanted = {specs.data(), specs.size()};
  if (git_remote_fetch(remote.get(), &wanted, &options, nullptr) == 0) return {};
  const std::string why = last_error();
  if (refused || why.find("401") != std::string::npos || why.find("403") != std::string::npos) {
    return fail(
        Code::denied,
        "fetching " + url + " was refused " +
            (token.empty() ? "without credentials; name the variable that holds a token in \"repository.token_env\""
                           : "with the token given; is it valid, and may it read this repository?"));
  }
  return fail(Code::away, "fetching " + url + " failed: " + why);
}

// Reads what the child says until it closes the pipe; false at the deadline.
bool read_all(int fd, std::string& text) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  std::array<char, 512> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd wait = {fd, POLLIN, 0};
    const int ready = left.count() > 0 ? ::poll(&wait, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0) return false;
    if (ready < 0) continue;  // a signal
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// The child's whole life: the first byte sent is the error's code, the rest its sentence; nothing when all went well.
[[noreturn]] void child(int fd, const std::string& path, const std::string& url, const std::string& token) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  const Status status = fetch_here(path, url, token);
  if (!status) {
    const std::string text =
        std::string(1, static_cast<char>('a' + static_cast<int>(status.error().code))) + status.error().message;
    if (::write(fd, text.data(), std::min<std::size_t>(text.size(), 4000)) < 0) ::_exit(2);
  }
  ::_exit(status ? 0 : 1);
}

}  // namespace

Status fetch_bare(const std::string& path, const std::string& url, const std::string& token) {
  start();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Code::io, "no pipe: " + errno_text(errno));
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(Code::io, "no child process: " + errno_text(errno));
  if (pid == 0) child(writing.get(), path, url, token);
  writing.reset();
  std::string text;
  const bool ended = read_all(reading.get(), text);
  if (!ended) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return fail(Code::away, "fetching " + url + " did not end within 15 minutes and was stopped");
  if (!text.empty()) return fail(static_cast<Code>(text.front() - 'a'), text.substr(1));
  if (status != 0) return fail(Code::away, "fetching " + url + " ended without a word");
  return {};
}

}  // namespace nightgate::targets::git
