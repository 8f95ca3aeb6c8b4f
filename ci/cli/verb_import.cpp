// import and export: histories in and out of the store.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "ci/cli/context.hpp"
#include "ci/cli/histories.hpp"
#include "gate/judging.hpp"
#include "store/transfer.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

// The judge runs over what came in, so that the first own night already has a baseline.
// Also what an import that was killed left unjudged.
Result<std::size_t> judge_imported(const config::Config& config, const formats::History& history,
                                   const store::Imported& imported) {
  NG_TRY(const auto store, open_store(config));
  std::set<std::string> machines;
  for (const auto& row : history.rows) machines.insert(row.machine.empty() ? "imported" : row.machine);
  std::size_t judged = 0;
  for (const auto& machine : machines) {
    const auto first = imported.first.find(machine);
    NG_TRY(const auto nights,
           judging::judge_nights(*store, config, machine, first == imported.first.end() ? 0 : first->second));
    judged += nights.size();
  }
  return judged;
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
  NG_TRY(const auto imported, store::import_history(open, config.project, history));
  NG_TRY(const auto judged, judge_imported(config, history, imported));
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
