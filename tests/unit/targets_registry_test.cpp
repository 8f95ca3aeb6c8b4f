// The registry client's conversations, with a scripted other side: what a well-behaved real one does not do on request.
// (What it does is in tests/component.)
#include <deque>

#include "gate/base/files.hpp"
#include "gate/targets/registry.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::targets;

namespace {

struct Script {
  std::deque<Result<HttpResponse>> answers;
  std::vector<HttpRequest> asked;
};

class ScriptedClient final : public HttpClient {
 public:
  explicit ScriptedClient(Script& script) : script_(script) {}
  Result<HttpResponse> send(const HttpRequest& request) override {
    script_.asked.push_back(request);
    if (script_.answers.empty()) return fail(Code::internal, "the script has ended");
    auto answer = script_.answers.front();
    script_.answers.pop_front();
    return answer;
  }

 private:
  Script& script_;
};

HttpResponse answer(long status, const std::string& body = "",
                    std::vector<std::pair<std::string, std::string>> headers = {}) {
  return {status, std::move(headers), body};
}

Registry client(Script& script, std::optional<RegistryLogin> login = {}) {
  RegistryOptions options;
  options.login = std::move(login);
  options.architecture = "amd64";
  return Registry(options, std::make_unique<ScriptedClient>(script));
}

std::string header_of(const HttpRequest& request, const std::string& name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return {};
}

const auto image = *formats::parse_image_ref("reg.example/a/b:1");
const std::string digest = "sha256:" + std::string(64, 'a');
const HttpResponse wants_token =
    answer(401, "", {{"www-authenticate", R"(Bearer realm="https://auth.example/token",service="s")"}});

std::string config_with(const std::string& label) { return R"({"config":{"Labels":{"x":")" + label + R"("}}})"; }
std::string manifest_for(const std::string& config) {
  return R"({"schemaVersion":2,"config":{"digest":"sha256:)" + sha256_hex(config) + R"("}})";
}

}  // namespace

TEST_CASE("registry: the token dance, also when a token has run out", "[targets][registry]") {
  Script script;
  auto registry = client(script, RegistryLogin{"me", "pw"});
  script.answers = {
      wants_token, answer(200, R"({"token":"first"})"),         answer(200, "", {{"docker-content-digest", digest}}),
      wants_token, answer(200, R"({"access_token":"second"})"), answer(200, "", {{"docker-content-digest", digest}})};
  CHECK(*registry.digest(image) == digest);
  CHECK(*registry.digest(image) == digest);
  REQUIRE(script.asked.size() == 6);
  CHECK(script.asked[0].url == "https://reg.example/v2/a/b/manifests/1");
  CHECK(script.asked[0].method == "HEAD");
  CHECK(script.asked[1].url == "https://auth.example/token?scope=repository%3Aa%2Fb%3Apull&service=s");
  CHECK(header_of(script.asked[1], "Authorization") == "Basic bWU6cHc=");
  CHECK(header_of(script.asked[2], "Authorization") == "Bearer first");
  CHECK(header_of(script.asked[3], "Authorization") == "Bearer first");
  CHECK(header_of(script.asked[5], "Authorization") == "Bearer second");
}

TEST_CASE("registry: refusals are denied, at once", "[targets][registry]") {
  Script script;
  auto registry = client(script);
  const auto refused = [&](std::deque<Result<HttpResponse>> answers) {
    script.answers = std::move(answers);
    const auto found = registry.digest(image);
    REQUIRE_FALSE(found);
    CHECK(script.answers.empty());
    CHECK(found.error().code == Code::denied);
  };
  refused({wants_token, answer(401)});
  refused({wants_token, answer(200, R"({"token":"t"})"), answer(401)});
  refused({wants_token, answer(200, R"({"token":"t"})"), answer(403)});
  refused({answer(401, "", {{"www-authenticate", "Basic realm=\"r\""}})});
  refused({answer(401, "", {{"www-authenticate", R"(Bearer realm="http://auth.example/token")"}})});    // no TLS there
  refused({answer(401, "", {{"www-authenticate", R"(Bearer realm="https://auth.example/to ken")"}})});  // by fuzzing
  refused({answer(401)});
}

TEST_CASE("registry: asks again where that may help, but not for ever", "[targets][registry]") {
  Script script;
  auto registry = client(script);
  script.answers = {answer(429, "", {{"retry-after", "0"}}), answer(503, "", {{"retry-after", "0"}}),
                    answer(200, "", {{"docker-content-digest", digest}})};
  CHECK(registry.digest(image));
  const HttpResponse busy = answer(503, "", {{"retry-after", "0"}});
  script.answers = {busy, busy, busy, busy, busy};
  const auto found = registry.digest(image);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::away);
  CHECK(script.answers.size() == 1);
  script.answers = {answer(404)};
  CHECK(registry.digest(image).error().code == Code::not_found);
}

TEST_CASE("registry: content is what its digest says, or refused", "[targets][registry]") {
  Script script;
  auto registry = client(script);
  const std::string config = config_with("good");
  const std::string manifest = manifest_for(config);
  const std::string true_digest = "sha256:" + sha256_hex(manifest);
  script.answers = {answer(200), answer(200, manifest)};  // a HEAD that does not say it: computed from the body
  CHECK(*registry.digest(image) == true_digest);
  script.answers = {answer(200, manifest, {{"docker-content-digest", true_digest}}), answer(200, config)};
  CHECK(registry.labels(image)->at("x") == "good");
  const auto bad = [&](std::deque<Result<HttpResponse>> answers, const formats::ImageRef& which) {
    script.answers = std::move(answers);
    const auto found = registry.labels(which);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == Code::bad_data);
  };
  bad({answer(200, manifest, {{"docker-content-digest", digest}})}, image);
  bad({answer(200, manifest)}, *formats::parse_image_ref("reg.example/a/b@" + digest));
  bad({answer(200, manifest), answer(200, config_with("evil"))}, image);
  bad({answer(200, "no json")}, image);
  bad({answer(200, R"({"schemaVersion":1,"fsLayers":[]})")}, image);
  bad({answer(200, R"({"config":{"digest":"sha256:../../x"}})")}, image);
  bad({Result<HttpResponse>(fail(Code::bad_data, "too big"))}, image);
  script.answers = {answer(200, "", {{"docker-content-digest", digest}})};
  const auto other = registry.digest(*formats::parse_image_ref("reg.example/a/b@sha256:" + std::string(64, 'b')));
  CHECK(other.error().code == Code::bad_data);
}

TEST_CASE("registry: from an index to this platform", "[targets][registry]") {
  Script script;
  auto registry = client(script);
  const std::string config = config_with("amd");
  const std::string manifest = manifest_for(config);
  const auto index = [&](const std::string& arch) {
    return R"({"manifests":[{"digest":")" + digest +
           R"(","platform":{"os":"linux","architecture":"arm64"}},{"digest":"sha256:)" + sha256_hex(manifest) +
           R"(","platform":{"os":"linux","architecture":")" + arch + R"("}}]})";
  };
  script.answers = {answer(200, index("amd64")), answer(200, manifest), answer(200, config)};
  CHECK(registry.labels(image)->at("x") == "amd");
  script.answers = {answer(200, index("s390x"))};
  const auto none = registry.labels(image);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::not_found);
  CHECK(none.error().text().find("linux/arm64, linux/s390x") != std::string::npos);
}

TEST_CASE("registry: tags page by page, and to no other host", "[targets][registry]") {
  Script script;
  auto registry = client(script);
  script.answers = {answer(200, R"({"tags":["a","b"]})", {{"link", R"(</v2/a/b/tags/list?last=b&n=500>; rel="next")"}}),
                    answer(200, R"({"tags":["c","/bad/"]})")};
  CHECK(*registry.tags(image) == std::vector<std::string>{"a", "b", "c"});
  CHECK(script.asked.back().url == "https://reg.example/v2/a/b/tags/list?last=b&n=500");
  for (const char* link : {"<https://evil.example/v2/>; rel=next", "</v2/a/b/tags/list?n=500>; rel=next"}) {
    script.answers = {answer(200, R"({"tags":null})", {{"link", link}})};
    CHECK(registry.tags(image).error().code == Code::bad_data);
  }
}
