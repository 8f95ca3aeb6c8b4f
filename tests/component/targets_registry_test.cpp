// The registry client and images as targets, against a real registry and a real engine.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "gate/targets/image_cache.hpp"
#include "gate/targets/registry.hpp"
#include "gate/targets/target.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/git_repo.hpp"
#include "tests/support/services.hpp"

using namespace nightgate;
using namespace nightgate::targets;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  return std::move(*result);
}
void must(const Status& status) {
  if (!status) FAIL(status.error().text());
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

formats::ImageRef named(const std::string& text) { return must(formats::parse_image_ref(text)); }

Registry with_login(const RegistryLogin& login) {
  RegistryOptions options;
  options.login = login;
  return Registry(options);
}
Registry impatient() {
  RegistryOptions options;
  options.attempts = 1;
  return Registry(options);
}
Registry on_platform(const std::string& architecture) {
  RegistryOptions options;
  options.architecture = architecture;
  return Registry(options);
}

void publish(const std::string& name, const std::string& revision, const std::string& salt = "") {
  std::map<std::string, std::string> labels;
  if (!revision.empty()) labels[revision_label] = revision;
  must(test::build_image(name, labels, salt));
  must(test::push_image(name));
}

HttpResponse put(const std::string& url, const std::string& type, const std::string& body,
                 const std::string& method = "PUT") {
  HttpRequest request;
  request.method = method;
  request.url = url;
  request.headers = {{"Content-Type", type}};
  request.body = body;
  auto response = must(make_http_client()->send(request));
  if (response.status > 299) FAIL(url << ": " << response.status << " " << response.body);
  return response;
}

std::string put_blob(const std::string& repository, const std::string& body) {
  const auto started = put(repository + "/blobs/uploads/", "application/octet-stream", "", "POST");
  const std::string where = *started.header("location");
  const std::string digest = "sha256:" + sha256_hex(body);
  put(where + (where.find('?') == std::string::npos ? "?" : "&") + "digest=" + digest, "application/octet-stream",
      body);
  return digest;
}

// An image of no layers for an architecture; gives its entry in an index.
std::string put_platform(const std::string& repository, const std::string& architecture, const std::string& revision) {
  const std::string config = R"({"architecture":")" + architecture +
                             R"(","os":"linux","rootfs":{"type":"layers","diff_ids":[]},"config":{"Labels":{")" +
                             revision_label + R"(":")" + revision + R"("}}})";
  const std::string type = "application/vnd.oci.image.manifest.v1+json";
  const std::string manifest = R"({"schemaVersion":2,"mediaType":")" + type +
                               R"(","config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":)" +
                               std::to_string(config.size()) + R"(,"digest":")" + put_blob(repository, config) +
                               R"("},"layers":[]})";
  const std::string digest = "sha256:" + sha256_hex(manifest);
  put(repository + "/manifests/" + digest, type, manifest);
  return R"({"mediaType":")" + type + R"(","size":)" + std::to_string(manifest.size()) + R"(,"digest":")" + digest +
         R"(","platform":{"os":"linux","architecture":")" + architecture + R"("}})";
}

}  // namespace

#define NEED_SERVICES() \
  if (!test::services()) NG_SKIP(test::services().error().text())

TEST_CASE("registry: an image that is there and one that is not", "[targets][registry]") {
  NEED_SERVICES();
  const std::string name = test::services()->registry + "/there:1";
  const std::string revision(40, 'd');
  publish(name, revision);
  Registry registry({});
  const std::string digest = must(registry.digest(named(name)));
  CHECK(formats::is_image_digest(digest));
  CHECK(must(registry.labels(named(name))).at(revision_label) == revision);
  CHECK(must(registry.digest(named(test::services()->registry + "/there@" + digest))) == digest);
  CHECK(must(registry.tags(named(name))) == std::vector<std::string>{"1"});
  for (const char* absent : {"/there:2", "/nowhere:1"}) {
    CHECK(registry.digest(named(test::services()->registry + absent)).error().code == Code::not_found);
  }
}

TEST_CASE("registry: basic authentication", "[targets][registry]") {
  NEED_SERVICES();
  const auto& s = *test::services();
  publish(s.registry + "/guarded:1", "");
  const auto image = named(s.guarded + "/guarded:1");
  CHECK(formats::is_image_digest(must(with_login(RegistryLogin{s.user, s.password}).digest(image))));
  const auto anonymous = Registry({}).digest(image);
  REQUIRE_FALSE(anonymous);
  CHECK(anonymous.error().code == Code::denied);
  CHECK(contains(anonymous.error().text(), "password_env"));
  const auto wrong = with_login(RegistryLogin{s.user, "wrong-secret"}).digest(image);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == Code::denied);
  CHECK_FALSE(contains(wrong.error().text(), "wrong-secret"));
}

TEST_CASE("registry: an index of two platforms", "[targets][registry]") {
  NEED_SERVICES();
  const std::string repository = "http://" + test::services()->registry + "/v2/multi";
  const std::string type = "application/vnd.oci.image.index.v1+json";
  const std::string index = R"({"schemaVersion":2,"mediaType":")" + type + R"(","manifests":[)" +
                            put_platform(repository, "arm64", "aaaaaaaa") + "," +
                            put_platform(repository, "amd64", "bbbbbbbb") + "]}";
  put(repository + "/manifests/1", type, index);
  const auto image = named(test::services()->registry + "/multi:1");
  CHECK(must(Registry({}).digest(image)) == "sha256:" + sha256_hex(index));
  CHECK(must(on_platform("amd64").labels(image)).at(revision_label) == "bbbbbbbb");
  CHECK(must(on_platform("arm64").labels(image)).at(revision_label) == "aaaaaaaa");
  CHECK(on_platform("riscv64").labels(image).error().code == Code::not_found);
}

TEST_CASE("registry: nobody there, and a manifest of 100 MB", "[targets][registry]") {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listening, plain, size) == 0);
  REQUIRE(::getsockname(listening, plain, &size) == 0);
  const auto image = named("127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/a:1");
  CHECK(impatient().labels(image).error().code == Code::away);  // bound, but nobody listens
  REQUIRE(::listen(listening, 4) == 0);
  const std::jthread server([listening] {
    const int client = ::accept(listening, nullptr, nullptr);
    char request[4096];
    static_cast<void>(::read(client, request, sizeof request));
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n";
    static_cast<void>(::send(client, head.data(), head.size(), MSG_NOSIGNAL));
    const std::string part(1 << 20, ' ');
    for (int i = 0; i < 100 && ::send(client, part.data(), part.size(), MSG_NOSIGNAL) > 0; ++i) {
    }
    ::close(client);
  });
  const auto found = impatient().labels(image);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::bad_data);
  ::close(listening);
}

namespace {

struct ImageProject {
  test::GitRepo repo;
  TempDir files = must(TempDir::make("ng-images"));
  config::Config config;
  std::unique_ptr<History> history;
  std::unique_ptr<Finder> finder;

  void open(const std::string& image) {
    const std::string text = R"({"project": "p", "state": "state", "engine": ")" + test::services()->engine +
                             R"(", "repository": {"path": ")" + repo.path().string() + R"("}, "targets": {"image": )" +
                             image + R"(}, "scenarios": {"s": {"load": {"command": ["true"]}}}})";
    config = must(config::parse(text, files.path(), "test"));
    finder.reset();
    history = must(open_history(config));
    finder = must(make_finder(config, history.get()));
  }
};

}  // namespace

TEST_CASE("images of merges by template", "[targets][registry]") {
  NEED_SERVICES();
  ImageProject p;
  const std::string name = test::services()->registry + "/merges";
  const auto a = p.repo.commit("a", "1", "A");
  const auto b = p.repo.commit("a", "2", "B");
  const auto docs = p.repo.commit("README", "1", "Docs");
  const auto liar = p.repo.commit("a", "3", "Liar");
  const auto missing = p.repo.commit("a", "4", "Missing");
  publish(name + ":" + a, a);
  publish(name + ":" + b, b);
  const std::string type = "application/vnd.docker.distribution.manifest.v2+json";
  HttpRequest get;  // the docs merge is published as the image of the merge before it
  get.url = "http://" + test::services()->registry + "/v2/merges/manifests/" + b;
  get.headers = {{"Accept", type}};
  put("http://" + test::services()->registry + "/v2/merges/manifests/" + docs, type,
      must(make_http_client()->send(get)).body);
  publish(name + ":" + liar, std::string(40, 'e'), "liar");
  p.open("\"" + name + ":{sha}\"");
  const auto merges = must(p.history->range(a, missing));
  const auto found = must(p.finder->find_all(merges));
  REQUIRE(found.size() == 5);
  const Target first = std::get<Target>(found[0]);
  CHECK(first.commit == a);
  CHECK(std::get<ImageTarget>(first.form).reference == name + "@" + first.digest);
  CHECK(std::get<Target>(found[1]).digest != first.digest);
  CHECK(std::get<Target>(found[2]).digest == std::get<Target>(found[1]).digest);
  CHECK(std::get<Target>(found[2]).commit == b);
  CHECK(contains(std::get<Untestable>(found[3]).why, "built from eeee"));
  CHECK(contains(std::get<Untestable>(found[4]).why, "there is no "));
  const auto engine = must(make_engine(p.config.engine));
  must(engine->remove_image(name + ":" + a));
  must(p.finder->prepare(first));
  CHECK(must(engine->image(std::get<ImageTarget>(first.form).reference)).digest == first.digest);
  const Target typed = must(p.finder->parse(name + ":" + b));
  CHECK(typed.commit == b);
  CHECK(typed.digest == std::get<Target>(found[1]).digest);
  CHECK(must(p.finder->parse(b.substr(0, 10))).digest == typed.digest);
  CHECK_FALSE(p.finder->parse(name + ":none"));
}

namespace {

// What is written to stderr meanwhile.
std::string stderr_of(const std::function<void()>& body) {
  const auto dir = must(TempDir::make("ng-stderr"));
  const Fd before(::dup(STDERR_FILENO));
  const Fd file(::open((dir.path() / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
  ::dup2(file.get(), STDERR_FILENO);
  body();
  ::dup2(before.get(), STDERR_FILENO);
  return must(read_file(dir.path() / "log"));
}

}  // namespace

TEST_CASE("a tag that moves between looking up and pulling: the digest wins, and it is said", "[targets][registry]") {
  NEED_SERVICES();
  ImageProject p;
  const std::string name = test::services()->registry + "/moving";
  const auto a = p.repo.commit("a", "1", "A");
  publish(name + ":" + a, a, "before");
  p.open("\"" + name + ":{sha}\"");
  const Target target = std::get<Target>(must(p.finder->find(must(p.history->merge(a)))));
  const auto engine = must(make_engine(p.config.engine));
  must(engine->remove_image(name + ":" + a));
  publish(name + ":" + a, a, "after");
  must(engine->remove_image(name + ":" + a));
  const auto said = stderr_of([&] { must(p.finder->prepare(target)); });
  CHECK(must(engine->image(std::get<ImageTarget>(target.form).reference)).digest == target.digest);
  CHECK(contains(said, name + ":" + a + " was moved since it was looked up"));
  CHECK(contains(said, target.digest + " is measured"));
  CHECK_FALSE(contains(stderr_of([&] { must(p.finder->prepare(target)); }), "moved"));  // it is here already
}

TEST_CASE("images of merges found by their label", "[targets][registry]") {
  NEED_SERVICES();
  ImageProject p;
  const std::string name = test::services()->registry + "/labelled";
  const auto a = p.repo.commit("a", "1", "A");
  const auto b = p.repo.commit("a", "2", "B");
  publish(name + ":build-17", a);
  publish(name + ":nightly", "");
  p.open(R"({"reference": ")" + name + R"(", "by_label": true})");
  const auto found = must(p.finder->find_all(must(p.history->range(a, b))));
  CHECK(std::get<Target>(found[0]).commit == a);
  CHECK(contains(std::get<Untestable>(found[1]).why, "none of the 2 tags"));
}

TEST_CASE("old images of ours are removed beyond the limit, others never", "[targets][registry]") {
  NEED_SERVICES();
  const auto engine = must(make_engine(test::services()->engine));
  const auto files = must(TempDir::make("ng-cache"));
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back("ng-cache-test:" + std::to_string(i));
    must(test::build_image(names.back(), {}, "cache" + std::to_string(i)));
  }
  ImageCache cache(files.path() / "images.json", 1e-6, 8, *engine);
  must(cache.used(names[0], must(engine->image(names[0])), false));
  for (int i = 1; i < 10; ++i)
    must(cache.used(names[static_cast<std::size_t>(i)], must(engine->image(names[static_cast<std::size_t>(i)])), true));
  CHECK(engine->image(names[0]));        // not pulled by us
  CHECK_FALSE(engine->image(names[1]));  // the longest unused
  CHECK(engine->image(names[2]));        // among the last eight
}
