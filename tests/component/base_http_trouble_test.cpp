// Servers that are away, slow, broken, or not to be trusted.
#include <chrono>

#include "gate/base/files.hpp"
#include "gate/base/http.hpp"
#include "gate/base/process.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/raw_server.hpp"

using namespace nightgate;
using namespace std::chrono_literals;
using test::HttpServer;
using test::RawServer;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Result<HttpResponse> send(const HttpRequest& request) { return make_http_client()->send(request); }

// What comes of a server that says this and hangs up.
Result<HttpResponse> answer_to(const std::string& text) {
  const RawServer server([&](int fd) { RawServer::say(fd, text); });
  REQUIRE(server.ok());
  return send({.url = server.url(), .timeout = 20s});
}

}  // namespace

TEST_CASE("nobody there is away", "[base]") {
  std::string url;
  {
    const RawServer gone([](int) {});
    url = gone.url();
  }
  const auto refused = send({.url = url});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::away);
  CHECK(has(refused.error().message, "127.0.0.1"));
  const auto unknown = send({.url = "http://no-such-host.invalid/"});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Code::away);
}

TEST_CASE("half a response is away, not a short success", "[base]") {
  const std::string text = GENERATE("", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
                                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nonly this",
                                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nonly\r\n");
  INFO(text);
  const auto response = answer_to(text);
  REQUIRE_FALSE(response);
  CHECK(response.error().code == Code::away);
}

TEST_CASE("what is not HTTP is bad data", "[base]") {
  const std::string text = GENERATE("SSH-2.0-OpenSSH_9.2\r\n", "\x15\x03\x01\x00\x02\x02\x46", "{\"a\":1}\n",
                                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd");
  INFO(text);
  const auto response = answer_to(text);
  REQUIRE_FALSE(response);
  CHECK(response.error().code == Code::bad_data);
}

TEST_CASE("headers without end are bad data", "[base]") {
  const RawServer server([&](int fd) {
    if (!RawServer::say(fd, "HTTP/1.1 200 OK\r\n")) return;
    for (int i = 0; i < 100'000; ++i) {
      if (!RawServer::say(fd, "X-More: " + std::string(100, 'x') + "\r\n")) return;
    }
  });
  const auto response = send({.url = server.url(), .timeout = 20s});
  REQUIRE_FALSE(response);
  CHECK(response.error().code == Code::bad_data);
}

TEST_CASE("only the headers of the last answer count", "[base]") {
  const auto response = answer_to(
      "HTTP/1.1 100 Continue\r\nX-First: 1\r\n\r\nHTTP/1.1 201 Created\r\nX-Last:  2 \r\nContent-Length: 0\r\n\r\n");
  REQUIRE(response);
  CHECK(response->status == 201);
  CHECK(response->header("x-last") == "2");
  CHECK_FALSE(response->header("x-first"));
}

TEST_CASE("headers are sent as given, empty ones too, and none that nobody asked for", "[base]") {
  RawServer* self = nullptr;
  RawServer server([&](int fd) { RawServer::say(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + self->head()); });
  self = &server;
  const auto response =
      send({.method = "POST", .url = server.url("/a?b"), .headers = {{"X-Empty", ""}, {"X-B", "c: d"}}});
  REQUIRE(response);
  const auto port = server.url("").substr(std::string("http://").size());
  CHECK(has(response->body, "POST /a?b HTTP/1.1\r\nHost: " + port + "\r\nUser-Agent: nightgate\r\nAccept: */*\r\n"));
  CHECK(has(response->body, "\r\nX-Empty:\r\nX-B: c: d\r\n"));
  CHECK(has(response->body, "\r\nContent-Length: 0\r\n"));
  CHECK_FALSE(has(response->body, "Content-Type"));
  CHECK_FALSE(has(response->body, "Expect"));
}

TEST_CASE("a slow server does not hold us beyond the time-out", "[base]") {
  const bool says_something = GENERATE(false, true);
  const RawServer* self = nullptr;
  const RawServer server([&](int fd) {
    if (says_something && !RawServer::say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")) return;
    while (self == nullptr || !self->stopping()) {
      if (says_something && !RawServer::say(fd, "x")) return;
      std::this_thread::sleep_for(20ms);
    }
  });
  self = &server;
  const auto begin = std::chrono::steady_clock::now();
  const auto response = send({.url = server.url(), .timeout = 300ms});
  REQUIRE_FALSE(response);
  CHECK(response.error().code == Code::away);
  CHECK(std::chrono::steady_clock::now() - begin >= 290ms);
  CHECK(has(response.error().message, "timed out"));
}

TEST_CASE("the time-out covers all redirects together", "[base]") {
  HttpServer<> server;
  server.server().Get(R"(/(\d+))", [](const auto& request, auto& response) {
    std::this_thread::sleep_for(150ms);
    response.set_redirect("/" + std::to_string(std::stoi(request.matches[1]) + 1));
  });
  REQUIRE(server.start());
  const auto response = send({.url = server.url("/1"), .timeout = 400ms, .follow_redirects = true});
  REQUIRE_FALSE(response);
  CHECK(response.error().code == Code::away);  // and not "more than 5 redirects"
}

TEST_CASE("connections are kept, and one that died meanwhile is made anew", "[base]") {
  RawServer* self = nullptr;
  RawServer keeps([&](int fd) {
    for (int i = 0; i < 3; ++i) {
      if (!RawServer::say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")) return;
      if (self->read_head(fd).empty()) return;
    }
  });
  self = &keeps;
  const auto client = make_http_client();
  for (int i = 0; i < 5; ++i) CHECK(client->send({.url = keeps.url(), .timeout = 20s}).value().body == "ok");
  CHECK(keeps.connections() < 5);
}

TEST_CASE("TLS: only who is known is trusted", "[base]") {
  if (!find_program("openssl")) NG_SKIP("no openssl program to make a certificate with");
  const auto dir = TempDir::make("ng-test").value();
  const auto key = (dir.path() / "key.pem").string();
  const auto certificate = (dir.path() / "cert.pem").string();
  const auto made = run({.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                                  "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                                  "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"}},
                        60s);
  REQUIRE(made);
  REQUIRE(made->ok());
  HttpServer<httplib::SSLServer> server(certificate.c_str(), key.c_str());
  HttpServer<> plain;
  plain.server().Get("/", [](const auto&, auto& response) { response.set_content("open", "text/plain"); });
  REQUIRE(plain.start());
  server.server().Get("/", [](const auto&, auto& response) { response.set_content("safe", "text/plain"); });
  server.server().Get("/down", [&](const auto&, auto& response) { response.set_redirect(plain.url()); });
  REQUIRE(server.start());
  const auto url = "https://localhost:" + std::to_string(server.port());

  const auto client = make_http_client();
  CHECK(client->send({.url = url, .ca_file = certificate}).value().body == "safe");
  const auto unknown = client->send({.url = url});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Code::denied);
  CHECK(client->send({.url = url, .verify = false}).value().body == "safe");
  // Trusted once without a check does not mean trusted.
  CHECK(client->send({.url = url}).error().code == Code::denied);
  // The right certificate for another name.
  CHECK(client->send({.url = server.url("/", "https"), .ca_file = certificate}).error().code == Code::denied);
  CHECK(client->send({.url = url, .ca_file = "/no/such/file"}).error().code == Code::denied);
  // From encrypted to plain.
  const auto down = client->send({.url = url + "/down", .ca_file = certificate, .follow_redirects = true});
  REQUIRE_FALSE(down);
  CHECK(down.error().code == Code::denied);
  CHECK(plain.seen().empty());
  // TLS spoken to one who does not.
  CHECK(client->send({.url = "https://localhost:" + std::to_string(plain.port())}).error().code == Code::denied);
}
