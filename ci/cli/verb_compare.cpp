#include <fmt/format.h>

#include <algorithm>
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
          {"environment",
           {{"kernel", machine.kernel},
            {"engine", machine.engine},
            {"cgroup", machine.cgroup},
            {"boot_id", machine.boot_id},
            {"cpus", machine.cpus},
            {"broker_cpus", machine.broker_cpus},
            {"load_cpus", machine.load_cpus},
            {"cpus_shared", machine.shared}}},
          {"min_change", config.gate.min_change},
          {"error", judge::PairRules{}.error},
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

bool wants_record(const Options& options) { return options.record || !options.label.empty(); }

// The document as far as it is about one candidate: its verdicts, and in a ladder those against what it stands on.
nlohmann::json about_candidate(const nlohmann::json& document, const compare::ArmOutcome& head) {
  auto out = document;
  const auto others = [&](const nlohmann::json& c) { return c["arm"] != head.arm; };
  for (const char* list : {"heads", "rungs", "differences"}) {
    auto& rows = out[list];
    rows.erase(std::remove_if(rows.begin(), rows.end(), others), rows.end());
  }
  out["metrics"] = out["heads"][0]["metrics"];
  out["verdict"] = judge::name(head.verdict);
  const auto& arms = document["arms"];
  out["candidate"] = arms[static_cast<std::size_t>(head.arm)];
  if (document["ladder"] == true) out["stands_on"] = arms[static_cast<std::size_t>(head.arm - 1)];
  return out;
}

store::LedgerEntry entry_of(const Options& options, const config::Config& config, const compare::Outcome& outcome,
                            const compare::ArmOutcome& head, const nlohmann::json& document) {
  const auto label = [&](int arm) { return outcome.arms[static_cast<std::size_t>(arm)].label; };
  store::LedgerEntry entry;
  entry.project = config.project;
  entry.label = options.label.empty()       ? label(head.arm)
                : outcome.heads.size() == 1 ? options.label
                                            : fmt::format("{}: {}", options.label, label(head.arm));
  // A run's entries have labels of their own, whatever its arms are called.
  for (const auto& other : outcome.heads) {
    if (other.arm < head.arm && label(other.arm) == label(head.arm)) {
      entry.label += fmt::format(" (arm {})", head.arm);
      break;
    }
  }
  entry.note = options.note;
  entry.base = label(0);
  entry.head = label(head.arm);
  entry.result = dump_json(about_candidate(document, head));
  const bool open = !outcome.aa_complaint.empty() || head.verdict == judge::PairVerdict::no_verdict;
  entry.verdict = open ? "inconclusive" : "candidate";
  if (open) entry.why = head.reason;
  return entry;
}

// What was tried stays findable: the run with its result, and an entry in the ledger for each candidate.
Status record(const Options& options, const config::Config& config, const measure::MachineInfo& machine,
              const compare::Outcome& outcome, const nlohmann::json& document) {
  NG_TRY(const auto store, open_store(config));
  const auto uuid = make_uuid();
  const auto now = system_clock().now();
  NG_CHECK(store->put_machine(records::to_row(machine)));
  NG_CHECK(store->begin_run(records::new_run(config, store::RunKind::compare, machine, uuid, now)));
  for (const auto& arm : outcome.arms) NG_CHECK(store->put_target(config.project, records::to_row(arm, nullptr)));
  NG_CHECK(store->finish_run(uuid, store::RunState::done, now, dump_json(document)));
  for (const auto& head : outcome.heads) {
    auto entry = entry_of(options, config, outcome, head, document);
    entry.run = uuid;
    entry.at = now;
    NG_TRY(const auto id, store->put_ledger(entry));
    log::info(fmt::format("recorded as ledger entry {}: {}", id, entry.label));
  }
  return {};
}

Status check_usage(const Options& options) {
  if (options.ladder && options.positional.size() < 3)
    return fail(Code::usage, "a ladder needs a base and at least two candidates: compare BASE C1 C2 --ladder");
  if (!options.note.empty() && !wants_record(options))
    return fail(Code::usage, "--note goes into the ledger: it needs --label or --record");
  return {};
}

Status keep(const Options& options, const config::Config& config, const measure::MachineInfo& machine,
            const compare::Outcome& outcome, const nlohmann::json& document) {
  if (wants_record(options)) NG_CHECK(record(options, config, machine, outcome, document));
  return options.html.empty() ? Status{} : write_html(options.html, document);
}

}  // namespace

Result<int> verb_compare(const Options& options) {
  NG_CHECK(check_usage(options));
  NG_TRY(const auto config, load_config(options));
  NG_TRY(auto sources, open_sources(config));
  NG_TRY(const auto arms, parse_arms(options, config, *sources.finder));
  // A store that is not there is told now, not after the measuring.
  if (wants_record(options)) NG_CHECK(open_store(config));
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
