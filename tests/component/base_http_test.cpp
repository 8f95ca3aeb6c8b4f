#include <cstdlib>

#include "gate/base/files.hpp"
#include "gate/base/http.hpp"
#include "gate/base/process.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/http_server.hpp"

using namespace nightgate;
using namespace std::chrono_literals;
using test::HttpServer;

namespace {

HttpRequest get(std::string url) { return {.url = std::move(url)}; }

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Result<HttpResponse> send(const HttpRequest& request) { return make_http_client()->send(request); }

HttpResponse must_send(const HttpRequest& request) {
  auto response = send(request);
  INFO((response ? std::string() : response.error().text()));
  REQUIRE(response);
  return std::move(*response);
}

void redirect_to(httplib::Response& response, int status, const std::string& target) {
  response.status = status;
  response.set_header("Location", target);
  response.set_content("moved", "text/plain");
}

}  // namespace

TEST_CASE("a response comes back whole, of any status", "[base]") {
  HttpServer<> server;
  server.server().Get("/ok", [](const auto&, auto& response) {
    response.set_header("X-Two", "a");
    response.set_header("X-Two", "b");
    response.set_header("X-Empty", "");
    response.set_content(std::string("x\0y", 3), "text/plain");
  });
  server.server().Get("/error", [](const auto&, auto& response) {
    response.status = 503;
    response.set_content("why", "text/plain");
  });
  REQUIRE(server.start());
  const auto ok = must_send(get(server.url("/ok?a=b%20c")));
  CHECK(ok.status == 200);
  CHECK(ok.body == std::string("x\0y", 3));
  CHECK(ok.header("content-type") == "text/plain");
  CHECK(ok.header("x-two") == "a");
  CHECK(ok.header("x-empty") == "");
  CHECK_FALSE(ok.header("x-none"));
  CHECK(server.seen().front().path == "/ok?a=b%20c");
  const auto error = must_send(get(server.url("/error")));
  CHECK(error.status == 503);
  CHECK(error.body == "why");
  CHECK(must_send(get(server.url("/none"))).status == 404);
}

TEST_CASE("method, headers and body arrive as given", "[base]") {
  HttpServer<> server;
  const auto echo = [](const httplib::Request& request, httplib::Response& response) {
    response.set_content(request.body, "application/octet-stream");
  };
  server.server().Post("/", echo).Put("/", echo).Patch("/", echo).Delete("/", echo).Get("/", echo);
  REQUIRE(server.start());
  const std::string method = GENERATE("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE");
  const std::string body = GENERATE("", "{\"a\":1}");
  if ((method == "GET" || method == "HEAD") && !body.empty()) return;
  HttpRequest request{.method = method, .url = server.url(), .headers = {{"X-Mine", "1"}}, .body = body};
  const auto client = make_http_client();
  for (int i = 0; i < 3; ++i) {  // the same connection, and nothing left over from the time before
    const auto response = client->send(request).value();
    CHECK(response.status == 200);
    CHECK(response.body == body);
  }
  const auto seen = server.seen().back();
  CHECK(seen.method == method);
  CHECK(seen.header("X-Mine") == "1");
  CHECK(seen.header("User-Agent") == "nightgate");
  CHECK(seen.headers.count("Content-Type") == 0);
  CHECK(seen.headers.count("Expect") == 0);
  CHECK(client->send(get(server.url())).value().status == 200);
  CHECK(server.seen().back().headers.count("X-Mine") == 0);
}

TEST_CASE("a compressed answer is undone, and its cap counts what comes out", "[base]") {
  HttpServer<> server;
  const std::string text(500'000, 'a');
  server.server().Get("/", [&](const auto&, auto& response) { response.set_content(text, "text/plain"); });
  REQUIRE(server.start());
  auto request = get(server.url());
  const auto response = must_send(request);
  CHECK(response.header("content-encoding").has_value());
  CHECK(response.body == text);
  request.max_bytes = 100'000;  // what travels is far less
  CHECK(send(request).error().code == Code::bad_data);
  request.headers = {{"Accept-Encoding", "identity"}};
  request.max_bytes = text.size();
  CHECK_FALSE(must_send(request).header("content-encoding").has_value());
}

TEST_CASE("the cap holds, to the byte, with and without a receiver", "[base]") {
  HttpServer<> server;
  server.server().Get("/",
                      [](const auto&, auto& response) { response.set_content(std::string(1000, 'x'), "text/plain"); });
  REQUIRE(server.start());
  auto request = get(server.url());
  std::size_t received = 0;
  if (GENERATE(false, true)) {
    request.on_data = [&](std::string_view bytes) {
      received += bytes.size();
      return true;
    };
  }
  request.max_bytes = 1000;
  const auto response = must_send(request);
  CHECK(response.body.size() + received == 1000);
  request.max_bytes = 999;
  const auto refused = send(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::bad_data);
  CHECK(has(refused.error().message, "999 bytes"));
}

TEST_CASE("a receiver gets the bytes and may stop, or throw", "[base]") {
  HttpServer<> server;
  const std::string text(2'000'000, 'x');
  server.server().Get("/", [&](const auto&, auto& response) { response.set_content(text, "image/png"); });
  REQUIRE(server.start());
  auto request = get(server.url());
  std::size_t received = 0;
  request.on_data = [&](std::string_view bytes) {
    received += bytes.size();
    return true;
  };
  CHECK(must_send(request).body.empty());
  CHECK(received == text.size());
  received = 0;
  request.on_data = [&](std::string_view bytes) {
    received += bytes.size();
    return false;
  };
  CHECK(must_send(request).status == 200);
  CHECK(received > 0);
  CHECK(received < text.size());
  request.on_data = [](std::string_view) -> bool { throw std::runtime_error("no"); };
  CHECK(send(request).error().code == Code::internal);
}

TEST_CASE("redirects are followed only when asked, and not for ever", "[base]") {
  HttpServer<> server;
  server.server().Get(R"(/hop/(\d+))", [](const auto& request, auto& response) {
    const int left = std::stoi(request.matches[1]);
    if (left > 0) return redirect_to(response, 302, "/hop/" + std::to_string(left - 1));
    response.set_content("there", "text/plain");
  });
  REQUIRE(server.start());
  auto request = get(server.url("/hop/5"));
  CHECK(must_send(request).status == 302);
  CHECK(must_send(request).body == "moved");
  request.follow_redirects = true;
  std::string received;
  request.on_data = [&](std::string_view bytes) {
    received += bytes;
    return true;
  };
  CHECK(must_send(request).status == 200);
  CHECK(received == "there");  // and not what the redirects said
  request.url = server.url("/hop/6");
  CHECK(has(send(request).error().message, "more than 5 times"));
}

TEST_CASE("a redirect keeps method and body where the standard says so", "[base]") {
  HttpServer<> server;
  const int status = GENERATE(301, 302, 303, 307, 308);
  server.server().Post("/from", [&](const auto&, auto& response) { redirect_to(response, status, "/to"); });
  server.server().Post(
      "/to", [](const auto& request, auto& response) { response.set_content("post " + request.body, "text/plain"); });
  server.server().Get("/to", [](const auto&, auto& response) { response.set_content("get", "text/plain"); });
  REQUIRE(server.start());
  const auto response =
      must_send({.method = "POST", .url = server.url("/from"), .body = "data", .follow_redirects = true});
  CHECK(response.body == (status >= 307 ? "post data" : "get"));
}

TEST_CASE("headers stay with the host they were meant for, and so do bodies", "[base]") {
  HttpServer<> first;
  HttpServer<> second;
  const auto hello = [](const auto&, auto& response) { response.set_content("second", "text/plain"); };
  second.server().Get("/", hello).Post("/", hello);
  REQUIRE(second.start());
  const auto away = [&](const auto&, auto& response) { redirect_to(response, 307, second.url()); };
  first.server().Get("/away", away).Post("/away", away);
  first.server().Get("/here", [](const auto&, auto& response) { redirect_to(response, 302, "/away"); });
  REQUIRE(first.start());

  HttpRequest request{
      .url = first.url("/here"), .headers = {{"Authorization", "Bearer token"}}, .follow_redirects = true};
  CHECK(must_send(request).body == "second");
  REQUIRE(first.seen().size() == 2);
  CHECK(first.seen()[1].header("Authorization") == "Bearer token");  // the same host: kept
  REQUIRE(second.seen().size() == 1);
  CHECK(second.seen()[0].headers.count("Authorization") == 0);

  request.method = "POST";
  request.url = first.url("/away");
  request.body = "secret";
  CHECK(must_send(request).status == 307);
  CHECK(second.seen().size() == 1);
}

TEST_CASE("redirects to other kinds of addresses are refused", "[base]") {
  HttpServer<> server;
  std::string target = GENERATE("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "http://");
  server.server().Get("/", [&](const auto&, auto& response) { redirect_to(response, 302, target); });
  REQUIRE(server.start());
  const auto response = send({.url = server.url(), .follow_redirects = true});
  REQUIRE_FALSE(response);
  CHECK(response.error().code == Code::bad_data);
}

TEST_CASE("a unix socket answers, and a redirect does not lead out of it", "[base]") {
  const auto dir = TempDir::make("ng-test").value();
  const auto path = (dir.path() / "s").string();
  HttpServer<> other;
  REQUIRE(other.start());
  HttpServer<> server;
  server.server().Get("/version", [](const auto&, auto& response) { response.set_content("1.41", "text/plain"); });
  server.server().Get("/near", [](const auto&, auto& response) { redirect_to(response, 302, "/version"); });
  server.server().Get("/out", [&](const auto&, auto& response) { redirect_to(response, 302, other.url()); });
  REQUIRE(server.start_on_socket(path));
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  HttpRequest request{.url = "http://engine/version", .unix_socket = path, .follow_redirects = true};
  CHECK(must_send(request).body == "1.41");
  request.url = "http://engine/near";
  CHECK(must_send(request).body == "1.41");
  request.url = "http://engine/out";
  CHECK(must_send(request).status == 302);
  ::unsetenv("http_proxy");
  CHECK(other.seen().empty());
  request.unix_socket = (dir.path() / "none").string();
  const auto absent = send(request);
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == Code::away);
  CHECK(has(absent.error().message, request.unix_socket));
}

TEST_CASE("a proxy is used when named or in the environment, but not for this host", "[base]") {
  HttpServer<> proxy;
  proxy.server().Get(".*", [](const auto&, auto& response) { response.set_content("by proxy", "text/plain"); });
  REQUIRE(proxy.start());
  HttpServer<> server;
  server.server().Get("/", [](const auto&, auto& response) { response.set_content("direct", "text/plain"); });
  REQUIRE(server.start());
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  const auto elsewhere = send(get("http://broker.invalid/"));
  const auto here = send(get(server.url()));
  ::unsetenv("http_proxy");
  REQUIRE(elsewhere);
  CHECK(elsewhere->body == "by proxy");
  REQUIRE(here);
  CHECK(here->body == "direct");
  CHECK(must_send({.url = server.url(), .proxy = proxy.url()}).body == "by proxy");
}

TEST_CASE("requests that can't be are refused before anything is sent", "[base]") {
  HttpServer<> server;
  REQUIRE(server.start());
  const auto code = [](const HttpRequest& request) { return send(request).error().code; };
  for (const std::string url : {"", "127.0.0.1", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http://a b/",
                                "http://127.0.0.1/a\r\nX: y", "unix:///x"}) {
    INFO(url);
    CHECK(code(get(url)) == Code::usage);
  }
  CHECK(code({.method = "GET /x HTTP/1.1\r\nA:", .url = server.url()}) == Code::usage);
  CHECK(code({.method = "", .url = server.url()}) == Code::usage);
  CHECK(code({.url = server.url(), .headers = {{"A", "b\r\nC: d"}}}) == Code::usage);
  CHECK(code({.url = server.url(), .headers = {{"A\r\nB", "c"}}}) == Code::usage);
  CHECK(code({.url = server.url(), .headers = {{"", "c"}}}) == Code::usage);
  CHECK(server.seen().empty());
}

TEST_CASE("a message about an address holds no password and no query", "[base]") {
  for (const std::string url :
       {"http://user:geheim@127.0.0.1:1/p?token=geheim", "ftp://user:geheim@host/", "ftp://h?geheim"}) {
    const auto message = send(get(url)).error().text();
    INFO(message);
    CHECK_FALSE(has(message, "geheim"));
  }
}
