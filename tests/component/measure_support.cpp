#include "tests/component/measure_support.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <stdexcept>

#include "gate/base/process.hpp"
#include "gate/measure/ports.hpp"
#include "tests/support/catch.hpp"

namespace nightgate::test {
namespace {

TempDir must_make_directory() {
  auto made = TempDir::make("ng-measure");
  if (!made) throw std::runtime_error(made.error().text());
  return *std::move(made);
}

}  // namespace

std::string source_file(const std::string& path) { return std::string(NIGHTGATE_SOURCE_DIR) + "/" + path; }

std::string misbehaving_server() { return source_file("tests/component/measure_server.py"); }

fs::path broker_directory() {
  const fs::path out = fs::path(NIGHTGATE_BUILD_DIR) / "test-broker";
  REQUIRE(make_directories(out));
  const auto lock = FileLock::take(out / "lock", "building the test broker", std::chrono::seconds(120));
  REQUIRE(lock);
  if (!fs::exists(out / "broker")) {
    Command build;
    build.argv = {"sh", source_file("tests/broker/src/build.sh"), out.string(), broker_commit};
    const auto done = run(build, std::chrono::minutes(3));
    REQUIRE(done);
    INFO(done->err);
    REQUIRE(done->ok());
  }
  return out;
}

int free_port() {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  REQUIRE(::bind(fd.get(), plain, size) == 0);
  REQUIRE(::getsockname(fd.get(), plain, &size) == 0);
  return ntohs(address.sin_port);
}

Bench::Bench() : directory(must_make_directory()) {
  config.project = "measure-tests";
  config.directory = directory.path();
  config.state = directory.path() / "state";
  config.machine.max_foreign_cpu = 1000;  // other work on this machine is not what most tests are about
  config.machine.max_steal = 1;
  config.machine.max_memory_pressure = 1000;
  config.machine.min_free_disk_gb = 0;
  config.machine.min_free_memory_gb = 0;
  config.machine.wait_minutes = 0;
  config.machine.shared_cpus = true;  // matters only where there is one core
  config::Node node;
  node.name = "broker";
  node.port = free_port();
  node.command = {"broker"};
  node.args = {"--port", "{broker.port}"};
  node.ready.deadline_seconds = 20;
  node.identity.get.url = "/version";
  node.identity.commit = "/commit";
  node.identity.build_type = "/build";
  config::Deployment memory;
  memory.name = "memory";
  memory.brokers = {node};
  config.deployments = {memory};
  config::Scenario retrieve;
  retrieve.name = "retrieve";
  config::WrkLoad load;
  load.connections = 4;
  load.seconds = 1;
  load.path = "/count";
  retrieve.load = load;
  retrieve.repeats = 1;
  retrieve.warmup_seconds = 0;
  config.scenarios = {retrieve};
  target.commit = broker_commit;
  target.digest = "sha256:test";
  target.label = "test broker";
  target.form = targets::DirectoryTarget{broker_directory()};
}

void Bench::misbehave(const std::vector<std::string>& options) {
  broker().command = {"python3", misbehaving_server()};
  broker().args = {"--port", "{broker.port}"};
  broker().args.insert(broker().args.end(), options.begin(), options.end());
  broker().identity = {};
}

std::unique_ptr<measure::Measurer> Bench::measurer() {
  auto made = measure::make_measurer(config, system_clock(), progress, [this] { return stop; });
  if (!made) throw std::runtime_error(made.error().text());
  return *std::move(made);
}

Result<measure::Measurement> Bench::measure() { return measurer()->measure(target, deployment(), scenario(), 0); }

bool Bench::is_clean() const {
  std::error_code ignored;
  const auto run = config.state / "run";
  return measure::listeners(config.deployments.front().brokers.front().port).empty() &&
         (!fs::exists(run) || fs::is_empty(run, ignored));
}

}  // namespace nightgate::test
