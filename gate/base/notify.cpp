#include "gate/base/notify.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gate/base/files.hpp"
#include "gate/base/log.hpp"

namespace nightgate::notify {
namespace {

Fd& own_socket() {
  static Fd fd;
  return fd;
}

Fd connected(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() < 2 || name.size() >= sizeof address.sun_path || (name[0] != '/' && name[0] != '@')) return Fd{};
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // An abstract name has no end of its own: the length says how much of it counts.
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (!fd || ::connect(fd.get(), static_cast<const sockaddr*>(static_cast<const void*>(&address)), length) != 0) {
    return Fd{};
  }
  return fd;
}

}  // namespace

bool stderr_is_journal() {
  const char* value = std::getenv("JOURNAL_STREAM");
  if (value == nullptr) return false;
  const std::string_view text(value);
  const auto colon = text.find(':');
  struct stat info {};
  if (colon == std::string_view::npos || ::fstat(2, &info) != 0) return false;
  const auto is = [](std::string_view digits, auto expected) {
    decltype(expected) number{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc{} && end == digits.data() + digits.size() && number == expected;
  };
  return is(text.substr(0, colon), info.st_dev) && is(text.substr(colon + 1), info.st_ino);
}

void take_socket() {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr) return;
  own_socket() = connected(name);
  ::unsetenv("NOTIFY_SOCKET");
}

void status(std::string_view line) {
  if (!own_socket()) return;
  std::string text = "STATUS=" + log::redact(line);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // a line break would begin another assignment
  }
  [[maybe_unused]] const auto sent = ::send(own_socket().get(), text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace nightgate::notify
