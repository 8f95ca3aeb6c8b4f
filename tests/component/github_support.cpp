#include "tests/component/github_support.hpp"

#include <stdexcept>

#include "gate/base/json.hpp"
#include "tests/support/catch.hpp"

namespace nightgate::test {
namespace {

TempDir must_make_directory() {
  auto made = TempDir::make("ng-github");
  if (!made) throw std::runtime_error(made.error().text());
  return *std::move(made);
}

}  // namespace

FakeGitHub::FakeGitHub() : directory_(must_make_directory()), http_(make_http_client()) {
  const auto out = directory_.path() / "out";
  auto child = Child::start({.argv = {"/usr/bin/python3", NIGHTGATE_SOURCE_DIR "/tests/fakes/github.py"}},
                            directory_.path() / "log", out);
  if (!child) throw std::runtime_error(child.error().text());
  child_ = std::move(*child);
  for (int i = 0; i < 1000 && url_.find('\n') == std::string::npos; ++i) {
    system_clock().sleep_for(std::chrono::milliseconds(10));
    url_ = read_file(out).value_or("");
  }
  if (url_.empty())
    throw std::runtime_error("tests/fakes/github.py did not start: " + tail_of(directory_.path() / "log"));
  url_.pop_back();
}

FakeGitHub::~FakeGitHub() {
  try {
    CHECK(state()["violations"] == nlohmann::json::array());
  } catch (const std::exception& error) {
    UNSCOPED_INFO(error.what());
  }
}

github::Account FakeGitHub::account(const std::string& token, const std::string& repository) const {
  github::Account account;
  account.api = url_;
  account.repository = repository;
  account.token = token;
  return account;
}

nlohmann::json FakeGitHub::control(const std::string& method, const std::string& path, const nlohmann::json& body) {
  HttpRequest request;
  request.method = method;
  request.url = url_ + path;
  request.body = body.is_null() ? "" : dump_json(body);
  const auto answer = http_->send(request);
  if (!answer || answer->status != 200) throw std::runtime_error("the fake did not take " + path);
  return *parse_json(answer->body);
}

nlohmann::json FakeGitHub::state() { return control("GET", "/_/state", {}); }
void FakeGitHub::load(const nlohmann::json& state) { control("PUT", "/_/state", state); }
void FakeGitHub::rule(const nlohmann::json& rule) { control("POST", "/_/rule", rule); }

std::vector<nlohmann::json> FakeGitHub::asked(const std::string& method) {
  std::vector<nlohmann::json> out;
  const auto now = state();
  for (const auto& request : now["requests"]) {
    if (method.empty() || request["method"] == method) out.push_back(request);
  }
  return out;
}

std::vector<nlohmann::json> FakeGitHub::comments(int issue) {
  std::vector<nlohmann::json> out;
  const auto now = state();
  for (const auto& comment : now["comments"]) {
    if (comment["issue"] == issue) out.push_back(comment);
  }
  return out;
}

}  // namespace nightgate::test
