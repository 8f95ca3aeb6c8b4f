#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bisect/search/simulate.hpp"
#include "ci/cli/output.hpp"

namespace nightgate::cli {

Result<int> verb_simulate(const Options& options) {
  search::Simulation s;
  s.merges = options.merges;
  s.effect = options.effect;
  s.noise = options.noise_sd;
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
                         {"strategy", options.strategy},
                         {"simulations", s.runs},
                         {"right", result.right},
                         {"wrong", result.wrong},
                         {"undecided", result.undecided},
                         {"measurements_mean", result.measurements_mean},
                         {"measurements_p95", result.measurements_p95}});
  } else {
    print(fmt::format(
        "{} simulated bisects over {} merges, shift {:.0f} %, noise {:.1f} % per start ({:.1f} sd):\n"
        "  right {:.1f} %, wrong {:.1f} %, undecided {:.1f} %\n"
        "  {:.0f} measurements in the mean, 95 % need at most {:.0f}\n",
        s.runs, s.merges, 100 * s.effect, 100 * s.noise, s.effect / s.noise, 100 * result.right, 100 * result.wrong,
        100 * result.undecided, result.measurements_mean, static_cast<double>(result.measurements_p95)));
  }
  return 0;
}

}  // namespace nightgate::cli
