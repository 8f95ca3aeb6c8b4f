#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "gate/base/clock.hpp"
#include "store/backup.hpp"
#include "store/retention.hpp"

namespace nightgate::cli {
namespace {

Result<int> tell_status(const Options& options, const store::OpenOptions& open) {
  NG_TRY(const auto s, store::status(open));
  if (options.json) {
    print_json(options, {{"where", s.where},
                         {"server_version", s.server_version},
                         {"schema", s.schema},
                         {"newest_schema", s.newest_schema},
                         {"bytes", s.bytes},
                         {"projects", s.projects},
                         {"machines", s.machines},
                         {"nights", s.nights},
                         {"runs", s.runs},
                         {"measurements", s.measurements},
                         {"samples", s.samples},
                         {"verdicts", s.verdicts},
                         {"trips", s.trips},
                         {"bisects", s.bisects}});
  } else {
    print(fmt::format(
        "PostgreSQL {} at {}, schema {} of {}, {} MiB\n  {} projects, {} machines, {} nights, {} runs, {} "
        "measurements, {} samples, {} verdicts, "
        "{} trips, {} bisects\n",
        s.server_version, s.where, s.schema, s.newest_schema, figure(static_cast<double>(s.bytes) / 1048576),
        s.projects, s.machines, s.nights, s.runs, s.measurements, s.samples, s.verdicts, s.trips, s.bisects));
  }
  return 0;
}

Result<int> do_migrate(const Options& options, store::OpenOptions open) {
  open.migrate = true;
  NG_TRY(const auto applied, store::migrate(open));
  if (options.json) {
    print_json(options, {{"applied", applied}});
  } else {
    print(applied.empty() ? "the schema is up to date\n"
                          : fmt::format("{} migrations applied, up to {}\n", applied.size(), applied.back()));
  }
  return 0;
}

// backup and restore tell the same: what is in the file, and that it was compared.
Result<int> tell_backup(const Options& options, const store::BackupReport& report, std::string_view done) {
  if (options.json) {
    nlohmann::json tables = nlohmann::json::object();
    for (const auto& [name, sum] : report.tables) tables[name] = {{"rows", sum.rows}, {"checksum", sum.checksum}};
    print_json(options, {{"action", options.action},
                         {"file", report.file.string()},
                         {"bytes", report.bytes},
                         {"verified", report.verified},
                         {"note", report.note},
                         {"tables", tables}});
  } else {
    print(fmt::format("{} {} ({} tables, {} MiB), {}\n", done, report.file.string(), report.tables.size(),
                      figure(static_cast<double>(report.bytes) / 1048576),
                      report.verified ? "verified row by row" : "NOT verified: " + report.note));
  }
  return 0;
}

// Raw samples of this project's runs that began more than so many days ago; their medians, verdicts and trips stay.
Result<int> fold(const Options& options, const config::Config& config, const store::OpenOptions& open) {
  if (options.days == 0) return fail(Code::usage, "store fold needs --older-than DAYS, for example --older-than 365");
  const Instant older_than = system_clock().now() - std::chrono::hours(24) * options.days;
  NG_TRY(const auto folded, store::fold_samples(open, config.project, older_than, options.dry_run));
  if (options.json) {
    print_json(options, {{"action", "fold"},
                         {"older_than", to_rfc3339(older_than)},
                         {"dry_run", options.dry_run},
                         {"measurements", folded.measurements},
                         {"repeats", folded.repeats},
                         {"samples", folded.samples}});
  } else {
    print(
        fmt::format("{} {} samples of {} repeats in {} measurements from before {}; medians, verdicts and trips stay\n",
                    options.dry_run ? "would remove" : "removed", folded.samples, folded.repeats, folded.measurements,
                    to_rfc3339(older_than)));
  }
  return 0;
}

Result<std::string> file_of(const Options& options) {
  if (!options.positional.empty()) return options.positional[0];
  return fail(Code::usage,
              "store " + options.action + " needs a file: nightgate store " + options.action + " nightgate.dump");
}

}  // namespace

Result<int> verb_store(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto open, store_options(config));
  if (options.action == "status") return tell_status(options, open);
  if (options.action == "migrate") return do_migrate(options, open);
  if (options.action == "fold") return fold(options, config, open);
  NG_TRY(const auto file, file_of(options));
  if (options.action == "backup") {
    NG_TRY(const auto report, store::backup(open, file));
    return tell_backup(options, report, "backed up to");
  }
  if (options.action == "restore") {
    NG_TRY(const auto report, store::restore(open, file));
    return tell_backup(options, report, "restored from");
  }
  return fail(Code::usage, "store takes status, migrate, backup, restore or fold");
}

}  // namespace nightgate::cli
