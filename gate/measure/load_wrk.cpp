#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gate/formats/wrk.hpp"
#include "gate/measure/load.hpp"
#include "gate/measure/readings.hpp"
#include "gate/measure/watched.hpp"

namespace nightgate::measure {
namespace {

constexpr double extra_seconds = 30;  // for connecting, and for answers that come late

class WrkRunner : public Load {
 public:
  WrkRunner(config::WrkLoad load, std::vector<int> expect, std::string version)
      : load_(std::move(load)), expect_(std::move(expect)), version_(std::move(version)) {}

  std::string tool() const override { return version_; }
  double seconds() const override { return load_.seconds; }

  Result<LoadResult> run(RunningDeployment& deployment, const CpuSet& cpus, double seconds, Purpose purpose,
                         const Tick& tick) override {
    const auto* broker = deployment.first_broker();
    if (broker == nullptr) return fail(Code::usage, "wrk needs a broker, and the deployment has none");
    NG_TRY(const auto script, script_file(deployment, must_count(purpose)));
    NG_TRY(const auto path, deployment.names().expand(load_.path));
    // wrk takes no fractions of a second, but an interrupted wrk prints what it has, with the time that it took.
    const auto whole_seconds = std::max(1.0, std::ceil(seconds));
    const bool fraction = seconds < whole_seconds;
    Command command;
    command.argv = {"wrk",
                    "-t",
                    std::to_string(std::clamp(load_.threads, 1, load_.connections)),  // fewer connections than threads
                    "-c",
                    std::to_string(load_.connections),
                    "-d",
                    fmt::format("{:.0f}", whole_seconds),
                    "-s",
                    script.string(),
                    url_of(*broker) + (path.starts_with('/') ? "" : "/") + path};
    command.clear_environment = true;
    command.environment = plain_environment();
    command.environment[std::string(run_variable)] = deployment.record().uuid();
    if (!load_.script.empty()) command.directory = load_.script.parent_path();
    command.cpus = cpus;
    const WatchLimits limits{whole_seconds + extra_seconds, fraction ? seconds : never};
    NG_TRY(const auto watched, run_watched(command, deployment.directory(), limits, tick));
    return result_of(watched);
  }

 private:
  // Written once per start, so that nothing is on its way to the disk while a repeat runs.
  [[nodiscard]] Result<fs::path> script_file(RunningDeployment& deployment, bool count) const {
    const auto file = deployment.directory() / (count ? "load-counting.lua" : "load.lua");
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
      NG_CHECK(write_file(file, formats::wrk_script({load_.script.string(), expect_, count})));
    }
    return file;
  }

  // Counting every status costs wrk a third of its rate, so repeats leave it out where they can: the warm-up has
  // counted, and statuses above 399 are always counted.
  [[nodiscard]] bool must_count(Purpose purpose) const {
    return purpose == Purpose::warm_up || std::ranges::any_of(expect_, [](int status) { return status > 399; });
  }

  static Result<LoadResult> result_of(const Watched& watched) {
    if (!std::holds_alternative<Exited>(watched.ending) || std::get<Exited>(watched.ending).code != 0) {
      return fail(Code::measure,
                  fmt::format("wrk failed: {}{}", ending_text(watched.ending), log_note(watched.err_tail)));
    }
    auto parsed = formats::parse_wrk(watched.out);
    if (!parsed) {
      return fail(Code::measure, parsed.error().message + (watched.err_tail.empty() ? "" : ": " + watched.err_tail));
    }
    if (const auto complaint = formats::wrk_complaint(*parsed)) {
      return fail(Code::measure, *complaint + "; a rate over errors is not a rate");
    }
    LoadResult out;
    add_readings(formats::wrk_readings(*parsed), out);
    out.requests = parsed->requests;
    out.seconds = static_cast<double>(parsed->duration_us) / 1e6;
    out.cpu_seconds = watched.usage.user_seconds + watched.usage.system_seconds;
    return out;
  }

  config::WrkLoad load_;
  std::vector<int> expect_;
  std::string version_;
};

}  // namespace

Result<std::string> wrk_version() {
  const auto missing = [](const std::string& why) {
    return fail(Code::measure, why + "; install it (Debian and Ubuntu: apt-get install wrk)");
  };
  if (!find_program("wrk")) return missing("wrk, the load generator, is not installed");
  Command command;
  command.argv = {"wrk", "--version"};
  NG_TRY(const auto output, nightgate::run(command, std::chrono::seconds(5), 65536));
  // "wrk debian/4.1.0-3 [epoll] Copyright ..."; it exits with 1 after that.
  const auto text = output.out + output.err;
  const auto end = text.find(' ', text.find(' ') + 1);
  if (!text.starts_with("wrk ") || end == std::string::npos) {
    return missing("the program wrk in PATH does not say its version (" + ending_text(output.ending) + ")");
  }
  return text.substr(0, end);
}

Result<std::unique_ptr<Load>> make_wrk_load(const config::WrkLoad& load, std::vector<int> expect) {
  if (load.connections < 1) return fail(Code::usage, "wrk needs at least one connection");
  NG_TRY(auto version, wrk_version());
  return std::make_unique<WrkRunner>(load, std::move(expect), std::move(version));
}

}  // namespace nightgate::measure
