// What nightgate itself uses during a repeat: CPU (aim: under 1 % of one CPU) and disk writes (aim: none). Measures a
// small HTTP server (python3's, or the program given) with wrk for a few repeats and prints nightgate's own use beside
// it.
//
//   bench_measure_footprint [seconds per repeat]
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>

#include "gate/measure/measurement.hpp"

using namespace nightgate;

namespace {

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double own_written_bytes() {
  const auto io = read_file("/proc/self/io");
  const auto at = io ? io->find("\nwrite_bytes:") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtod(io->c_str() + at + 13, nullptr);
}

// Notes its own use at the first sign of life of each repeat and at its end; what lies between is the repeat itself.
class Meter : public measure::Progress {
 public:
  void step(std::string_view what) override {
    close();
    open_ = what.find("repeat") != std::string_view::npos;
    cpu_ = own_cpu_seconds();
    written_ = own_written_bytes();
    begin_ = system_clock().monotonic();
  }
  void done(const measure::Measurement&) override { close(); }
  double cpu_share() const { return seconds_ > 0 ? used_ / seconds_ : 0; }
  double written() const { return wrote_; }

 private:
  void close() {
    if (!open_) return;
    open_ = false;
    const double seconds = std::chrono::duration<double>(system_clock().monotonic() - begin_).count();
    const double used = own_cpu_seconds() - cpu_;
    const double wrote = own_written_bytes() - written_;
    fmt::print("repeat of {:.1f} s: own CPU {:.4f} s = {:.2f} % of one CPU, {:.0f} bytes written\n", seconds, used,
               used / seconds * 100, wrote);
    used_ += used;
    seconds_ += seconds;
    wrote_ += wrote;
  }
  bool open_ = false;
  double cpu_ = 0, written_ = 0, used_ = 0, seconds_ = 0, wrote_ = 0;
  std::chrono::nanoseconds begin_{};
};

}  // namespace

int main(int argc, char** argv) {
  const auto state = TempDir::make("ng-footprint");
  if (!state) return 1;
  config::Config config;
  config.project = "footprint";
  config.directory = config.state = state->path();
  config.machine = {"", "", "", "", true, 1000, 0, 1, 1000, 0, 0, 0};
  config::Node broker;
  broker.name = "broker";
  broker.port = 18473;
  broker.command = {"python3", "-m",        "http.server", "{broker.port}",
                    "--bind",  "127.0.0.1", "--directory", "/var/empty"};
  config::Deployment deployment;
  deployment.name = "python";
  deployment.brokers = {broker};
  config.deployments = {deployment};
  config::Scenario scenario;
  scenario.name = "list";
  config::WrkLoad load;
  load.connections = 4;
  load.seconds = argc > 1 ? std::atof(argv[1]) : 5;
  load.path = "/";
  scenario.load = load;
  scenario.expect = {200, 404};
  scenario.warmup_seconds = 0;
  config.scenarios = {scenario};

  Meter meter;
  auto measurer = measure::make_measurer(config, system_clock(), meter, nullptr);
  if (!measurer) return 1;
  targets::Target target;
  target.digest = target.label = "footprint";
  target.form = targets::NoBroker{};
  const auto measured = (*measurer)->measure(target, deployment, scenario, 0);
  if (!measured) {
    fmt::print("{}\n", measured.error().text());
    return 1;
  }
  fmt::print("nightgate's own use during repeats: {:.2f} % of one CPU, {:.0f} bytes written to disk\n",
             meter.cpu_share() * 100, meter.written());
  return 0;
}
