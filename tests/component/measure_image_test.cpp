// Deployments as containers of a real engine: pinned, labelled, limited, counted and tidied up.
#include <unistd.h>

#include "gate/base/process.hpp"
#include "gate/measure/left_overs.hpp"
#include "gate/targets/engine.hpp"
#include "tests/component/measure_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/services.hpp"

using namespace nightgate;
using namespace nightgate::measure;
using Catch::Matchers::Contains;
using nightgate::test::Bench;

namespace {

std::string why(const Result<Measurement>& result) { return result ? "no error" : result.error().text(); }

// The bench's broker as an image whose revision label says `revision`.
void use_image(Bench& bench, const std::string& revision) {
  const auto image =
      test::build_image("measure-broker:" + revision.substr(0, 7), {{"org.opencontainers.image.revision", revision}},
                        "", test::broker_directory() / "broker");
  INFO((image ? std::string() : image.error().text()));
  REQUIRE(image);
  bench.config.engine = test::services()->engine;
  bench.target.form = targets::ImageTarget{*image};
  bench.broker().command.clear();
}

std::size_t containers(const std::string& engine, const std::string& project) {
  const auto made = targets::make_engine(engine);
  REQUIRE(made);
  const auto list = (*made)->list(std::string(label_project) + "=" + project);
  REQUIRE(list);
  return list->size();
}

}  // namespace

TEST_CASE("a broker in a container is measured like any other", "[measure][engine]") {
  if (!test::services()) NG_SKIP(test::services().error().text());
  Bench bench;
  use_image(bench, test::broker_commit);
  const auto measured = bench.measure();
  INFO(why(measured));
  REQUIRE(measured);
  CHECK(measured->value("rate").value_or(0) > 100);
  CHECK(measured->value("cpu_us").value_or(0) > 0);
  CHECK(measured->value("mem_peak_mib").value_or(0) > 0);
  CHECK(bench.is_clean());
  CHECK(containers(bench.config.engine, bench.config.project) == 0);
  const auto machine = bench.measurer()->machine();
  REQUIRE(machine);
  CHECK_FALSE(machine->engine.empty());

  SECTION("on its own CPUs, by the container's cpuset") {
    config::CommandLoad load;
    load.argv = {"python3", "-c",
                 "import glob, json, os\n"
                 "for p in glob.glob('/proc/[0-9]*'):\n"
                 "  try: words = open(p + '/cmdline').read().split('\\0')\n"
                 "  except OSError: continue\n"
                 "  if words[0] == '/box' and '{broker.port}' in words:\n"
                 "    print(json.dumps({'mask': sum(1 << c for c in os.sched_getaffinity(int(p[6:])))}))"};
    bench.scenario().load = load;
    const auto seen = bench.measure();
    INFO(why(seen));
    REQUIRE(seen);
    double mask = 0;
    for (const int cpu : parse_cpus(machine->broker_cpus).value_or(CpuSet{})) mask += static_cast<double>(1U << cpu);
    CHECK(seen->value("mask") == mask);
  }
}

TEST_CASE("an image whose label lies is refused before it is started", "[measure][engine]") {
  if (!test::services()) NG_SKIP(test::services().error().text());
  Bench bench;
  use_image(bench, std::string(40, 'b'));
  bench.broker().identity = {};  // the label alone
  CHECK_THAT(why(bench.measure()), Contains("is labelled as commit bbbb"));
}

TEST_CASE("an image that is not here is not pulled during a measurement", "[measure][engine]") {
  if (!test::services()) NG_SKIP(test::services().error().text());
  Bench bench;
  use_image(bench, test::broker_commit);
  bench.target.form = targets::ImageTarget{"127.0.0.1:9/none@sha256:" + std::string(64, '0')};
  CHECK_FALSE(bench.measure());
}

TEST_CASE("a container over its memory limit is told as such", "[measure][engine]") {
  if (!test::services()) NG_SKIP(test::services().error().text());
  Bench bench;
  use_image(bench, test::broker_commit);
  bench.broker().memory_mb = 24;
  auto& load = std::get<config::WrkLoad>(bench.scenario().load);
  load.script = test::source_file("tests/broker/wrk/create.lua");
  load.seconds = 5;
  CHECK_THAT(why(bench.measure()), Contains("out of memory"));
  CHECK(containers(bench.config.engine, bench.config.project) == 0);
}

TEST_CASE("left-over containers of ours go, other people's stay", "[measure][engine]") {
  if (!test::services()) NG_SKIP(test::services().error().text());
  Bench bench;
  bench.config.project = "left-" + std::to_string(::getpid());
  use_image(bench, test::broker_commit);
  const auto engine = targets::make_engine(bench.config.engine);
  REQUIRE(engine);
  const auto make = [&](const std::string& project) {
    targets::ContainerSpec spec;
    spec.image = std::get<targets::ImageTarget>(bench.target.form).reference;
    spec.args = {"--port", "0"};
    spec.labels = {{std::string(label_project), project}, {std::string(label_run), "gone"}};
    const auto id = (*engine)->create(spec);
    REQUIRE(id);
    REQUIRE((*engine)->start(*id));
    return *id;
  };
  const auto ours = make(bench.config.project);
  const auto theirs = make(bench.config.project + "-other");
  const auto said = bench.measurer()->clean_left_overs();
  REQUIRE(said);
  CHECK(said->size() == 1);
  CHECK(containers(bench.config.engine, bench.config.project) == 0);
  CHECK((*engine)->inspect(theirs));
  CHECK_FALSE((*engine)->inspect(ours));
  CHECK((*engine)->remove(theirs));
}
