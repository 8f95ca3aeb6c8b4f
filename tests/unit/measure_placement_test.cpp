#include "gate/measure/placement.hpp"

#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;

namespace {

// `cores` physical cores; with SMT core c has the logical CPUs c and c + cores, as Linux numbers them on x86.
Topology machine_with(int cores, bool smt) {
  Topology topology;
  for (int cpu = 0; cpu < (smt ? 2 * cores : cores); ++cpu) topology.cpus.push_back({cpu, cpu % cores});
  return topology;
}

config::Node own_node(std::string name, std::string cpus = "") {
  config::Node node;
  node.name = std::move(name);
  node.placement = config::Placement::own;
  node.cpus = std::move(cpus);
  return node;
}

std::string error_of(const Result<Placement>& result) { return result ? "no error" : result.error().message; }

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

TEST_CASE("two cores: broker on CPU 0, load on CPU 1", "[measure]") {
  const auto placed = place(machine_with(2, false), {}, {});
  REQUIRE(placed);
  CHECK(placed->broker == CpuSet{0});
  CHECK(placed->load == CpuSet{1});
  CHECK_FALSE(placed->shared);
  CHECK(placed->text() == "broker 0, load 1");
}

TEST_CASE("one logical CPU per physical core, half of the cores for the load", "[measure]") {
  const auto placed = place(machine_with(8, true), {}, {});
  REQUIRE(placed);
  CHECK(placed->broker == CpuSet{0, 1, 2, 3});
  CHECK(placed->load == CpuSet{4, 5, 6, 7});
}

TEST_CASE("a core that two of them would use is refused unless the config says shared", "[measure]") {
  config::Machine machine;
  const Topology one_core = machine_with(1, true);  // its two logical CPUs are siblings
  const auto refused = place(one_core, machine, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::measure);
  CHECK(has(refused.error().message, "\"cpus\": \"shared\""));
  machine.shared_cpus = true;
  const auto placed = place(one_core, machine, {});
  REQUIRE(placed);
  CHECK(placed->shared);
  CHECK(placed->broker == placed->load);
  CHECK(has(placed->text(), "shared"));
}

TEST_CASE("siblings of one core are never split between broker and load", "[measure]") {
  config::Machine machine;
  machine.broker_cpus = "0-1";
  machine.load_cpus = "4-5";  // the siblings of 0 and 1
  CHECK(has(error_of(place(machine_with(4, true), machine, {})), "physical core"));
  machine.load_cpus = "2-3";
  CHECK(place(machine_with(4, true), machine, {}));
  machine.load_cpus.clear();  // chosen: what the broker leaves, and no sibling of its cores
  const auto placed = place(machine_with(4, true), machine, {});
  REQUIRE(placed);
  CHECK(placed->load == CpuSet{2, 3});
}

TEST_CASE("CPUs that are not there are named", "[measure]") {
  config::Machine machine;
  machine.broker_cpus = "0-9";
  const auto refused = place(machine_with(4, false), machine, {});
  CHECK(has(error_of(refused), "CPU 4"));
  CHECK(refused.error().code == Code::usage);
  machine.broker_cpus = "zero";
  CHECK(has(error_of(place(machine_with(4, false), machine, {})), "'zero'"));
}

TEST_CASE("services and chained brokers on their own CPUs", "[measure]") {
  config::Deployment deployment;
  deployment.brokers = {config::Node{}, own_node("b")};
  deployment.services = {own_node("db", "3")};
  const auto placed = place(machine_with(8, false), {}, deployment);
  REQUIRE(placed);
  CHECK(placed->own.at("db") == CpuSet{3});
  CHECK(placed->broker == CpuSet{0, 1, 2});
  CHECK(placed->own.at("b") == CpuSet{4});
  CHECK(placed->load == CpuSet{5, 6, 7});
  CHECK(placed->of(deployment.brokers[1]) == CpuSet{4});
  CHECK(placed->of(deployment.brokers[0]) == placed->broker);
  CHECK(placed->all().size() == 8);

  SECTION("too few: refused, or on the broker's where the config says shared") {
    config::Machine machine;
    deployment.services.clear();
    CHECK(has(error_of(place(machine_with(2, false), machine, deployment)), "shared"));
    machine.shared_cpus = true;
    const auto shared = place(machine_with(2, false), machine, deployment);
    REQUIRE(shared);
    CHECK(shared->shared);
    CHECK(shared->own.at("b") == CpuSet{0});
    CHECK(shared->load == CpuSet{1});
  }
}

TEST_CASE("the kernel's files are read as it lays them out", "[measure]") {
  const auto dir = TempDir::make("ng-topology");
  REQUIRE(dir);
  const auto put = [&](const std::string& path, std::string_view text) {
    REQUIRE(make_directories((dir->path() / path).parent_path()));
    REQUIRE(write_file(dir->path() / path, text));
  };
  put("online", "0-3\n");
  for (const int cpu : {0, 1, 2, 3}) {
    put("cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", cpu % 2 == 0 ? "0,2\n" : "1,3\n");
  }
  const auto topology = read_topology(dir->path());
  REQUIRE(topology);
  CHECK(topology->cpus == std::vector<Topology::Cpu>{{0, 0}, {1, 1}, {2, 0}, {3, 1}});
  CHECK(topology->cores() == 2);
  CHECK(topology->smt());
  CHECK(restrict_to(*topology, {1, 2}).cpus == std::vector<Topology::Cpu>{{1, 1}, {2, 0}});
}

TEST_CASE("this machine has a topology and we may run somewhere on it", "[measure]") {
  const auto topology = read_topology();
  REQUIRE(topology);
  CHECK(topology->cores() >= 1);
  CHECK_FALSE(restrict_to(*topology, own_affinity()).cpus.empty());
}
