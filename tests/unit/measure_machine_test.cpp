#include "gate/measure/machine.hpp"

#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;

TEST_CASE("a machine's class is its CPU, cores and SMT", "[measure]") {
  CHECK(machine_class_text("AMD EPYC", 2, false) == "AMD EPYC, 2 cores");
  CHECK(machine_class_text("AMD EPYC", 1, true) == "AMD EPYC, 1 core, SMT");
  CHECK(cpu_model_of("processor\t: 0\nmodel\t\t: 2\nmodel name\t: Intel(R)  Xeon(R)   CPU\nx : y\n") ==
        "Intel(R) Xeon(R) CPU");
  CHECK(cpu_model_of("nothing here") == "unknown CPU");
}

TEST_CASE("the cgroup version is told from the mounts", "[measure]") {
  const std::string v1 = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
  const std::string v2 = "31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  CHECK(cgroup_version_of(v1) == "v1");
  CHECK(cgroup_version_of(v2) == "v2");
  CHECK(cgroup_version_of(v1 + v2) == "hybrid");
  CHECK(cgroup_version_of("") == "none");
}

TEST_CASE("this machine is described", "[measure]") {
  const auto topology = read_topology();
  REQUIRE(topology);
  config::Machine configured;
  configured.name = "bench-1";
  const auto info = read_machine(configured, *topology, {});
  REQUIRE(info);
  CHECK(info->name == "bench-1");
  CHECK(info->boot_id.size() == 36);
  CHECK(info->kernel.substr(0, 6) == "Linux ");
  CHECK(info->machine_class.find(" core") != std::string::npos);
  configured.machine_class = "c5.metal";
  CHECK(read_machine(configured, *topology, {})->machine_class == "c5.metal");
}
