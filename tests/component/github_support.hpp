// The small GitHub of tests/fakes as a process, and a clock that only ever waits in the books.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ci/github/api.hpp"
#include "gate/base/process.hpp"

namespace nightgate::test {

class FakeGitHub {
 public:
  FakeGitHub();
  ~FakeGitHub();  // checks that every request was one that GitHub describes
  FakeGitHub(const FakeGitHub&) = delete;
  FakeGitHub& operator=(const FakeGitHub&) = delete;
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] github::Account account(const std::string& token = "bot", const std::string& repository = "o/r") const;
  nlohmann::json state();
  void load(const nlohmann::json& state);
  // A misbehaviour (see github.py).
  void rule(const nlohmann::json& rule);
  // Requests so far with this method ("": any).
  std::vector<nlohmann::json> asked(const std::string& method = "");
  // Comments on an issue or pull request, as they stand.
  std::vector<nlohmann::json> comments(int issue);

 private:
  nlohmann::json control(const std::string& method, const std::string& path, const nlohmann::json& body);
  TempDir directory_;
  std::optional<Child> child_;
  std::string url_;
  std::unique_ptr<HttpClient> http_;
};

class BookClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return Instant(std::chrono::hours(480000)) + passed_micros(); }
  [[nodiscard]] std::chrono::nanoseconds monotonic() const override { return std::chrono::hours(1) + passed_; }
  void sleep_for(std::chrono::nanoseconds duration) override {
    passed_ += duration;
    slept.push_back(std::chrono::duration<double>(duration).count());
  }
  std::vector<double> slept;  // seconds

 private:
  [[nodiscard]] Micros passed_micros() const { return std::chrono::duration_cast<Micros>(passed_); }
  std::chrono::nanoseconds passed_{0};
};

// Everything one needs to ask the fake.
struct AskGitHub {
  explicit AskGitHub(FakeGitHub& fake, const std::string& token = "bot", const std::string& repository = "o/r")
      : http(make_http_client()), api(*http, clock, fake.account(token, repository)) {}
  std::unique_ptr<HttpClient> http;
  BookClock clock;
  github::Api api;
};

}  // namespace nightgate::test
