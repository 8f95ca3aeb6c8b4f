#include "gate/night_measuring.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gate/base/log.hpp"
#include "gate/records/records.hpp"
#include "store/medians.hpp"

namespace nightgate::nightly {
namespace {

using measure::Measurement;

class Measuring {
 public:
  Measuring(const Parts& parts, const Outcome& outcome, const std::vector<Cell>& cells,
            std::chrono::nanoseconds deadline)
      : parts_(parts), outcome_(outcome), cells_(cells), deadline_(deadline) {}

  Result<Measured> go() {
    NG_CHECK(recall());
    NG_CHECK(measure_self());
    for (const auto& cell : cells_) {
      NG_TRY(const bool go_on, measure_cell(cell));
      if (!go_on) break;
    }
    return std::move(out_);
  }

 private:
  // A killed night goes on: what is stored is not measured again.
  Status recall() {
    if (!outcome_.night.resumed || parts_.store == nullptr) return {};
    NG_TRY(auto rows, parts_.store->measurements(outcome_.night.run));
    for (const auto& row : rows) {
      auto& side = row.role != store::Role::control ? out_.target : row.arm == self_arm ? out_.self : out_.control;
      side.push_back(records::from_row(row));
    }
    return {};
  }

  // How far apart two starts of one version lie on this machine tonight, by the first cell. It decides nothing: a
  // control that can't be measured is told where it is compared.
  Status measure_self() {
    if (!outcome_.control || cells_.empty()) return {};
    const auto& cell = cells_.front();
    for (int start = 0; start < 2; ++start) {
      if (has(out_.self, cell, start) || parts_.clock.monotonic() >= deadline_) continue;
      parts_.telling.step(fmt::format("{}: control against itself, start {} of 2", cell.name(), start + 1));
      quieten();
      auto got = parts_.measurer.measure(*outcome_.control, *cell.deployment, *cell.scenario, start);
      if (!got) {
        if (parts_.stop && parts_.stop()) return tl::unexpected<Error>(std::move(got).error());
        log::debug("control against itself: " + got.error().text());
        return {};
      }
      NG_CHECK(parts_.recorder.put_measurement(records::to_row(*got, outcome_.night.run, store::Role::control, self_arm,
                                                               records::to_row(*outcome_.control, nullptr),
                                                               cell.definition)));
      out_.self.push_back(std::move(*got));
    }
    return {};
  }

  static bool has(const std::vector<Measurement>& side, const Cell& cell, int start) {
    return std::any_of(side.begin(), side.end(), [&](const Measurement& m) {
      return m.deployment == cell.deployment->name && m.scenario == cell.scenario->name && m.start == start;
    });
  }

  // false: the broker is broken everywhere, no use in going on.
  Result<bool> measure_cell(const Cell& cell) {
    for (int start = 0; start < parts_.config.night.starts; ++start) {
      // T C, then C T, then T C ...: drift falls on both.
      const bool target_first = start % 2 == 0;
      for (const bool target_now : {target_first, !target_first}) {
        if (!target_now && !outcome_.control) continue;
        const auto role = target_now ? store::Role::target : store::Role::control;
        if (has(target_now ? out_.target : out_.control, cell, start)) continue;
        if (parts_.clock.monotonic() >= deadline_) {
          failed(cell, fmt::format("out of time: the night's {} minutes are over", parts_.config.night.max_minutes),
                 false);
          return true;
        }
        NG_TRY(const bool good, measure_one(cell, role, start));
        if (!good) return broken_in_a_row_ < 3;
      }
    }
    broken_in_a_row_ = 0;
    return true;
  }

  Result<bool> measure_one(const Cell& cell, store::Role role, int start) {
    const bool is_target = role == store::Role::target;
    const auto& target = is_target ? outcome_.target : *outcome_.control;
    parts_.telling.step(fmt::format("{}: start {} of {}, {}", cell.name(), start + 1, parts_.config.night.starts,
                                    is_target ? target.label : "control " + target.label));
    quieten();
    auto got = parts_.measurer.measure(target, *cell.deployment, *cell.scenario, start);
    if (!got) {
      if (parts_.stop && parts_.stop()) return tl::unexpected<Error>(std::move(got).error());
      ++broken_in_a_row_;
      failed(cell, (is_target ? "" : "control: ") + got.error().text(), true);
      return false;
    }
    const auto* merge = is_target && outcome_.merge ? &*outcome_.merge : nullptr;
    NG_CHECK(parts_.recorder.put_measurement(
        records::to_row(*got, outcome_.night.run, role, 0, records::to_row(target, merge), cell.definition)));
    parts_.telling.measured(*got, role);
    if (!got->no_verdict.empty()) failed(cell, (is_target ? "" : "control: ") + got->no_verdict, false);
    const bool good = got->no_verdict.empty();
    (is_target ? out_.target : out_.control).push_back(std::move(*got));
    if (good) return true;
    return false;
  }

  // The private cluster writes out what it holds now, not during the next repeat. A store that went away writes
  // nothing.
  void quieten() {
    if (parts_.store == nullptr) return;
    if (auto quiet = parts_.store->prepare_quiet(); !quiet) log::debug(quiet.error().text());
  }

  void failed(const Cell& cell, std::string why, bool broken) {
    out_.failures.push_back({cell.name(), std::move(why), broken});
  }

  const Parts& parts_;
  const Outcome& outcome_;
  const std::vector<Cell>& cells_;
  std::chrono::nanoseconds deadline_;
  Measured out_;
  int broken_in_a_row_ = 0;
};

// Median over the starts of one side; nullopt when a start has no number.
std::optional<double> value_of(const std::vector<Measurement>& side, const Cell& cell, const std::string& metric) {
  std::vector<double> values;
  for (const auto& m : side) {
    if (m.deployment != cell.deployment->name || m.scenario != cell.scenario->name) continue;
    const auto value = m.no_verdict.empty() ? m.value(metric) : std::nullopt;
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return store::median_of(std::move(values));
}

std::map<std::string, config::MetricInfo> metrics_of(const std::vector<Measurement>& side, const Cell& cell) {
  std::map<std::string, config::MetricInfo> out;
  for (const auto& m : side) {
    if (m.deployment == cell.deployment->name && m.scenario == cell.scenario->name)
      out.insert(m.metrics.begin(), m.metrics.end());
  }
  return out;
}

const Failure* failure_of(const Measured& measured, const Cell& cell) {
  for (const auto& failure : measured.failures) {
    if (failure.what == cell.name()) return &failure;
  }
  return nullptr;
}

judge::Reading reading_of(const Cell& cell, const std::string& metric, const config::MetricInfo& info, double value) {
  judge::Reading reading;
  reading.metric = records::full_name(cell.deployment->name, cell.scenario->name, metric);
  reading.better = info.better == config::Better::higher ? judge::Better::higher : judge::Better::lower;
  reading.definition = cell.definition;
  reading.value = value;
  return reading;
}

// Metrics of the last judged night that are expected again: same cell, same definition.
void add_missing(judge::NightInput& input, const std::vector<Cell>& cells, const Measured& measured,
                 const judge::NightInput& last) {
  const auto here = [&](const std::string& metric) {
    return std::any_of(input.readings.begin(), input.readings.end(),
                       [&](const auto& r) { return r.metric == metric; }) ||
           std::any_of(input.missing.begin(), input.missing.end(), [&](const auto& m) { return m.metric == metric; });
  };
  const auto expect = [&](const std::string& metric, const std::string* definition) {
    for (const auto& cell : cells) {
      if (metric.rfind(cell.name() + ".", 0) != 0 || (definition != nullptr && *definition != cell.definition))
        continue;
      if (here(metric)) return;
      const auto* failure = failure_of(measured, cell);
      input.missing.push_back(
          {metric, failure != nullptr ? failure->why : "expected, but tonight's load did not report it"});
    }
  };
  for (const auto& reading : last.readings) expect(reading.metric, &reading.definition);
  for (const auto& missing : last.missing) expect(missing.metric, nullptr);
}

}  // namespace

Result<std::vector<Cell>> cells_of(const Parts& parts) {
  std::vector<Cell> cells;
  for (const auto& deployment : parts.config.deployments) {
    for (const auto& scenario : parts.config.scenarios) {
      if (!scenario.runs_on(deployment.name)) continue;
      NG_TRY(const auto definition, parts.measurer.definition(deployment, scenario));
      NG_CHECK(parts.recorder.put_definition(definition.hash, definition.text));
      cells.push_back({&deployment, &scenario, definition.hash});
    }
  }
  if (cells.empty()) return fail(Code::usage, "the config has no scenario that runs on any deployment");
  return cells;
}

std::string fingerprint(const std::vector<Cell>& cells) {
  std::string all;
  for (const auto& cell : cells) all += cell.name() + "=" + cell.definition + "\n";
  return sha256_hex(all).substr(0, 16);
}

Result<Measured> measure_all(const Parts& parts, const Outcome& outcome, const std::vector<Cell>& cells,
                             std::chrono::nanoseconds deadline) {
  return Measuring(parts, outcome, cells, deadline).go();
}

std::string self_note(const std::vector<Measurement>& self) {
  if (self.size() != 2) return {};
  std::string out;
  for (const auto& [metric, info] : self.front().metrics) {
    const auto first = self.front().value(metric), second = self.back().value(metric);
    if (!info.gated || !first || !second || !(*first > 0) || !(*second > 0)) continue;
    out += fmt::format("{}{} {:.1f} %", out.empty() ? "" : ", ",
                       records::full_name(self.front().deployment, self.front().scenario, metric),
                       100 * (std::max(*first, *second) / std::min(*first, *second) - 1));
  }
  return out.empty() ? out : "A/A of the control, two starts lie apart by: " + out;
}

judge::NightInput readings_of(const Outcome& outcome, const std::vector<Cell>& cells, const Measured& measured,
                              const std::optional<judge::NightInput>& last) {
  judge::NightInput input;
  input.machine_class = outcome.machine.machine_class;
  input.digest = outcome.target.digest;
  for (const auto& cell : cells) {
    const auto* failure = failure_of(measured, cell);
    for (const auto& [metric, info] : metrics_of(measured.target, cell)) {
      if (!info.gated) continue;
      const auto value = value_of(measured.target, cell, metric);
      if (!value || failure != nullptr) {
        input.missing.push_back({records::full_name(cell.deployment->name, cell.scenario->name, metric),
                                 failure != nullptr ? failure->why : "one of the starts has no number for it"});
        continue;
      }
      auto reading = reading_of(cell, metric, info, *value);
      if (outcome.control) {
        if (const auto control = value_of(measured.control, cell, metric)) {
          reading.controls.push_back({outcome.control->digest, *control});
        }
      }
      input.readings.push_back(std::move(reading));
    }
  }
  if (last) add_missing(input, cells, measured, *last);
  return input;
}

void add_unnamed(judge::NightInput& input, const std::vector<Cell>& cells, const std::vector<Failure>& failures,
                 std::vector<store::MetricInfo>& infos) {
  const auto named = [&](const Cell& cell) {
    const auto of_cell = [&](const auto& one) { return one.metric.rfind(cell.name() + ".", 0) == 0; };
    return std::ranges::any_of(input.readings, of_cell) || std::ranges::any_of(input.missing, of_cell);
  };
  for (const auto& failure : failures) {
    const auto cell = std::ranges::find_if(cells, [&](const Cell& one) { return one.name() == failure.what; });
    if (cell == cells.end() || named(*cell)) continue;
    const auto add = [&](std::string name, std::string unit, store::Better better) {
      input.missing.push_back({name, failure.why});
      infos.push_back({std::move(name), std::move(unit), better, true});
    };
    const auto& declared = cell->scenario->metrics;
    const bool is_command = std::holds_alternative<config::CommandLoad>(cell->scenario->load);
    const auto rate = declared.find("rate");
    if (!is_command && (rate == declared.end() || rate->second.gated))
      add(cell->name() + ".rate", "requests/s", store::Better::higher);
    for (const auto& [name, info] : declared) {
      if (!is_command || !info.gated) continue;
      add(cell->name() + "." + name, info.unit,
          info.better == config::Better::higher ? store::Better::higher : store::Better::lower);
    }
    if (!named(*cell)) add(cell->name(), "", store::Better::higher);
  }
}

}  // namespace nightgate::nightly
