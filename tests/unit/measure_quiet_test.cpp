#include "gate/base/files.hpp"
#include "gate/measure/quiet.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;

namespace {

// The kernel's files of a bench machine with four cores and SMT (0 and 4 share a core, and so on), under a root of
// ours.
class Machine {
 public:
  Machine() : dir_(TempDir::make("ng-quiet").value()) {
    for (int cpu = 0; cpu < 8; ++cpu) {
      topology.cpus.push_back({cpu, cpu % 4});
      write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor", "performance");
    }
    placement.broker = {0, 1};
    placement.load = {2, 3};
    write("proc/sys/kernel/perf_event_paranoid", "1");
  }
  void write(const std::string& path, const std::string& text) {
    REQUIRE(make_directories((dir_.path() / path).parent_path()));
    REQUIRE(write_file(dir_.path() / path, text + "\n"));
  }
  Quietness look(std::string_view what) {
    for (auto& found : look_at_quietness(topology, placement, dir_.path())) {
      if (found.what == what) return found;
    }
    FAIL("nothing is said about " << what);
    return {};
  }

  Topology topology;
  Placement placement;

 private:
  TempDir dir_;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a governor that saves power is named with its CPUs", "[measure]") {
  Machine machine;
  CHECK(machine.look("governor").done);
  machine.write("sys/devices/system/cpu/cpu7/cpufreq/scaling_governor", "powersave");  // nobody measures there
  CHECK(machine.look("governor").done);
  machine.write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  machine.write("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "schedutil");
  const auto found = machine.look("governor");
  CHECK_FALSE(found.done);
  CHECK(contains(found.said, "powersave on CPUs 1, schedutil on CPUs 2"));
  machine.placement.broker = {100};
  machine.placement.load = {};
  CHECK(machine.look("governor").done);  // a virtual machine has no such file
}

TEST_CASE("turbo is found in both places where kernels have it", "[measure]") {
  Machine machine;
  CHECK(machine.look("turbo").done);
  machine.write("sys/devices/system/cpu/cpufreq/boost", "1");
  CHECK(contains(machine.look("turbo").said, "echo 0 > /sys/devices/system/cpu/cpufreq/boost"));
  machine.write("sys/devices/system/cpu/cpufreq/boost", "0");
  CHECK(machine.look("turbo").done);
  machine.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  const auto found = machine.look("turbo");
  CHECK_FALSE(found.done);
  CHECK(contains(found.said, "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"));
  machine.write("sys/devices/system/cpu/intel_pstate/no_turbo", "1");
  CHECK(machine.look("turbo").done);
}

TEST_CASE("siblings of the broker's CPUs are named while they are online", "[measure]") {
  Machine machine;
  const auto found = machine.look("smt");
  CHECK_FALSE(found.done);
  CHECK(contains(found.said, "CPUs 4-5 share cores with the broker's (0-1)"));
  CHECK_FALSE(contains(found.said, "both halves"));
  machine.placement.broker = {0, 4};
  CHECK(contains(machine.look("smt").said, "both halves"));
  machine.placement.broker = {0, 1};
  machine.topology.cpus.resize(4);  // the siblings are offline
  CHECK(machine.look("smt").done);
}

TEST_CASE("who may run on the measured CPUs is told from systemd's slices", "[measure]") {
  Machine machine;
  CHECK(contains(machine.look("cpusets").said, "nothing keeps others off CPUs 0-3"));
  const std::string under = "sys/fs/cgroup/", file = "/cpuset.cpus.effective";
  machine.write(under + "system.slice" + file, "4-7");
  machine.write(under + "user.slice" + file, "3-7");
  const auto found = machine.look("cpusets");
  CHECK_FALSE(found.done);
  CHECK(contains(found.said, "processes of user.slice may"));
  machine.write(under + "user.slice" + file, "4-7");
  CHECK(machine.look("cpusets").done);
  machine.write(under + "system.slice" + file, "0-7");
  CHECK_FALSE(machine.look("cpusets").done);
  machine.write("sys/devices/system/cpu/isolated", "0-2");  // one is missing
  CHECK_FALSE(machine.look("cpusets").done);
  machine.write("sys/devices/system/cpu/isolated", "0-3");
  CHECK(machine.look("cpusets").done);
  machine.topology.cpus.resize(4);
  CHECK(contains(machine.look("cpusets").said, "every CPU is measured on"));
}

TEST_CASE("counters that the kernel keeps to itself are named", "[measure]") {
  Machine machine;
  CHECK(machine.look("counters").done);
  machine.write("proc/sys/kernel/perf_event_paranoid", "-1");
  CHECK(machine.look("counters").done);
  machine.write("proc/sys/kernel/perf_event_paranoid", "3");
  CHECK(contains(machine.look("counters").said, "perf_event_paranoid is 3"));
}
