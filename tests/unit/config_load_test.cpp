#include "config/config.hpp"

#include "gate/base/files.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::config;

namespace {

// The sketch of the design, with what a real project adds: ports, a reset command, a script that exists.
constexpr const char* sketch = R"json({
  // what is measured
  "project": "coraine",
  "repository": {"path": ".", "branch": "main"},
  "targets": {"image": "ghcr.io/seamware/coraine:{sha}"},           // or "artifact": "builds/{sha}", or "build": {...}
  "engine": "unix:///var/run/docker.sock",
  "machine": {"broker_cpus": "0-7", "load_cpus": "8-15", "max_foreign_cpu": 0.5, "wait_minutes": 30},
  "deployments": {
    "corDB": {"broker": {"args": ["--database", "corDB"], "port": 1026, "ready": "/ngsi-ld/v1/types",
              "identity": {"get": "/version", "commit": "/gitSha", "build_type": "/build"}}},
    "mongoc": {"services": {"mongo": {"image": "mongo:8.0", "port": 27017, "reset": ["mongo", "--eval", "db.dropDatabase()"]}},
               "broker": {"args": ["--database", "mongoc", "--dbHost", "{mongo.host}"], "port": 1026}}
  },
  "scenarios": {
    "create_c50": {"load": {"wrk": {"connections": 50, "seconds": 5, "path": "/ngsi-ld/v1/types"}}, "repeats": 3, "store": "grows"},
    "retrieve_20k": {"load": {"open": {"rate": 20000, "connections": 50, "seconds": 5, "get": "/ngsi-ld/v1/entities/urn:E1"}}}
  },
  "night": {"starts": 2, "control": {"target": "v0.4.0"}, "max_minutes": 300, "min_gap_hours": 12},
  "gate": {"trip_after": 2, "min_change": 0.05, "window": 30},
  "bisect": {"interior": 3, "error": 0.01, "max_minutes": 240},
  "store": "embedded",
  "report": {"github": {"repository": "SEAMWARE/coraine", "token_env": "GITHUB_TOKEN"}}
})json";

Config good(std::string_view text) {
  auto config = parse(text, "/srv/project", "nightgate.json");
  if (!config) FAIL(config.error().text());
  return *config;
}

std::string bad(std::string_view text) {
  const auto config = parse(text, "/srv/project", "nightgate.json");
  if (config) FAIL("was taken: " << text);
  CHECK(config.error().code == Code::usage);
  return config.error().text();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A command-only config with `more` members in it.
std::string command_config(const std::string& more) {
  return R"({"project": "p", "scenarios": {"s": {"load": {"command": ["bench"]}, "metrics": {"t": {"unit": "ms"}}}})" +
         more + "}";
}
// A config with one broker process; `scenario` and `broker` are members of those objects.
std::string broker_config(const std::string& scenario,
                          const std::string& broker = R"("command": ["./b"], "port": 8080)") {
  return R"({"project": "p", "targets": {"artifact": "builds/{sha}"}, "deployments": {"d": {"broker": {)" + broker +
         R"(}}}, "scenarios": {"s": {)" + scenario + "}}}";
}
const std::string wrk = R"("load": {"wrk": {"path": "/"}})";

}  // namespace

TEST_CASE("the sketch of the design loads", "[config]") {
  const Config config = good(sketch);
  CHECK(config.project == "coraine");
  CHECK(config.repository.path == "/srv/project");
  CHECK(config.targets.image->reference == "ghcr.io/seamware/coraine:{sha}");
  REQUIRE(config.deployments.size() == 2);
  const Node& broker = config.find_deployment("corDB")->brokers.at(0);
  CHECK(broker.name == "broker");
  CHECK(broker.ready.kind == Readiness::Kind::http);
  CHECK(broker.ready.http.url == "/ngsi-ld/v1/types");
  CHECK(broker.identity.commit == "/gitSha");
  const Node& mongo = config.find_deployment("mongoc")->services.at(0);
  CHECK(mongo.reset == std::vector<std::string>{"mongo", "--eval", "db.dropDatabase()"});
  CHECK(mongo.ready.kind == Readiness::Kind::tcp);
  const Scenario& create = *config.find_scenario("create_c50");
  CHECK(std::get<WrkLoad>(create.load).connections == 50);
  CHECK(create.store == StoreRule::grows);
  const auto& open = std::get<OpenLoad>(config.find_scenario("retrieve_20k")->load);
  CHECK(open.rate == 20000);
  CHECK(open.request.method == "GET");
  CHECK(open.request.url == "/ngsi-ld/v1/entities/urn:E1");
  CHECK(config.night.control == "v0.4.0");
  CHECK(config.report.github->token_env == "GITHUB_TOKEN");
  CHECK(config.find_scenario("none") == nullptr);
}

TEST_CASE("a project of commands needs no deployment", "[config]") {
  const Config config = good(command_config(""));
  REQUIRE(config.deployments.size() == 1);
  CHECK(config.deployments[0].name == "default");
  CHECK(config.deployments[0].brokers.empty());
  CHECK(config.state == default_state_directory() / "p");
  CHECK(good(command_config(R"(, "state": "st")")).state == "/srv/project/st");
  CHECK(contains(bad(R"({"project": "p", "scenarios": {"s": {"load": {"wrk": {"path": "/"}}}}})"),
                 "$.deployments: found nothing"));
}

TEST_CASE("requests: short and long forms", "[config]") {
  const Config config = good(broker_config(wrk + R"(, "fixture": {"calls": ["/reset",
      {"post": "/things", "body": {"id": "{sha}", "deep": {"a": {}}}, "headers": {"X-A": "1"}, "expect": 201},
      {"method": "OPTIONS", "url": "{broker.url}/x", "expect": [200, 204]}]})"));
  const auto& calls = config.scenarios[0].fixture.calls;
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].method == "GET");
  CHECK(calls[1].method == "POST");
  CHECK(calls[1].body == R"({"deep":{"a":{}},"id":"{sha}"})");
  CHECK(calls[1].headers.size() == 2);
  CHECK(calls[1].expect == std::vector<int>{201});
  CHECK(calls[2].expect == std::vector<int>{200, 204});
}

TEST_CASE("services in an array keep their order", "[config]") {
  const Config config = good(R"({"project": "p", "engine": "unix:///e.sock", "deployments": {"d": {
      "services": [{"name": "z", "image": "z:1"}, {"name": "a", "command": ["a"]}], "broker": {"port": 1, "cpus": "2-3"}}},
      "scenarios": {"s": {"load": {"wrk": {"path": "/"}}}}})");
  const Deployment& deployment = config.deployments[0];
  CHECK(deployment.services[0].name == "z");
  CHECK(deployment.services[1].name == "a");
  CHECK(deployment.brokers[0].placement == Placement::own);
}

TEST_CASE("errors name the path, what was found and what is allowed", "[config]") {
  struct Case {
    std::string text;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases = {
      {"[]", {"nightgate.json: $", "an object"}},
      {command_config(R"(, "nigth": {})"), {"$.nigth: unknown key", "did you mean night?", "allowed here: "}},
      {broker_config(wrk + R"(, "repeats": "three")"),
       {"$.scenarios.s.repeats: found \"three\"", "an integer from 1 to 1000"}},
      {broker_config(wrk + R"(, "repeats": 2.5)"), {"$.scenarios.s.repeats: found 2.5"}},
      {broker_config(wrk + R"(, "repeats": null)"), {"$.scenarios.s.repeats: found null"}},
      {broker_config(wrk + R"(, "deployments": ["dd"])"),
       {"$.scenarios.s.deployments[0]: found \"dd\"", "known: \"d\""}},
      {broker_config(R"("load": {"wrk": {"path": "/{brokr.url}"}})"),
       {"$.scenarios.s.load.wrk.path", "{brokr.url}", "did you mean {broker.url}"}},
      {broker_config(R"("load": {"wrk": {"script": "no.lua"}})"),
       {"$.scenarios.s.load.wrk.script", "/srv/project/no.lua"}},
      {broker_config(R"("load": {})"), {"$.scenarios.s.load", "exactly one"}},
      {broker_config(R"("load": {"wrk": {"path": "/"}, "command": ["x"]})"), {"$.scenarios.s.load", "exactly one"}},
      {broker_config(R"("load": {"open": {"rate": 5}})"), {"$.scenarios.s.load.open", "\"get\""}},
      {broker_config(R"("load": {"command": {"argv": ["b"]}}, "metrics": {"t": {}})"),
       {"$.scenarios.s.metrics.t.unit: found nothing"}},
      {broker_config(R"("load": {"command": {"argv": ["b"], "format": "regex", "pick": {"t": "x"}}})"),
       {"$.scenarios.s.metrics", "\"t\""}},
      {broker_config(R"("load": {"command": {"argv": ["b"], "format": "regex"}})"),
       {"$.scenarios.s.load.command.pick: found nothing"}},
      {broker_config(R"("load": {"command": {"argv": ["b"], "format": "jsn"}})"),
       {"$.scenarios.s.load.command.format: found \"jsn\"", "json"}},
      {broker_config(R"("load": {"command": []})"), {"$.scenarios.s.load.command"}},
      {broker_config(wrk + R"(, "store": "eats")"), {"$.scenarios.s.store: found \"eats\"", "\"consumes\""}},
      {broker_config(wrk + R"(, "store": "consumes")"), {"$.scenarios.s.fixture: found nothing"}},
      {broker_config(wrk + R"(, "fixture": {"count": "/n", "expect": 3})"), {"$.scenarios.s.fixture", "count_pointer"}},
      {broker_config(wrk, R"("port": 8080)"), {"$.deployments.d.broker.command: found nothing"}},
      {broker_config(wrk, R"("command": ["b"])"), {"$.scenarios.s.load", "no \"port\""}},
      {broker_config(wrk, R"("command": ["b"], "port": 70000)"),
       {"$.deployments.d.broker.port: found 70000", "from 1 to 65535"}},
      {broker_config(wrk, R"("command": ["b"], "port": 1, "image": "x:1")"),
       {"$.deployments.d.broker.image", "engine"}},
      {broker_config(wrk, R"("command": ["b"], "port": 1, "cpus": "0-")"),
       {"$.deployments.d.broker.cpus: found \"0-\""}},
      {broker_config(wrk, R"("command": ["b"], "port": 1, "volumes": ["/d:tape"])"),
       {"$.deployments.d.broker.volumes[0]", "/data:ram"}},
      {broker_config(wrk, R"("command": ["b"], "port": 1, "ready": "version")"),
       {"$.deployments.d.broker.ready: found \"version\""}},
      {broker_config(wrk, R"("command": ["b"], "port": 1, "ready": {"http": "/", "tcp": true})"),
       {"$.deployments.d.broker.ready", "only one"}},
      {command_config(R"(, "targets": {"artifact": "builds/latest"})"), {"$.targets.artifact", "{sha}"}},
      {command_config(R"(, "targets": {"artifact": "builds/{sah}"})"), {"$.targets.artifact", "did you mean {sha}"}},
      {command_config(R"(, "targets": {"image": "h/n:{sha}"})"), {"$.targets.image", "engine"}},
      {command_config(R"(, "targets": {"build": ["make"]})"), {"$.targets.build", "repository"}},
      {command_config(R"(, "targets": {})"), {"$.targets", "expected"}},
      {command_config(R"(, "repository": {"path": ".", "url": "file:///r"})"), {"$.repository", "either"}},
      {command_config(R"(, "engine": "docker")"), {"$.engine: found \"docker\"", "unix:///"}},
      {command_config(R"(, "gate": {"min_change": 5})"), {"$.gate.min_change: found 5", "0.001"}},
      {command_config(R"(, "report": {"github": {"repository": "a", "token_env": "T"}})"),
       {"$.report.github.repository: found \"a\"", "owner/name"}},
      {R"({"project": "a/b", "scenarios": {}})", {"$.project: found \"a/b\""}},
      {R"({"project": "p", "scenarios": {}})", {"$.scenarios", "at least one"}},
      {R"({"project": "p", "project": "q"})", {"project", "twice"}},
      {R"({"project": "p",})", {"line 1, column"}},
      {"", {"nightgate.json: $"}},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    const std::string error = bad(one.text);
    INFO(error);
    for (const std::string& part : one.parts) CHECK(contains(error, part));
  }
}

TEST_CASE("two nodes of one deployment share neither name nor port", "[config]") {
  const auto with = [](const std::string& brokers) {
    return R"({"project": "p", "engine": "unix:///e", "deployments": {"d": {"brokers": )" + brokers +
           R"(}}, "scenarios": {"s": {"load": {"wrk": {"path": "/"}}}}})";
  };
  CHECK(good(with(R"([{"name": "a", "port": 1}, {"name": "b", "port": 2}])")).deployments[0].brokers.size() == 2);
  CHECK(contains(bad(with(R"([{"name": "a", "port": 1}, {"name": "a", "port": 2}])")), "$.deployments.d.a"));
  CHECK(contains(bad(with(R"([{"name": "a", "port": 1}, {"name": "b", "port": 1}])")),
                 "$.deployments.d.b.port: found 1"));
  CHECK(contains(bad(with(R"([{"port": 1}])")), "$.deployments.d.brokers[0].name: found nothing"));
}

TEST_CASE("a password in the config is refused and never shown", "[config]") {
  const std::vector<std::string> refused = {
      "postgresql://u:hunter2@db/n",          "postgres://u:hunter2@[::1]:5432/n",
      "postgresql://db/n?password=hunter2",   "host=db password=hunter2",
      "host=db PASSWORD = 'hunter2'",         "postgresql://db/n?sslpassword=hunter2",
      "postgresql://db/n?pass%77ord=hunter2", "postgresql://u:hun/ter2@db/n"};
  for (const std::string& store : refused) {
    INFO(store);
    const std::string error = bad(command_config(R"(, "store": ")" + store + "\""));
    CHECK(contains(error, "$.store"));
    CHECK(contains(error, "store_password_env"));
    CHECK_FALSE(contains(error, "ter2"));
  }
  for (const std::string store :
       {"embedded", "postgresql://u@db/n", "host=db dbname=n passfile=/etc/pg", "postgresql://[::1]:5432/n"}) {
    INFO(store);
    CHECK(good(command_config(R"(, "store": ")" + store + "\"")).store == store);
  }
  const std::string error =
      bad(command_config(R"(, "report": {"github": {"repository": "o/n", "token_env": "ghp_abcdef"}})"));
  CHECK(contains(error, "$.report.github.token_env"));
  CHECK_FALSE(contains(error, "abcdef"));
  CHECK(contains(bad(command_config(R"(, "repository": {"url": "https://me:secret@h/r"})")), "token_env"));
}

TEST_CASE("oversized, deeply nested and non-UTF-8 configs are refused", "[config]") {
  CHECK(contains(bad(command_config(R"(, "state": ")" + std::string(5'000'000, 'x') + "\"")), "1048576"));
  CHECK(contains(bad(std::string(10'000, '[')), "nested deeper than 32"));
  CHECK(contains(bad(R"({"project": ")" + std::string(10'000, '[')), "nightgate.json: $"));
  CHECK(contains(bad("{\"project\": \"\xff\xfe\"}"), "nightgate.json: $"));
}

TEST_CASE("a config that is not there says what to do", "[config]") {
  const auto config = load("/nonexistent/nightgate.json");
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::usage);
  CHECK(contains(config.error().text(), "nightgate init"));
}

TEST_CASE("secrets come from the environment", "[config]") {
  unsetenv("NG_TEST_SECRET");
  const auto none = secret_from_environment("NG_TEST_SECRET");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::denied);
  CHECK(contains(none.error().text(), "NG_TEST_SECRET"));
  setenv("NG_TEST_SECRET", "s3cret-value", 1);
  CHECK(*secret_from_environment("NG_TEST_SECRET") == "s3cret-value");
  unsetenv("NG_TEST_SECRET");
}

TEST_CASE("a secret that is not in the environment is a credential of systemd", "[config]") {
  const auto dir = TempDir::make("ng-credentials").value();
  setenv("CREDENTIALS_DIRECTORY", dir.path().c_str(), 1);
  unsetenv("NG_TEST_SECRET");
  CHECK_FALSE(secret_from_environment("NG_TEST_SECRET"));
  REQUIRE(write_file(dir.path() / "ng-test-secret", " \n"));  // what the units say for "not given"
  CHECK_FALSE(secret_from_environment("NG_TEST_SECRET"));
  REQUIRE(write_file(dir.path() / "ng-test-secret", "lower-case\n"));
  CHECK(*secret_from_environment("NG_TEST_SECRET") == "lower-case");
  REQUIRE(write_file(dir.path() / "NG_TEST_SECRET", "own-name"));
  CHECK(*secret_from_environment("NG_TEST_SECRET") == "own-name");
  setenv("NG_TEST_SECRET", "variable", 1);
  CHECK(*secret_from_environment("NG_TEST_SECRET") == "variable");
  unsetenv("NG_TEST_SECRET");
  unsetenv("CREDENTIALS_DIRECTORY");
}

TEST_CASE("an alias leads to a metric that this config measures, in one step", "[config]") {
  const auto with = [](const std::string& aliases) { return command_config(R"(, "aliases": {)" + aliases + "}"); };
  CHECK(good(with(R"("default.old.t": "default.s.t")")).aliases.at("default.old.t") == "default.s.t");
  for (const char* wrong :
       {R"("a": "default.s")", R"("a": "default.s.")", R"("a": "default.other.t")", R"("a": "t")",
        R"("default.s.t": "default.s.t")", R"("default.s.a": "default.s.b", "default.s.b": "default.s.t")"}) {
    INFO(wrong);
    CHECK(contains(bad(with(wrong)), "aliases."));
  }
}

TEST_CASE("one bad night never trips, whatever the config wants", "[config]") {
  CHECK(good(command_config(R"(, "gate": {"trip_after": 2})")).gate.trip_after == 2);
  CHECK(contains(bad(command_config(R"(, "gate": {"trip_after": 1})")), "$.gate.trip_after"));
}
