// release FROM TO: what a release changed against the last one, and its absolute figures, kept for the trend.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/cli/pairing.hpp"
#include "ci/cli/release_view.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "gate/records/records.hpp"

namespace nightgate::cli {
namespace {

// "METRIC=why" for one metric, a text without "METRIC=" for all that have none of their own.
Result<Reasons> typed_reasons(const Options& options) {
  Reasons out;
  for (const auto& text : options.reasons) {
    const auto at = text.find('=');
    const bool names_one = at != std::string::npos && text.substr(0, at).find(' ') == std::string::npos;
    const auto why = names_one ? text.substr(at + 1) : text;
    if (why.find_first_not_of(" \t") == std::string::npos)
      return fail(Code::usage, "--reason takes METRIC=TEXT or TEXT; found '" + text + "'");
    out[names_one ? text.substr(0, at) : "*"] = why;
  }
  return out;
}

// What was accepted since the last release was measured explains its price.
Status add_accepted(store::Store& store, const config::Config& config, const std::string& machine, Reasons& reasons) {
  NG_TRY(const auto before, store.runs(config.project, store::RunKind::release, 1));
  NG_TRY(const auto decisions, store.decisions(config.project, machine));
  for (const auto& d : decisions) {
    if (d.kind != store::DecisionKind::accept || d.undone || d.reason.empty()) continue;
    if (before.empty() || d.at > before.front().started) reasons.emplace(d.metric, "accepted: " + d.reason);
  }
  return {};
}

int exit_code_of(const Options& options, const nlohmann::json& document, const compare::Outcome& outcome) {
  if (!outcome.aa_complaint.empty()) return 3;
  if (options.strict && document["unexplained"].get<int>() > 0) return 1;
  if (!outcome.differences.empty()) return 4;
  for (const auto& change : document["changes"]) {
    if (change["outcome"] == "no_verdict") return 4;
  }
  return 0;
}

Status keep(const Options& options, store::Store& store, const store::Run& run, const measure::MachineInfo& machine,
            const std::vector<targets::Target>& arms, const std::string& document, const report::ReleaseModel& model) {
  NG_CHECK(store.put_machine(records::to_row(machine)));
  NG_CHECK(store.begin_run(run));
  for (const auto& arm : arms) NG_CHECK(store.put_target(run.project, records::to_row(arm, nullptr)));
  NG_CHECK(store.finish_run(run.uuid, store::RunState::done, system_clock().now(), document));
  return options.html.empty() ? Status{} : write_file(options.html, report::release_page(model));
}

}  // namespace

Result<int> verb_release(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(auto reasons, typed_reasons(options));
  NG_TRY(auto sources, open_sources(config));
  NG_TRY(const auto arms, parse_arms(options, config, *sources.finder));
  NG_TRY(const auto store, open_store(config));
  NG_CHECK(add_accepted(*store, config, machine_name(options, config), reasons));
  NG_TRY(const auto bench,
         open_bench(options, config, std::move(sources), std::chrono::minutes(config.machine.wait_minutes)));
  NG_TRY(const auto machine, bench.measurer->machine());
  NG_TRY(const auto cleaned, bench.measurer->clean_left_overs());
  for (const auto& target : arms) NG_CHECK(bench.finder->prepare(target));
  const release::Options how{pair_limits(options, config), options.rounds};
  const auto started = system_clock().now();
  PairWatch watch(*bench.progress, options.quiet, {"last release", "new release"});
  NG_TRY(const auto outcome, release::run(config, arms[0], arms[1], how, *bench.measurer, system_clock(), watch));
  bench.progress->clear();
  auto document = release_json(outcome, reasons,
                               {{"project", config.project},
                                {"machine", machine_name(options, config)},
                                {"machine_class", records::to_row(machine).machine_class},
                                {"kernel", machine.kernel},
                                {"engine", machine.engine},
                                {"started", to_rfc3339(started)},
                                {"nightgate", records::program_version()},
                                {"min_change", config.gate.min_change}});
  // A name that was typed says more than a label made from the commit.
  const auto named = [&](std::size_t arm) {
    const auto& typed = options.positional[arm];
    return typed == arms[arm].commit ? arms[arm].label : typed;
  };
  document["from"] = named(0);
  document["to"] = named(1);
  auto whole = document;
  whole["schema"] = "nightgate-release/1";
  const auto text = dump_json(whole);
  NG_TRY(const auto model, report::read_release(text));
  if (options.json) {
    print_json(options, document);
  } else {
    print(release_text(model));
  }
  const auto run = records::new_run(config, store::RunKind::release, machine, make_uuid(), started);
  return exit_after(exit_code_of(options, document, outcome.compare),
                    keep(options, *store, run, machine, arms, text, model));
}

}  // namespace nightgate::cli
