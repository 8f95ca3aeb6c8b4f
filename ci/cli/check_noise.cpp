// check --noise: what can this machine see? One target against itself, interleaved over several starts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "gate/judge/pairs.hpp"
#include "gate/records/records.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

struct Series {  // of one metric: per start, the logs of its repeats and when it began
  config::MetricInfo info;
  std::vector<std::vector<double>> starts;
  std::vector<double> hours;
  std::string definition;
};

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}
double squares(const std::vector<double>& v) {
  const double m = mean(v);
  double sum = 0;
  for (const double x : v) sum += (x - m) * (x - m);
  return sum;
}

struct Seen {
  double within = 0, between = 0, drift = 0;  // sd of the log; per hour
  double night = 0, pairs = 0, bisect = 0;    // smallest change found, share
};

// Components of a one-way layout (within starts, between starts; Searle, Casella, McCulloch 1992, ch. 3) and a least
// squares trend over time.
Seen look(const Series& s, const config::Config& config) {
  Seen out;
  double inside = 0;
  int degrees = 0;
  std::vector<double> values;
  for (const auto& start : s.starts) {
    inside += squares(start);
    degrees += static_cast<int>(start.size()) - 1;
    auto sorted = start;
    std::sort(sorted.begin(), sorted.end());
    values.push_back(sorted[sorted.size() / 2]);
  }
  if (degrees > 0) out.within = std::sqrt(inside / degrees);
  if (values.size() > 1) out.between = std::sqrt(squares(values) / static_cast<double>(values.size() - 1));
  const double spread = squares(s.hours);
  if (spread > 0) {
    const double middle_time = mean(s.hours), middle = mean(values);
    for (std::size_t i = 0; i < values.size(); ++i)
      out.drift += (s.hours[i] - middle_time) * (values[i] - middle) / spread;
  }
  const double start_sd = std::max(0.002, out.between);
  const double night_sd = start_sd / std::sqrt(std::max(1, config.night.starts));
  out.night = std::max(config.gate.min_change, std::expm1(5 * night_sd));  // the gate's clear two-night case: 5 sigma
  out.pairs = std::expm1(judge::always_valid_half_width(10, 10, start_sd * std::sqrt(2.0), 0.01 / 5, 2.0));
  out.bisect = std::expm1(1.5 * start_sd);  // below 1.5 sd of one start a bisect gets long (bisect/README.md)
  return out;
}

std::string advice(const Series& s, const Seen& seen, const config::Config& config) {
  if (s.starts.size() < 3) return "more time: too few starts to say";
  if (std::abs(seen.drift) > 2 * seen.between) return "a control target (night.control): the machine drifts";
  if (seen.between > 2 * seen.within)
    return fmt::format("more starts (night.starts is {}): starts differ more than repeats do", config.night.starts);
  if (seen.within > 0.03) return "longer repeats or more of them, or CPU per request instead of the rate";
  return "nothing: this is quiet";
}

Status keep(const config::Config& config, const measure::MachineInfo& machine, const std::map<std::string, Series>& all,
            int repeats) {
  NG_TRY(const auto store, open_store(config));
  NG_CHECK(store->put_machine(records::to_row(machine)));
  std::vector<store::Noise> rows;
  for (const auto& [name, s] : all) {
    const auto seen = look(s, config);
    store::Noise row;
    row.metric = name;
    row.at = system_clock().now();
    row.machine_class = machine.machine_class;
    row.definition = s.definition;
    row.starts = static_cast<int>(s.starts.size());
    row.repeats = repeats;
    row.within = seen.within;
    row.between = seen.between;
    row.drift = seen.drift;
    rows.push_back(std::move(row));
  }
  return store->put_noise(config.project, machine.name, rows);
}

void add(std::map<std::string, Series>& all, const measure::Measurement& m, const std::string& definition,
         double hours) {
  for (const auto& [metric, info] : m.metrics) {
    if (!info.gated) continue;
    std::vector<double> logs;
    for (const auto& repeat : m.repeats) {
      if (repeat.voided) continue;
      for (const auto& sample : repeat.samples) {
        if (sample.metric == metric && sample.value > 0) logs.push_back(std::log(sample.value));
      }
    }
    if (logs.empty()) continue;
    auto& s = all[records::full_name(m.deployment, m.scenario, metric)];
    s.info = info;
    s.definition = definition;
    s.starts.push_back(std::move(logs));
    s.hours.push_back(hours);
  }
}

Result<targets::Target> some_target(const Bench& bench) {
  if (!bench.history) return bench.finder->parse("");
  NG_TRY(const auto merges, bench.history->newest(20));
  for (const auto& merge : merges) {
    NG_TRY(auto found, bench.finder->find(merge));
    if (auto* target = std::get_if<targets::Target>(&found)) return std::move(*target);
  }
  return fail(Code::measure, "none of the newest 20 merges has a target to measure");
}

}  // namespace

Result<int> check_noise(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto bench, open_bench(options, config, std::chrono::minutes(config.machine.wait_minutes)));
  NG_TRY(const auto machine, bench.measurer->machine());
  NG_TRY(const auto target, some_target(bench));
  NG_CHECK(bench.finder->prepare(target));
  const double minutes = options.max_minutes > 0 ? options.max_minutes : 10;
  const auto began = system_clock().monotonic();
  const auto hours = [&] {
    return std::chrono::duration<double, std::ratio<3600>>(system_clock().monotonic() - began).count();
  };
  std::map<std::string, Series> all;
  std::vector<std::string> failures;
  int repeats = 0;
  for (int start = 0; (hours() * 60 < minutes || start < 3) && !stop_requested(); ++start) {
    for (const auto& deployment : config.deployments) {
      for (const auto& scenario : config.scenarios) {
        if (!scenario.runs_on(deployment.name)) continue;
        NG_TRY(const auto definition, bench.measurer->definition(deployment, scenario));
        const double now = hours();
        NG_TRY(const auto m, bench.measurer->measure(target, deployment, scenario, start));
        repeats = std::max(repeats, scenario.repeats);
        if (m.no_verdict.empty()) {
          add(all, m, definition.hash, now);
        } else {
          failures.push_back(deployment.name + "." + scenario.name + ": " + m.no_verdict);
        }
      }
    }
  }
  bench.progress->clear();
  NG_CHECK(keep(config, machine, all, repeats));
  json document = {{"machine", machine.name},
                   {"target", target.label},
                   {"minutes", hours() * 60},
                   {"metrics", json::array()},
                   {"failures", failures}};
  std::string text = fmt::format(
      "What {} can see, from {} measured against itself for {:.1f} minutes. Spread is the sd of the log: inside one "
      "start, between\n"
      "fresh starts, and the drift per hour. Then the smallest change that two nights trip on, that ten pairs of a "
      "compare show, and\n"
      "below which a bisect gets long.\n\n  {:<36} {:>8} {:>8} {:>9}  {:>7} {:>7} {:>7}\n",
      machine.name, clean(target.label), hours() * 60, "metric", "inside", "between", "drift/h", "night", "pairs",
      "bisect");
  for (const auto& [name, s] : all) {
    const auto seen = look(s, config);
    const auto help = advice(s, seen, config);
    document["metrics"].push_back({{"metric", name},
                                   {"starts", s.starts.size()},
                                   {"within", seen.within},
                                   {"between", seen.between},
                                   {"drift_per_hour", seen.drift},
                                   {"smallest_night", seen.night},
                                   {"smallest_pairs", number_or_null(seen.pairs)},
                                   {"smallest_bisect", seen.bisect},
                                   {"advice", help}});
    text += fmt::format("  {:<36} {:>6.1f} % {:>6.1f} % {:>7.1f} %  {:>5.1f} % {:>5.1f} % {:>5.1f} %  {}\n", name,
                        100 * seen.within, 100 * seen.between, 100 * seen.drift, 100 * seen.night, 100 * seen.pairs,
                        100 * seen.bisect, help);
  }
  for (const auto& f : failures) text += "  no verdict: " + clean(f) + "\n";
  if (options.json) {
    print_json(options, document);
  } else {
    print(text);
  }
  return all.empty() ? 3 : 0;
}

}  // namespace nightgate::cli
