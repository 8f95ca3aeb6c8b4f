#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bisect/search/simulate.hpp"
#include "bisect/session/session.hpp"
#include "ci/cli/context.hpp"

namespace nightgate::cli {

namespace {

constexpr double usual_noise = 0.05;

// As asked for, else as this machine was seen to be.
Result<session::KnownNoise> noise_for(const Options& options) {
  if (options.noise_sd > 0) return session::KnownNoise{options.noise_sd, "--noise"};
  if (options.metric.empty()) return session::KnownNoise{usual_noise, "default (--metric takes this machine's)"};
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto cell, session::find_metric(config, nullptr, options.metric));
  NG_TRY(const auto store, open_store(config));
  const auto machine = machine_name(options, config);
  NG_TRY(const auto known, session::known_noise(*store, config.project, machine, cell, options.metric));
  if (known) return *known;
  return fail(Code::usage,
              fmt::format("nothing is known of the noise of {} on {}; run `nightgate check --noise` or give "
                          "--noise",
                          options.metric, machine));
}

}  // namespace

Result<int> verb_simulate(const Options& options) {
  search::Simulation s;
  s.merges = options.merges;
  s.effect = options.effect;
  NG_TRY(const auto noise, noise_for(options));
  s.noise = noise.sd;
  if (!options.drift.empty()) {
    const auto drift = search::drift_from(options.drift);
    if (!drift) return fail(Code::usage, "--drift is walk, jump or trend");
    s.drift = *drift;
  }
  const auto strategy = search::strategy_from(options.strategy);
  if (!strategy) return fail(Code::usage, "--strategy is full, halving1, halving3 or halving5");
  s.strategy = *strategy;
  s.outliers = options.outliers;
  s.image_effect = options.image_effect;
  s.slow_noise = options.slow_noise;
  s.missing = options.missing;
  s.culprits = options.culprits;
  s.machines = options.machines;
  s.interior = options.interior;
  if (options.error > 0) s.error = options.error;
  if (options.max_measurements > 0) s.max_measurements = options.max_measurements;
  s.runs = options.runs;
  s.seed = options.seed;
  if (s.culprits > 0 && !(s.effect > 0)) return fail(Code::usage, "--effect must be above 0 when there is a culprit");
  const auto result = search::simulate(s);
  if (options.json) {
    print_json(options, {{"merges", s.merges},
                         {"effect", s.effect},
                         {"noise", s.noise},
                         {"noise_source", noise.source},
                         {"strategy", options.strategy},
                         {"simulations", s.runs},
                         {"right", result.right},
                         {"wrong", result.wrong},
                         {"undecided", result.undecided},
                         {"measurements_mean", result.measurements_mean},
                         {"measurements_p95", result.measurements_p95}});
  } else {
    print(
        fmt::format("{} simulated bisects over {} merges, shift {:.0f} %, noise {:.1f} % per start by {} ({:.1f} sd):\n"
                    "  right {:.1f} %, wrong {:.1f} %, undecided {:.1f} %\n"
                    "  {:.0f} measurements in the mean, 95 % need at most {:.0f}\n",
                    s.runs, s.merges, 100 * s.effect, 100 * s.noise, noise.source, s.effect / s.noise,
                    100 * result.right, 100 * result.wrong, 100 * result.undecided, result.measurements_mean,
                    static_cast<double>(result.measurements_p95)));
  }
  return 0;
}

}  // namespace nightgate::cli
