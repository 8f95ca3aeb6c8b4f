#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "ci/cli/cli.hpp"
#include "ci/cli/output.hpp"
#include "gate/base/log.hpp"
#include "gate/base/notify.hpp"
#include "gate/base/secrets.hpp"

namespace nightgate::cli {
namespace {

constexpr VerbEntry verbs[] = {
    {"init", verb_init},         {"check", verb_check},           {"status", verb_status},   {"measure", verb_measure},
    {"nightly", verb_nightly},   {"compare", verb_compare},       {"bisect", verb_bisect},   {"history", verb_history},
    {"replay", verb_replay},     {"accept", verb_accept},         {"void", verb_void},       {"undo", verb_undo},
    {"simulate", verb_simulate}, {"import", verb_import},         {"export", verb_export},   {"store", verb_store},
    {"report", verb_report},     {"ledger", verb_ledger},         {"publish", verb_publish}, {"watch", verb_watch},
    {"release", verb_release},   {"completion", verb_completion},
};

Result<int> dispatch(const Options& options) {
  for (const auto& entry : verbs) {
    if (entry.name == options.verb) return entry.verb(options);
  }
  return fail(Code::internal, "no code for the verb '" + options.verb + "'");
}

}  // namespace

int run(int argc, char** argv) {
  try {
    protect_memory();
    notify::take_socket();
    auto parsed = parse(argc, argv);
    if (!parsed.go) return parsed.exit_code;
    if (parsed.options.quiet) log::set_level(log::Level::warning);
    const auto result = dispatch(parsed.options);
    if (result) return *result;
    return tell_error(parsed.options, result.error());
  } catch (const std::exception& e) {
    log::error(fmt::format("nightgate: internal error: {}; please report this with the command line", e.what()));
    return exit_code(Code::internal);
  }
}

}  // namespace nightgate::cli
