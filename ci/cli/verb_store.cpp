#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"

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

}  // namespace

Result<int> verb_store(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto open, store_options(config));
  if (options.action == "status") return tell_status(options, open);
  if (options.action == "migrate") return do_migrate(options, open);
  return fail(Code::usage, "store takes status, migrate, backup or restore");
}

}  // namespace nightgate::cli
