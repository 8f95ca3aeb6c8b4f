// import and export: histories in and out of the store.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ci/cli/context.hpp"
#include "ci/cli/histories.hpp"
#include "gate/base/log.hpp"
#include "gate/judging.hpp"
#include "gate/measure/machine.hpp"
#include "store/transfer.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

// A long history takes minutes: said every ten seconds.
judging::Progress told_of(const std::string& machine) {
  return [machine, next = std::chrono::steady_clock::now() + std::chrono::seconds(10)](std::size_t done,
                                                                                       std::size_t all) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now < next) return;
    next = now + std::chrono::seconds(10);
    log::info(fmt::format("{}: {} of {} nights judged", machine, done, all));
  };
}

// The judge runs over what came in, so that the first own night already has a baseline.
// Also what an import that was killed left unjudged.
Result<std::size_t> judge_imported(const config::Config& config, store::Store& store, const formats::History& history,
                                   const store::Imported& imported) {
  std::set<std::string> machines;
  for (const auto& row : history.rows) machines.insert(row.machine.empty() ? "imported" : row.machine);
  std::size_t judged = 0;
  for (const auto& machine : machines) {
    const auto first = imported.first.find(machine);
    NG_TRY(const auto nights,
           judging::judge_nights(store, config, machine, first == imported.first.end() ? 0 : first->second,
                                 told_of(machine)));
    judged += nights.size();
  }
  return judged;
}

using Known = std::map<std::string, store::MetricInfo>;  // what the store has already, by name

// A series goes on under the name that it has in this config. Names that the store has already stay: their nights were
// imported before the alias was declared, and importing them again must find them.
void rename(const config::Config& config, const Known& known, formats::History& history) {
  if (config.aliases.empty()) return;
  for (auto& row : history.rows) {
    const auto alias = config.aliases.find(row.metric);
    if (alias != config.aliases.end() && !known.contains(row.metric)) row.metric = alias->second;
  }
  formats::sort_rows(history.rows);
}

// Rows of this very machine that say no class are of the class that it is: to the judge, another class is another
// level.
Status fill_class(const config::Config& config, formats::History& history) {
  const auto own = machine_name(Options{}, config);
  const auto lacks = [&](const formats::HistoryRow& row) { return row.machine == own && row.machine_class.empty(); };
  if (std::none_of(history.rows.begin(), history.rows.end(), lacks)) return {};
  NG_TRY(const auto topology, measure::read_topology());
  NG_TRY(const auto machine, measure::read_machine(config.machine, topology, {}));
  for (auto& row : history.rows) {
    if (lacks(row)) row.machine_class = machine.machine_class;
  }
  return {};
}

// Units of which there are larger and smaller ones; "1/s" and "requests/s" are two names of one thing.
bool is_scaled(const std::string& unit) {
  static constexpr std::string_view scaled[] = {"ns", "us", "ms", "s",   "min", "B",  "kB",
                                                "KB", "MB", "GB", "KiB", "MiB", "GiB"};
  return std::find(std::begin(scaled), std::end(scaled), unit) != std::end(scaled);
}

// A metric that is kept already keeps its unit and its direction.
Status check_units(const Known& known, const formats::History& history) {
  for (const auto& row : history.rows) {
    const auto there = known.find(row.metric);
    if (there == known.end()) continue;
    const bool same_way = (there->second.better == store::Better::higher) == (row.better == formats::Better::higher);
    const bool same_unit = row.unit == there->second.unit || !is_scaled(row.unit) || !is_scaled(there->second.unit);
    if (same_way && same_unit) continue;
    return fail(
        Code::bad_data,
        fmt::format("{} is kept in {} ({} is better), and comes in {} ({} is better) here; nothing was imported. "
                    "Give the new figure another name",
                    row.metric, there->second.unit, there->second.better == store::Better::higher ? "higher" : "lower",
                    row.unit, formats::to_text(row.better)));
  }
  return {};
}

}  // namespace

Result<int> verb_import(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(auto history, read_history(options, options.positional.at(0)));
  if (!options.machine.empty()) {
    for (auto& row : history.rows) {
      if (row.machine.empty()) row.machine = options.machine;
    }
  }
  NG_TRY(const auto open, store_options(config));
  NG_TRY(const auto store, store::open(open));
  NG_TRY(const auto metrics, store->metrics(config.project));
  Known known;
  for (const auto& metric : metrics) known.emplace(metric.name, metric);
  rename(config, known, history);
  NG_CHECK(fill_class(config, history));
  NG_CHECK(check_units(known, history));
  NG_TRY(const auto imported, store::import_history(open, config.project, history));
  NG_TRY(const auto judged, judge_imported(config, *store, history, imported));
  if (options.json) {
    json machines = json::array();
    for (const auto& [machine, first] : imported.first)
      machines.push_back({{"machine", machine}, {"first_night", first}});
    print_json(options, {{"nights", imported.nights},
                         {"already_there", imported.already_there},
                         {"values", imported.rows},
                         {"nights_judged", judged},
                         {"machines", machines},
                         {"notes", history.notes.size() + history.more_notes}});
  } else {
    print(fmt::format("{} nights with {} values imported, {} were there already; {} nights judged\n", imported.nights,
                      imported.rows, imported.already_there, judged));
    for (const auto& [machine, first] : imported.first) {
      print(fmt::format("machine {}: nights from number {} on; next: nightgate status{}\n", machine, first,
                        machine == machine_name(Options{}, config) ? "" : " --machine " + machine));
    }
  }
  return 0;
}

Result<int> verb_export(const Options& options) {
  const auto& file = options.positional.at(0);
  const bool lines = options.format == "jsonl" || options.format == "json-lines" ||
                     (options.format.empty() && file.size() > 6 && file.compare(file.size() - 6, 6, ".jsonl") == 0);
  if (!options.format.empty() && !lines && options.format != "csv") {
    return fail(Code::usage, "export writes csv or jsonl; found --format " + options.format);
  }
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto open, store_options(config));
  NG_TRY(const auto history, store::export_history(open, config.project, options.machine));
  const auto text = lines ? formats::print_json_lines(history.rows) : formats::print_csv(history.rows);
  if (file == "-") {
    if (options.json) return fail(Code::usage, "--json has the document on stdout; name a file for the history");
    print(text);
    return 0;
  }
  NG_CHECK(write_file(file, text));
  if (options.json) {
    print_json(options, {{"file", file}, {"values", history.rows.size()}});
  } else {
    print(fmt::format("{} values written to {}\n", history.rows.size(), file));
  }
  return 0;
}

}  // namespace nightgate::cli
