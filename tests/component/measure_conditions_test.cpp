// Rules 6 and 7: what a repeat costs is recorded, and what went wrong around it is noticed. Each trouble is made for
// real.
#include <signal.h>
#include <sys/mount.h>
#include <sys/swap.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "gate/base/process.hpp"
#include "gate/measure/conditions.hpp"
#include "gate/measure/extra.hpp"
#include "gate/measure/ports.hpp"
#include "gate/measure/processes.hpp"
#include "tests/component/measure_support.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;
using Catch::Matchers::Contains;
using nightgate::test::Bench;

namespace {

std::string why(const Result<Measurement>& result) { return result ? "no error" : result.error().text(); }

// The process that listens on the bench's port, once there is one.
pid_t wait_for_broker(const Bench& bench) {
  const int port = bench.config.deployments.front().brokers.front().port;
  for (int i = 0; i < 1000; ++i) {
    const auto found = listeners(port);
    if (!found.empty() && found.front().pid > 0) return found.front().pid;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return -1;
}

// A control group of the v1 or v2 hierarchy for this test, or an empty path where none can be made.
struct Cgroup {
  explicit Cgroup(const std::string& controller) {
    const fs::path v1 = fs::path("/sys/fs/cgroup") / controller;
    path = (fs::exists(v1) ? v1 : fs::path("/sys/fs/cgroup")) / ("nightgate-test-" + std::to_string(::getpid()));
    std::error_code error;
    if (!fs::create_directory(path, error)) path.clear();
  }
  ~Cgroup() {
    for (int i = 0; i < 100 && !path.empty() && ::rmdir(path.c_str()) != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // its last process is still going
    }
  }
  // write_file() replaces files, which these can't be: plain writes.
  [[nodiscard]] bool set(const std::string& file, const std::string& text) const {
    std::FILE* out = path.empty() ? nullptr : std::fopen((path / file).c_str(), "we");
    if (out == nullptr) return false;
    const bool fine = std::fputs(text.c_str(), out) >= 0;
    return (std::fclose(out) == 0) && fine;
  }
  fs::path path;
};

}  // namespace

TEST_CASE("a broker that burns 1 ms of CPU per request reads 1 ms", "[measure]") {
  Bench bench;
  bench.misbehave({"--cpu-ms", "1"});
  std::get<config::WrkLoad>(bench.scenario().load).connections = 1;
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  const auto cpu = measured->value("cpu_us");
  REQUIRE(cpu);
  CHECK(*cpu > 950);
  CHECK(*cpu < 1050);
  CHECK(measured->metrics.at("cpu_us").better == config::Better::lower);
  CHECK(measured->value("mem_peak_mib").value_or(0) > 1);
  CHECK(measured->value("switches").value_or(0) > 0);
}

TEST_CASE("a broker's children are counted", "[measure]") {
  Bench bench;
  bench.misbehave({"--cpu-ms", "1"});
  bench.broker().command = {"sh", "-c", "python3 \"$@\"; true", "sh", test::misbehaving_server()};
  std::get<config::WrkLoad>(bench.scenario().load).connections = 1;
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(measured->value("cpu_us").value_or(0) > 950);
}

TEST_CASE("a child in a session of its own is the broker's, and goes with it", "[measure]") {
  Bench bench;
  const auto mark = bench.directory.path() / "worker.pid";
  // Burns a CPU for as long as it is let, as a database's backend may; its own session, so not in the broker's group.
  bench.misbehave({});
  bench.broker().command = {
      "sh", "-c",
      "setsid sh -c 'trap \"\" HUP; echo $$ >" + mark.string() + "; while :; do :; done' & exec python3 \"$@\"", "sh",
      test::misbehaving_server()};
  config::CommandLoad idle;  // asks the broker for nothing: what is used is the worker's
  idle.argv = {"sh", "-c", "sleep 1; echo '{\"requests\": 1000, \"rows\": 1}'"};
  bench.scenario().load = idle;
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  INFO(measured->no_verdict);
  CHECK(measured->value("cpu_us").value_or(0) > 200);  // 0.2 s of one, also where others compute
  const auto text = read_file(mark, 64);
  REQUIRE(text);
  const auto worker = process_stat(static_cast<pid_t>(std::stoi(*text)));
  CHECK((!worker || worker->state == 'Z'));
  CHECK(bench.is_clean());
}

TEST_CASE("a hog on the broker's CPU: done again, then no verdict that names it", "[measure]") {
  Bench bench;
  bench.config.machine.max_foreign_cpu = 0.4;
  const auto machine = bench.measurer()->machine();
  REQUIRE(machine);
  Command hog;
  hog.argv = {"sh", "-c", "echo -20 2>/dev/null >/proc/self/autogroup; while :; do :; done"};
  hog.cpus = parse_cpus(machine->broker_cpus).value_or(CpuSet{0});
  auto running = Child::start(hog, bench.directory.path() / "hog.log");
  REQUIRE(running);
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(measured->repeats.size() == 4);
  CHECK_FALSE(measured->value("rate"));
  CHECK_THAT(measured->no_verdict, Contains("other processes used") && Contains("out of bounds 4 times"));
  CHECK(measured->repeats.front().conditions.at("foreign_cpu") > 0.4);
  CHECK(measured->repeats.front().samples.size() > 3);  // kept, and marked
}

TEST_CASE("a machine that doesn't get quiet is no verdict before anything is started", "[measure]") {
  Bench bench;
  bench.config.machine.max_load = 0.0001;
  bench.config.machine.wait_minutes = 1;
  std::atomic<bool> asked{false};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    bench.stop = asked = true;
  });
  const auto measured = bench.measure();
  later.join();
  CHECK_THAT(why(measured), Contains("waiting for a quiet machine"));
  CHECK(asked);  // it did wait
}

TEST_CASE("a broker that somebody stops is void, not slow", "[measure]") {
  Bench bench;
  std::atomic<bool> done{false};
  std::thread stopper([&] {
    const auto pid = wait_for_broker(bench);
    while (!done && pid > 0) {
      ::kill(pid, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      ::kill(pid, SIGCONT);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  const auto measured = bench.measure();
  done = true;
  stopper.join();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK_THAT(measured->no_verdict, Contains("SIGSTOP"));
}

TEST_CASE("a broker that crashes is told by its signal", "[measure]") {
  Bench bench;
  std::thread killer([&] {
    const auto pid = wait_for_broker(bench);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (pid > 0) ::kill(pid, SIGSEGV);
  });
  const auto measured = bench.measure();
  killer.join();
  CHECK_THAT(why(measured), Contains("killed by signal 11"));
}

TEST_CASE("a broker that is restarted inside a supervisor is noticed", "[measure]") {
  Bench bench;
  bench.broker().command = {"sh", "-c", "while :; do \"$@\"; done", "sh", "{target}/broker"};
  std::thread killer([&] {
    const auto pid = wait_for_broker(bench);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (pid > 0) ::kill(pid, SIGKILL);
  });
  const auto measured = bench.measure();
  killer.join();
  CHECK_THAT(why(measured), Contains("was restarted inside") || Contains("does not listen"));
}

TEST_CASE("an OOM kill is called by its name", "[measure]") {
  const Cgroup group("memory");
  if (!group.set("memory.limit_in_bytes", "24M") && !group.set("memory.max", "24M")) {
    NG_SKIP("no memory control group can be made here (needs root)");
  }
  (void)group.set("memory.memsw.limit_in_bytes", "24M");
  (void)group.set("memory.swap.max", "0");
  Bench bench;
  bench.broker().command = {"sh", "-c", "echo $$ > " + (group.path / "cgroup.procs").string() + "; exec \"$@\"", "sh",
                            "{target}/broker"};
  auto& load = std::get<config::WrkLoad>(bench.scenario().load);
  load.script = test::source_file("tests/broker/wrk/create.lua");
  load.seconds = 5;
  CHECK_THAT(why(bench.measure()), Contains("want of memory"));
}

TEST_CASE("a CPU quota that throttles is no fair condition", "[measure]") {
  const Cgroup group("cpu");
  const bool set = (group.set("cpu.cfs_period_us", "100000") && group.set("cpu.cfs_quota_us", "5000")) ||
                   group.set("cpu.max", "5000 100000");
  if (!set || !group.set("cgroup.procs", "0")) NG_SKIP("no cpu control group can be made here (needs root)");
  const Defer leave([&] {
    const fs::path parent = group.path.parent_path();
    if (std::FILE* out = std::fopen((parent / "cgroup.procs").c_str(), "we")) {
      std::fputs("0", out);
      std::fclose(out);
    }
  });
  Bench bench;
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK_THAT(measured->no_verdict, Contains("quota throttled"));
}

TEST_CASE("a machine that swaps is no fair condition", "[measure]") {
  const Cgroup group("memory");
  if (!group.set("memory.limit_in_bytes", "16M") && !group.set("memory.high", "16M")) {
    NG_SKIP("no memory control group can be made here (needs root)");
  }
  Bench bench;
  const auto file = bench.directory.path() / "swap";
  REQUIRE(write_file(file, std::string(std::size_t{96} << 20U, '\0'), 0600));
  Command make;
  make.argv = {"mkswap", file.string()};
  const auto made = run(make, std::chrono::seconds(20));
  if (!made || !made->ok() || ::swapon(file.c_str(), 0) != 0) NG_SKIP("no swap file can be used here (needs root)");
  const Defer off([&] { (void)::swapoff(file.c_str()); });
  Command hungry;  // goes through 64 MiB again and again, of which 16 fit
  hungry.argv = {"sh", "-c",
                 "echo $$ > " + (group.path / "cgroup.procs").string() +
                     "; exec python3 -c 'import time\nx = bytearray(64 << 20)\nwhile True:\n for i in range(0, len(x), "
                     "4096): x[i] = 1\n time.sleep(0.02)'"};
  auto running = Child::start(hungry, bench.directory.path() / "hungry.log");
  REQUIRE(running);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // its first time through
  bench.config.machine.max_memory_pressure = 101;               // it presses too; here the other limit is looked at
  const auto measured = bench.measure();
  running->stop();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK_THAT(measured->no_verdict, Contains("pages were swapped"));
  REQUIRE_FALSE(measured->repeats.empty());
  CHECK(measured->repeats.front().conditions.at("swapped_pages") > 256);
}

TEST_CASE("a disk nearly full is no verdict, a full one a sentence", "[measure]") {
  Bench bench;
  REQUIRE(make_directories(bench.config.state));
  if (::mount("tmpfs", bench.config.state.c_str(), "tmpfs", 0, "size=256k") != 0) {
    NG_SKIP("no tmpfs can be mounted here (needs root)");
  }
  const Defer unmount([&] { (void)::umount2(bench.config.state.c_str(), MNT_DETACH); });
  bench.config.machine.min_free_disk_gb = 1;
  const auto nearly = bench.measure();
  INFO(why(nearly));
  REQUIRE(nearly);
  CHECK_THAT(nearly->no_verdict, Contains("disk are free"));

  REQUIRE(run(
      {{"dd", "if=/dev/zero", "of=" + (bench.config.state / "filler").string(), "bs=4k"}, {}, false, {}, {}, {}, {}},
      std::chrono::seconds(10)));
  const auto full = bench.measure();
  REQUIRE_FALSE(full);
  CHECK_THAT(full.error().message, Contains("No space left"));
}

TEST_CASE("extra metrics: the broker's counters, its log and its last answer", "[measure]") {
  Bench bench;
  using Kind = config::ExtraMetric::Kind;
  auto& extra = bench.scenario().extra;
  extra.push_back({"answers", "1/request", config::Better::lower, Kind::prometheus_counter, "/metrics",
                   "broker_requests_total", true});
  extra.push_back({"listens", "lines", config::Better::lower, Kind::log_lines, "", "listening", false});
  extra.push_back({"state", "", config::Better::lower, Kind::answer_hash, "/count", "", false});
  extra.push_back({"nonsense", "", config::Better::lower, Kind::prometheus_gauge, "/metrics", "no_such", false});
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(measured->value("answers").value_or(0) > 0.5);
  CHECK(measured->value("answers").value_or(9) < 2);
  CHECK_FALSE(measured->value("listens"));  // that line came before the repeat
  CHECK(measured->value("state").value_or(0) > 0);
  CHECK_FALSE(measured->value("nonsense"));
  const auto lines = matching_lines("a\nab\nb\n", "^a");
  REQUIRE(lines);
  CHECK(*lines == 2);
}
