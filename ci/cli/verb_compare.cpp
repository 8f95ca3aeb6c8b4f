#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ci/cli/compare_view.hpp"
#include "ci/cli/context.hpp"
#include "ci/cli/pairing.hpp"
#include "ci/report/compare.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "gate/records/records.hpp"

namespace nightgate::cli {
namespace {

int exit_code_of(judge::PairVerdict verdict) {
  if (verdict == judge::PairVerdict::worse) return 1;
  return verdict == judge::PairVerdict::no_verdict ? 4 : 0;
}

// Where and how it was measured, for those who read the document later.
nlohmann::json about(const Options& options, const config::Config& config, const measure::MachineInfo& machine,
                     Instant started) {
  return {{"project", config.project},
          {"machine", machine_name(options, config)},
          {"machine_class", records::to_row(machine).machine_class},
          {"started", to_rfc3339(started)},
          {"nightgate", records::program_version()},
          {"min_change", config.gate.min_change},
          {"equivalence_requests", config.compare.equivalence.size()},
          {"references", options.positional}};
}

Status write_html(const std::string& file, nlohmann::json document) {
  document["schema"] = "nightgate-compare/1";
  NG_TRY(const auto model, report::read_compare(dump_json(document)));
  NG_CHECK(write_file(file, report::compare_page(model)));
  log::info("wrote " + file);
  return {};
}

// What was tried stays findable: the run with its result, and an entry in the ledger.
Status record(const Options& options, const config::Config& config, const measure::MachineInfo& machine,
              const compare::Outcome& outcome, const std::string& document) {
  NG_TRY(const auto store, open_store(config));
  const auto uuid = make_uuid();
  const auto now = system_clock().now();
  NG_CHECK(store->put_machine(records::to_row(machine)));
  NG_CHECK(store->begin_run(records::new_run(config, store::RunKind::compare, machine, uuid, now)));
  for (const auto& arm : outcome.arms) NG_CHECK(store->put_target(config.project, records::to_row(arm, nullptr)));
  NG_CHECK(store->finish_run(uuid, store::RunState::done, now, document));
  store::LedgerEntry entry;
  entry.project = config.project;
  entry.run = uuid;
  entry.label = options.label.empty() ? outcome.arms.back().label : options.label;
  entry.note = options.note;
  entry.at = now;
  entry.base = outcome.arms.front().label;
  entry.head = outcome.arms.back().label;
  entry.result = document;
  entry.verdict = "candidate";
  NG_TRY(const auto id, store->put_ledger(entry));
  log::info(fmt::format("recorded as ledger entry {}", id));
  return {};
}

Status keep(const Options& options, const config::Config& config, const measure::MachineInfo& machine,
            const compare::Outcome& outcome, const nlohmann::json& document) {
  if (options.record || !options.label.empty())
    NG_CHECK(record(options, config, machine, outcome, dump_json(document)));
  return options.html.empty() ? Status{} : write_html(options.html, document);
}

}  // namespace

Result<int> verb_compare(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(auto sources, open_sources(config));
  NG_TRY(const auto arms, parse_arms(options, config, *sources.finder));
  NG_TRY(const auto bench,
         open_bench(options, config, std::move(sources), std::chrono::minutes(config.machine.wait_minutes)));
  NG_TRY(const auto machine, bench.measurer->machine());
  NG_TRY(const auto cleaned, bench.measurer->clean_left_overs());
  for (const auto& target : arms) NG_CHECK(bench.finder->prepare(target));
  const auto how = pair_limits(options, config);
  PairWatch watch(*bench.progress, options.quiet, {"base", "head"});
  const auto started = system_clock().now();
  NG_TRY(const auto outcome, compare::run(config, arms, how, *bench.measurer, system_clock(), watch));
  bench.progress->clear();
  auto document = compare_json(outcome);
  document["about"] = about(options, config, machine, started);
  if (options.json) {
    print_json(options, document);
  } else {
    print(compare_text(outcome));
  }
  // Base differing from itself is the machine's fault (3), everything else undecided is no verdict (4).
  const int code = outcome.aa_complaint.empty() ? exit_code_of(outcome.verdict()) : 3;
  return exit_after(code, keep(options, config, machine, outcome, document));
}

}  // namespace nightgate::cli
