// The socket is taken once a process, so each of these runs in a child.
#include "gate/base/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gate/base/files.hpp"
#include "gate/base/log.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

namespace {

// A socket as the service manager has one; `name` as in NOTIFY_SOCKET.
class Manager {
 public:
  explicit Manager(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(name.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::bind(fd_.get(), static_cast<const sockaddr*>(static_cast<const void*>(&address)), length) == 0);
  }
  std::vector<std::string> heard() {
    std::vector<std::string> out;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::recv(fd_.get(), buffer, sizeof buffer, 0)) >= 0;) {
      out.emplace_back(buffer, static_cast<std::size_t>(n));
    }
    return out;
  }

 private:
  Fd fd_;
};

int in_child(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

int speak(const std::string& socket) {
  return in_child([&] {
    ::setenv("NOTIFY_SOCKET", socket.c_str(), 1);
    notify::take_socket();
    log::hide("hunter");
    notify::status("one");
    notify::status("two\nMAINPID=1 hunter");
    return ::getenv("NOTIFY_SOCKET") == nullptr;  // a broker must not speak in our name
  });
}

}  // namespace

TEST_CASE("the status goes to the manager's socket, by path and by abstract name", "[base]") {
  const auto dir = TempDir::make("ng-notify").value();
  const bool abstract = GENERATE(false, true);
  const auto name = abstract ? "@nightgate-test-" + std::to_string(::getpid()) : dir.path().string() + "/socket";
  Manager manager(name);
  CHECK(speak(name) == 0);
  CHECK(manager.heard() == std::vector<std::string>{"STATUS=one", "STATUS=two MAINPID=1 ***"});
}

TEST_CASE("without a manager nothing is said, and nothing fails", "[base]") {
  for (const auto& odd : {std::string("/nonexistent/socket"), std::string("relative"), std::string("@"), std::string(),
                          std::string("/") + std::string(200, 'x'), std::string("vsock:2:1234")}) {
    INFO(odd);
    CHECK(speak(odd) == 0);
  }
  CHECK(in_child([] {
          ::unsetenv("NOTIFY_SOCKET");
          notify::take_socket();
          notify::status("x");
          return true;
        }) == 0);
}

TEST_CASE("a manager that does not read keeps nobody waiting", "[base]") {
  const auto dir = TempDir::make("ng-notify").value();
  const auto name = dir.path().string() + "/socket";
  Manager manager(name);
  CHECK(in_child([&] {
          ::alarm(20);  // its default action ends a child that waits
          ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
          notify::take_socket();
          for (int i = 0; i < 10000; ++i) notify::status("more and more");
          return true;
        }) == 0);
  CHECK(manager.heard().size() < 10000);
}
