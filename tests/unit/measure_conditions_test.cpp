#include "gate/measure/conditions.hpp"

#include <algorithm>

#include "gate/measure/cgroup.hpp"
#include "gate/measure/ports.hpp"
#include "gate/measure/processes.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;
using Catch::Matchers::Contains;

TEST_CASE("/proc/stat is read per CPU", "[measure]") {
  const auto cpus = parse_proc_stat(
      "cpu  10 0 0 0 0 0 0 0 0 0\n"
      "cpu0 100 0 200 1000 50 10 40 30 0 0\n"
      "cpu12 0 0 0 1000 0 0 0 0 0 0\nintr 5\n");
  REQUIRE(cpus.size() == 2);
  const double tick = 0.01;  // the kernel's user-visible clock has 100 ticks a second on every architecture we meet
  CHECK(cpus.at(0).busy == Approx(350 * tick));
  CHECK(cpus.at(0).stolen == Approx(30 * tick));
  CHECK(cpus.at(0).total == Approx(1430 * tick));
  CHECK(cpus.at(12).busy == 0);
  CHECK(parse_proc_stat("nonsense").empty());
}

TEST_CASE("memory pressure is read where there is any", "[measure]") {
  CHECK(parse_pressure("some avg10=12.50 avg60=1.00 avg300=0.10 total=5\nfull avg10=3.00\n") == 12.5);
  CHECK_FALSE(parse_pressure(""));
}

TEST_CASE("a process's line is read whatever its name", "[measure]") {
  const auto stat = parse_stat(
      "42 (evil) R 1) T 7 40 39 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 1 0 98765 1000 10 184467440 1 1 0 0\n");
  REQUIRE(stat);
  CHECK(stat->pid == 42);
  CHECK(stat->program == "evil) R 1");
  CHECK(stat->state == 'T');
  CHECK(stat->group == 40);
  CHECK(stat->session == 39);
  CHECK(stat->cpu_seconds == Approx(2.0));
  CHECK(stat->waited_children_seconds == Approx(0.5));
  CHECK(stat->start_ticks == 98765);
  CHECK_FALSE(parse_stat("42 (cut"));
}

TEST_CASE("a node's processes are its group, its session and all descendants", "[measure]") {
  const auto process = [](pid_t pid, pid_t parent, pid_t group, pid_t session) {
    ProcessStat out;
    out.pid = pid;
    out.parent = parent;
    out.group = group;
    out.session = session;
    return out;
  };
  const std::vector<ProcessStat> all = {process(5, 90, 5, 5),    // below a backend, with a lower number than its parent
                                        process(80, 1, 80, 80),  // the leader
                                        process(81, 80, 80, 80),
                                        process(90, 80, 90, 90),  // a backend of its own session
                                        process(91, 1, 91, 91),   // somebody else
                                        process(92, 1, 80, 80)};  // left behind by its parent, in the group
  std::vector<pid_t> pids;
  for (const auto& found : family_of(80, all)) pids.push_back(found.pid);
  std::sort(pids.begin(), pids.end());
  CHECK(pids == std::vector<pid_t>{5, 80, 81, 90, 92});
  CHECK(family_of(4711, all).empty());
}

TEST_CASE("listening sockets are told from others", "[measure]") {
  const std::string text =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:0402 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0\n"
      "   1: 0100007F:0402 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 778 1 0\n"
      "   2: 0100007F:0403 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 779 1 0\n";
  CHECK(listening_inodes(text, 1026) == std::vector<unsigned long long>{777});
  CHECK(listening_inodes(text, 80).empty());
}

TEST_CASE("foreign CPU is what is left when ours is taken away", "[measure]") {
  MachineState before;
  MachineState after;
  after.monotonic = before.monotonic + 2;
  after.cpus = {{0, {2, 0, 2}}, {1, {1, 0, 2}}, {2, {2, 0, 2}}};
  before.cpus = {{0, {0, 0, 0}}, {1, {0, 0, 0}}, {2, {0, 0, 0}}};
  after.foreign_processes = 10;
  // CPUs 0 and 1 were busy for 3 s, of which ours were 1.4 s and our own 0.1 s: 1.5 s in 2 s.
  after.own_seconds = before.own_seconds + 0.1;
  CHECK(foreign_cpu(before, after, {0, 1}, 1.4) == Approx(0.75));
  // Interrupts of our own packets look foreign; then the processes know better.
  after.foreign_processes = 0.2;
  CHECK(foreign_cpu(before, after, {0, 1}, 1.4) == Approx(0.1));
  CHECK(foreign_cpu(before, after, {0, 1}, 99) == 0);
}

TEST_CASE("each limit breaks by its own name, and silence is within bounds", "[measure]") {
  config::Machine limits;
  limits.max_load = 4;
  CHECK(out_of_bounds({}, limits).empty());
  CHECK(out_of_bounds({{"foreign_cpu", 0.4}, {"steal", 0.01}, {"load1", 3}, {"free_disk_gb", 50}}, limits).empty());
  const std::vector<std::pair<Conditions, std::string>> table = {
      {{{"foreign_cpu", 0.51}}, "other processes used 0.51 CPUs"},
      {{{"steal", 0.06}}, "stolen"},
      {{{"load1", 4.1}}, "load average"},
      {{{"memory_pressure", 11}}, "memory pressure"},
      {{{"swapped_pages", 1000}}, "swapped"},
      {{{"oom_kills", 1}}, "want of memory"},
      {{{"stopped", 1}}, "SIGSTOP"},
      {{{"throttled", 3}}, "quota"},
      {{{"clock_step_s", 1}}, "clock"},
      {{{"free_memory_gb", 0.1}}, "memory are free"},
      {{{"free_disk_gb", 0.5}}, "disk are free"},
  };
  for (const auto& [conditions, expected] : table) CHECK_THAT(out_of_bounds(conditions, limits), Contains(expected));
}

TEST_CASE("a container's counts under cgroup v1, v2 and both", "[measure]") {
  const auto dir = TempDir::make("ng-cgroup");
  REQUIRE(dir);
  const auto put = [&](const std::string& path, std::string_view text) {
    REQUIRE(make_directories((dir->path() / path).parent_path()));
    REQUIRE(write_file(dir->path() / path, text));
  };
  SECTION("v2") {
    put("box/cpu.stat", "usage_usec 2500000\nuser_usec 1\nnr_throttled 7\n");
    put("box/memory.peak", "1048576\n");
    put("box/io.stat", "8:0 rbytes=1 wbytes=100 rios=1\n8:16 rbytes=1 wbytes=20 rios=1\n");
    const auto counts = cgroup_counts_of("0::/box\n", dir->path());
    CHECK(counts.cpu_seconds == 2.5);
    CHECK(counts.memory_peak_bytes == 1048576);
    CHECK(counts.bytes_written == 120);
    CHECK(counts.throttled_periods == 7);
  }
  SECTION("v1 with a v2 tree beside it") {
    put("cpuacct/box/cpuacct.usage", "1500000000\n");
    put("memory/box/memory.max_usage_in_bytes", "4096\n");
    put("cpu/box/cpu.stat", "nr_periods 9\nnr_throttled 2\n");
    put("unified/box/cpu.stat", "usage_usec 99000000\n");
    const auto counts = cgroup_counts_of("4:memory:/box\n3:cpuset:/box\n2:cpu,cpuacct:/box\n0::/box\n", dir->path());
    CHECK(counts.cpu_seconds == 1.5);
    CHECK(counts.memory_peak_bytes == 4096);
    CHECK(counts.throttled_periods == 2);
    CHECK_FALSE(counts.bytes_written);
  }
  SECTION("nothing counted is absent, not zero") {
    const auto counts = cgroup_counts_of("0::/nowhere\n", dir->path());
    CHECK_FALSE(counts.cpu_seconds);
    CHECK_FALSE(counts.throttled_periods);
  }
}
