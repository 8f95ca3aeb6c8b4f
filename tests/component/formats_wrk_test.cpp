// The hook under the real wrk, against a small server that knows how many answers of each status it gave.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "gate/base/process.hpp"
#include "gate/formats/wrk.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::formats;
using nightgate::test::Contains;

namespace {

// One thread per connection. /mixed: every tenth answer a 409, every hundredth a 204, else 200; /created: 201.
class Server {
 public:
  Server() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener_, plain, size) == 0);
    REQUIRE(::listen(listener_, 64) == 0);
    REQUIRE(::getsockname(listener_, plain, &size) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    for (auto& thread : threads_) thread.join();
  }
  [[nodiscard]] std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  [[nodiscard]] std::uint64_t sent(int status) const { return sent_.at(static_cast<std::size_t>(status)); }
  [[nodiscard]] std::uint64_t posts() const { return posts_; }

 private:
  void accept_all() {
    for (;;) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      const int on = 1;
      ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      threads_.emplace_back([this, connection] { serve(connection); });
    }
  }

  void serve(int connection) {
    std::string pending;
    std::array<char, 4096> buffer{};
    for (;;) {
      const auto got = ::recv(connection, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      pending.append(buffer.data(), static_cast<std::size_t>(got));
      for (auto end = pending.find("\r\n\r\n"); end != std::string::npos; end = pending.find("\r\n\r\n")) {
        answer(connection, pending.substr(0, end));
        pending.erase(0, end + 4);
      }
    }
    ::close(connection);
  }

  void answer(int connection, const std::string& request) {
    int status = 200;
    const auto n = ++served_;
    if (request.find(" /mixed") != std::string::npos) status = n % 10 == 0 ? 409 : n % 100 == 1 ? 204 : 200;
    if (request.find(" /created") != std::string::npos) status = 201;
    if (request.rfind("POST", 0) == 0) ++posts_;
    const std::string text = "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: text/plain\r\n" +
                             (status == 204 ? "\r\n" : "Content-Length: 2\r\n\r\nok");
    ++sent_.at(static_cast<std::size_t>(status));
    [[maybe_unused]] const auto written = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
  }

  int listener_ = -1;
  int port_ = 0;
  std::atomic<std::uint64_t> served_{0}, posts_{0};
  std::array<std::atomic<std::uint64_t>, 600> sent_{};
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

class Folder {
 public:
  Folder() {
    std::string pattern = "/tmp/ng-wrk-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    std::ofstream(file) << text;
    return file.string();
  }

 private:
  fs::path path_;
};

constexpr std::uint64_t kConnections = 6;

Output wrk(const std::string& script, const std::string& url) {
  const auto output = run({.argv = {"wrk", "-t2", "-c" + std::to_string(kConnections), "-d1s", "-s", script, url},
                           .environment = {},
                           .clear_environment = false,
                           .directory = {},
                           .cpus = {},
                           .user = {},
                           .input = {}},
                          std::chrono::seconds(20));
  REQUIRE(output.has_value());
  INFO(output->out << output->err);
  REQUIRE(output->ok());
  return *output;
}

}  // namespace

TEST_CASE("wrk: unexpected statuses are counted over all threads", "[formats]") {
  if (!find_program("wrk")) NG_SKIP("wrk is not installed");
  const Folder folder;
  Server server;
  const auto output = wrk(folder.write("hook.lua", wrk_script({})), server.url("/mixed"));
  const auto result = parse_wrk(output.out);
  INFO(output.out << output.err);
  REQUIRE(result.has_value());
  CHECK(result->counted);
  std::uint64_t seen = 0;
  for (const auto& [status, count] : result->statuses) {
    INFO(status);
    seen += count;
    CHECK(count <= server.sent(status));  // what was still under way at the end is not in wrk's count
    CHECK(count + kConnections >= server.sent(status));
  }
  CHECK(seen == result->requests);
  CHECK(result->statuses.size() == 3);
  CHECK(result->unexpected == result->statuses.at(409));
  CHECK(result->unexpected == result->errors.status);
  CHECK(result->p50 > 0);
  CHECK(result->p99 >= result->p50);
  CHECK(result->max >= result->p99);
  REQUIRE(wrk_complaint(*result).has_value());
  CHECK_THAT(*wrk_complaint(*result), Contains("409"));
}

TEST_CASE("wrk: a 200 is unexpected where only 201 counts; without counting only statuses above 399 are", "[formats]") {
  if (!find_program("wrk")) NG_SKIP("wrk is not installed");
  const Folder folder;
  Server server;
  const auto strict =
      parse_wrk(wrk(folder.write("a.lua", wrk_script({.script = "", .expect = {201}, .count_statuses = true})),
                    server.url("/plain"))
                    .out);
  REQUIRE(strict.has_value());
  CHECK(strict->unexpected == strict->requests);
  CHECK(wrk_complaint(*strict).has_value());
  const auto cheap =
      parse_wrk(wrk(folder.write("b.lua", wrk_script({.script = "", .expect = {201}, .count_statuses = false})),
                    server.url("/created"))
                    .out);
  REQUIRE(cheap.has_value());
  CHECK_FALSE(cheap->counted);
  CHECK_FALSE(wrk_complaint(*cheap).has_value());
  const auto errors =
      parse_wrk(wrk(folder.write("c.lua", wrk_script({.script = "", .expect = {}, .count_statuses = false})),
                    server.url("/mixed"))
                    .out);
  REQUIRE(errors.has_value());
  CHECK(errors->unexpected > 0);
  CHECK(errors->unexpected <= server.sent(409));
}

TEST_CASE("wrk: a user's script keeps all its functions", "[formats]") {
  if (!find_program("wrk")) NG_SKIP("wrk is not installed");
  const Folder folder;
  const auto script = folder.write("user \"1\".lua", R"lua(
local number = 0
function setup(thread) number = number + 1; thread:set('id', number) end
function init(args)
  wrk.method = 'POST'
  response = function(status, headers, body) answered = (answered or 0) + #body end
end
function request() return wrk.format(nil, '/plain?' .. id) end
function done(summary, latency, requests) io.write('user saw ', summary.requests, ' and ', number, ' threads\n') end
)lua");
  Server server;
  const auto output =
      wrk(folder.write("hook.lua", wrk_script({.script = script, .expect = {}, .count_statuses = false})),
          server.url("/mixed"));
  INFO(output.out << output.err);
  const auto result = parse_wrk(output.out);
  REQUIRE(result.has_value());
  CHECK_THAT(output.out, Contains("user saw") && Contains("and 2 threads"));
  CHECK(result->counted);  // the user pays for response() already
  CHECK(result->statuses.size() == 1);
  CHECK(result->statuses.at(200) == result->requests);
  CHECK(server.posts() >= result->requests);
}

TEST_CASE("wrk: a user's script with an error yields no figure", "[formats]") {
  if (!find_program("wrk")) NG_SKIP("wrk is not installed");
  const Folder folder;
  Server server;
  const std::array<std::pair<std::string, std::string>, 3> broken = {
      {{"function request( return end", "expected"},
       {"error('no \"fixture\"\\n here')", "no \"fixture\" here"},
       {"function done() local a = nil; a.b = 1 end", "done"}}};
  for (const auto& [text, message] : broken) {
    INFO(text);
    const auto script = folder.write("user.lua", text);
    const auto output =
        wrk(folder.write("hook.lua", wrk_script({.script = script, .expect = {}, .count_statuses = true})),
            server.url("/plain"));
    INFO(output.out << output.err);
    const auto result = parse_wrk(output.out);
    REQUIRE_FALSE(result.has_value());
    CHECK_THAT(result.error().message, Contains("script failed"));
    if (message != "done") CHECK_THAT(result.error().message, Contains(message));
  }
  const auto missing = parse_wrk(
      wrk(folder.write("hook.lua", wrk_script({.script = "/no/such.lua", .expect = {}, .count_statuses = true})),
          server.url("/plain"))
          .out);
  REQUIRE_FALSE(missing.has_value());
  CHECK_THAT(missing.error().message, Contains("/no/such.lua"));
}
