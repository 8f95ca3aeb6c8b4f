#include "gate/release.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace nightgate::release {
namespace {

using Cell = std::pair<std::string, std::string>;  // deployment, scenario

class Figures {
 public:
  void add(const measure::Measurement& m) {
    ++starts_[{m.deployment, m.scenario}];
    for (const auto& [name, info] : m.metrics) {
      const auto value = m.value(name);
      if (!value) continue;
      auto& figure = figures_[fmt::format("{}.{}.{}", m.deployment, m.scenario, name)];
      figure.deployment = m.deployment;
      figure.scenario = m.scenario;
      figure.info = info;
      figure.values.push_back(*value);
    }
  }
  [[nodiscard]] int starts(const Cell& cell) const {
    const auto at = starts_.find(cell);
    return at == starts_.end() ? 0 : at->second;
  }
  [[nodiscard]] std::vector<Figure> take() {
    std::vector<Figure> out;
    for (auto& [name, figure] : figures_) {
      figure.metric = name;
      out.push_back(std::move(figure));
    }
    return out;
  }

 private:
  std::map<std::string, Figure> figures_;
  std::map<Cell, int> starts_;
};

bool selected(const compare::Options& options, const std::string& scenario) {
  const auto& only = options.scenarios;
  return only.empty() || std::find(only.begin(), only.end(), scenario) != only.end();
}

}  // namespace

Result<Outcome> run(const config::Config& config, const targets::Target& from, const targets::Target& to,
                    const Options& options, measure::Measurer& measurer, Clock& clock, compare::Observer& observer) {
  Outcome out;
  NG_TRY(out.compare, compare::run(config, {from, to}, options.compare, measurer, clock, observer));
  Figures figures;
  for (const auto& step : out.compare.steps) {
    if (step.arm == 1 && step.failure.empty()) figures.add(step.measurement);
  }
  const bool comparable = out.compare.aa_complaint.empty() && out.compare.differences.empty();
  const auto stopped = [&] { return options.compare.stop && options.compare.stop(); };
  const auto half = fail(Code::measure, "stopped on request; a release is kept with whole figures only");
  if (out.compare.stopped) return half;
  int start = static_cast<int>(out.compare.steps.size());
  for (const auto& deployment : config.deployments) {
    for (const auto& scenario : config.scenarios) {
      if (!comparable || !scenario.runs_on(deployment.name) || !selected(options.compare, scenario.name)) continue;
      int failed = 0;
      while (figures.starts({deployment.name, scenario.name}) < options.rounds && failed < 3) {
        compare::Step step{1, -1, 0, {}, {}};
        auto got = measurer.measure(to, deployment, scenario, start++);
        if (!got && got.error().code != Code::measure) return tl::unexpected<Error>(std::move(got).error());
        if (got) step.measurement = std::move(*got);
        step.failure = got ? step.measurement.no_verdict : got.error().text();
        if (!step.failure.empty() && stopped()) return half;
        if (step.failure.empty()) {
          figures.add(step.measurement);
        } else {
          ++failed;
          out.failures.push_back(fmt::format("{}.{}: {}", deployment.name, scenario.name, step.failure));
        }
        observer.measured(step);
      }
    }
  }
  out.figures = figures.take();
  return out;
}

}  // namespace nightgate::release
