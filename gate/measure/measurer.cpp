#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "gate/base/log.hpp"
#include "gate/measure/answers.hpp"
#include "gate/measure/definition.hpp"
#include "gate/measure/deployment.hpp"
#include "gate/measure/fixture.hpp"
#include "gate/measure/load.hpp"
#include "gate/measure/machine.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/measure/repeats.hpp"
#include "gate/measure/sampling.hpp"

namespace nightgate::measure {
namespace {

bool needs_engine(const config::Deployment& deployment) {
  const auto is_image = [](const config::Node& node) { return !node.image.empty(); };
  return std::ranges::any_of(deployment.services, is_image) || std::ranges::any_of(deployment.brokers, is_image);
}

class HostMeasurer : public Measurer {
 public:
  HostMeasurer(const config::Config& config, Clock& clock, Progress& progress, StopFlag stop, Topology topology,
               std::unique_ptr<targets::Engine> engine)
      : config_(config),
        clock_(clock),
        progress_(progress),
        stop_(std::move(stop)),
        topology_(std::move(topology)),
        engine_(std::move(engine)) {}

  Result<MachineInfo> machine() override;
  Result<std::vector<std::string>> clean_left_overs() override {
    return measure::clean_left_overs(config_.state, config_.project, engine_.get());
  }
  Result<Definition> definition(const config::Deployment& deployment, const config::Scenario& scenario) override;
  Result<Measurement> measure(const targets::Target& target, const config::Deployment& deployment,
                              const config::Scenario& scenario, int start) override;
  Result<std::vector<Answer>> answers(const targets::Target& target, const config::Deployment& deployment,
                                      const config::Scenario& scenario,
                                      const std::vector<config::Equivalence>& requests) override;

 private:
  [[nodiscard]] Result<Placement> placement(const config::Deployment& deployment) const {
    return place(restrict_to(topology_, own_affinity()), config_.machine, deployment);
  }
  [[nodiscard]] Result<std::map<std::string, std::string>> service_digests(const config::Deployment& deployment);
  // Everything between the start of the deployment and its end.
  [[nodiscard]] Status measure_in(RunningDeployment& running, const config::Scenario& scenario, Load& load,
                                  const Surroundings& around, Measurement& out);

  const config::Config& config_;
  Clock& clock_;
  Progress& progress_;
  StopFlag stop_;
  Topology topology_;
  std::unique_ptr<targets::Engine> engine_;
};

Result<MachineInfo> HostMeasurer::machine() {
  NG_TRY(const auto placed, placement(config_.deployments.front()));
  NG_TRY(auto info, read_machine(config_.machine, topology_, placed));
  for (const auto& deployment : config_.deployments) {
    NG_TRY(const auto each, placement(deployment));
    info.shared = info.shared || each.shared;
    if (needs_engine(deployment) && engine_ == nullptr) {
      return fail(Code::usage, fmt::format("deployment '{}' uses images, and the config names no \"engine\" (for "
                                           "example \"unix:///var/run/docker.sock\")",
                                           deployment.name));
    }
  }
  const auto uses_wrk = [](const config::Scenario& scenario) {
    return std::holds_alternative<config::WrkLoad>(scenario.load);
  };
  if (std::ranges::any_of(config_.scenarios, uses_wrk)) {
    if (auto version = wrk_version(); !version) return tl::unexpected<Error>(std::move(version).error());
  }
  if (engine_ != nullptr) {
    NG_TRY(info.engine, engine_->version());
  }
  return info;
}

Result<std::map<std::string, std::string>> HostMeasurer::service_digests(const config::Deployment& deployment) {
  std::map<std::string, std::string> out;
  for (const auto* nodes : {&deployment.services, &deployment.brokers}) {
    for (const auto& node : *nodes) {
      if (node.image.empty()) continue;
      if (engine_ == nullptr) return fail(Code::usage, fmt::format("'{}' is an image; name an \"engine\"", node.name));
      auto info = engine_->image(node.image);
      if (!info && info.error().code == Code::not_found) {  // definitions are asked for before the first measurement
        log::info(fmt::format("pulling {} for '{}'", node.image, node.name));
        NG_CHECK(engine_->pull(node.image, std::nullopt));
        info = engine_->image(node.image);
      }
      if (!info) return with_context(std::move(info).error(), "finding the image of '" + node.name + "'");
      out[node.name] = info->digest;
    }
  }
  return out;
}

Result<Definition> HostMeasurer::definition(const config::Deployment& deployment, const config::Scenario& scenario) {
  DefinitionParts parts;
  NG_TRY(parts.files, hash_files(scenario, config_.directory));
  NG_TRY(parts.services, service_digests(deployment));
  NG_TRY(const auto load, make_load(config_, scenario));
  parts.load_tool = load->tool();
  NG_TRY(const auto placed, placement(deployment));
  parts.placement = placed.text();
  return make_definition(deployment, scenario, parts);
}

Status HostMeasurer::measure_in(RunningDeployment& running, const config::Scenario& scenario, Load& load,
                                const Surroundings& around, Measurement& out) {
  Sampling sampling(running, scenario, around);
  const auto tick = [&](double seconds, std::uint64_t requests) -> Status {
    if (around.stopped()) return fail(Code::measure, "stopped on request");
    const auto left = std::max(0.0, load.seconds() - seconds);
    const double rate = seconds > 0 ? static_cast<double>(requests) / seconds : 0;
    progress_.rate(rate, std::chrono::seconds(static_cast<int>(left)));
    return sampling.tick();
  };
  const auto say = [&](std::string_view what) {
    progress_.step(fmt::format("{}.{}, start {}, {}", out.deployment, out.scenario, out.start + 1, what));
  };
  RepeatSteps steps;
  steps.fill = [&] { return load_fixture(running, scenario.fixture, around); };
  steps.empty = [&] { return running.empty_store(); };
  steps.check = [&] { return check_count(running, scenario.fixture); };
  steps.warm_up = [&]() -> Status {
    if (scenario.warmup_seconds <= 0) return {};
    say("warm-up");
    const auto warm = load.run(running, around.placement.load, scenario.warmup_seconds, Purpose::warm_up, tick);
    return warm ? Status{} : with_context(warm.error(), "warming up");
  };
  steps.run = [&](int number, int attempt) -> Result<RepeatResult> {
    say(fmt::format("repeat {} of {}{}", number + 1, scenario.repeats, attempt == 0 ? "" : ", again"));
    sampling.begin();
    const auto loaded = load.run(running, around.placement.load, load.seconds(), Purpose::repeat, tick);
    if (!loaded) {
      // Somebody stopped the broker, and the load saw time-outs: not the broker's errors, so not the end of the start.
      RepeatResult excused;
      excused.void_reason = around.stopped() ? std::string() : sampling.excuse();
      if (excused.void_reason.empty()) return tl::unexpected<Error>(loaded.error());
      return excused;
    }
    auto result = sampling.end(*loaded);
    NG_CHECK(running.alive());
    return result;
  };
  return run_repeats(scenario.repeats, scenario.store, steps, clock_, out);
}

Result<Measurement> HostMeasurer::measure(const targets::Target& target, const config::Deployment& deployment,
                                          const config::Scenario& scenario, int start) {
  Measurement out;
  out.deployment = deployment.name;
  out.scenario = scenario.name;
  out.start = start;
  const auto doing = fmt::format("measuring {}.{} of {}", deployment.name, scenario.name, target.label);
  NG_TRY(const auto load, make_load(config_, scenario));
  NG_TRY(const auto placed, placement(deployment));
  const Surroundings around{config_, clock_, engine_.get(), placed, stop_};
  NG_TRY(out.no_verdict, wait_until_quiet(around, progress_));
  if (!out.no_verdict.empty()) {
    out.no_verdict =
        fmt::format("the machine was not quiet within {} minutes: {}", config_.machine.wait_minutes, out.no_verdict);
    progress_.done(out);
    return out;
  }
  progress_.step(fmt::format("{}.{}, start {}, starting", deployment.name, scenario.name, start + 1));
  auto running = RunningDeployment::start(around, target, deployment);
  if (!running) return with_context(std::move(running).error(), doing);
  if (auto done = measure_in(**running, scenario, *load, around, out); !done) {
    auto error = std::move(done).error();
    // The load saw errors because the broker is gone? Then that is the cause to tell.
    if (const auto alive = (*running)->alive(); !alive && alive.error().message != error.message) {
      error.message = alive.error().message + "\n(the load said: " + error.message + ")";
    } else if (error.message.find("its log ends") == std::string::npos) {
      error.message += log_note((*running)->log_tail());
    }
    if (error.code == Code::away) error.code = Code::measure;  // the broker did not answer one of our requests
    return with_context(std::move(error), doing);
  }
  for (const auto& [name, info] : scenario.metrics) {
    if (out.metrics.contains(name)) out.metrics[name] = info;
  }
  if (!out.no_verdict.empty()) out.log_tail = (*running)->log_tail();
  progress_.done(out);
  return out;
}

Result<std::vector<Measurer::Answer>> HostMeasurer::answers(const targets::Target& target,
                                                            const config::Deployment& deployment,
                                                            const config::Scenario& scenario,
                                                            const std::vector<config::Equivalence>& requests) {
  NG_TRY(const auto placed, placement(deployment));
  const Surroundings around{config_, clock_, engine_.get(), placed, stop_};
  const auto doing = fmt::format("asking {} for its answers", target.label);
  auto running = RunningDeployment::start(around, target, deployment);
  if (!running) return with_context(std::move(running).error(), doing);
  if (auto filled = load_fixture(**running, scenario.fixture, around); !filled) {
    return with_context(std::move(filled).error(), doing);
  }
  return ask_all(**running, requests);
}

}  // namespace

Result<std::unique_ptr<Measurer>> make_measurer(const config::Config& config, Clock& clock, Progress& progress,
                                                StopFlag stop) {
  if (config.deployments.empty()) return fail(Code::usage, "the config has no deployment");
  NG_TRY(auto topology, read_topology());
  std::unique_ptr<targets::Engine> engine;
  if (!config.engine.empty()) {
    NG_TRY(engine, targets::make_engine(config.engine));
  }
  return std::make_unique<HostMeasurer>(config, clock, progress, std::move(stop), std::move(topology),
                                        std::move(engine));
}

}  // namespace nightgate::measure
