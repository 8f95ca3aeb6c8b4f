// What most verbs need, opened in one place: config, repository, targets, measurer, store, the stop signal.
#pragma once

#include <memory>
#include <optional>

#include "ci/cli/cli.hpp"
#include "ci/cli/output.hpp"
#include "config/config.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/targets/target.hpp"
#include "store/open.hpp"

namespace nightgate::cli {

[[nodiscard]] Result<config::Config> load_config(const Options& options);
// True once SIGINT or SIGTERM came. Installs the handlers at the first call.
[[nodiscard]] bool stop_requested();

[[nodiscard]] Result<store::OpenOptions> store_options(const config::Config& config);
[[nodiscard]] Result<std::unique_ptr<store::Store>> open_store(const config::Config& config);
// This machine's name as the store knows it; the option --machine where given.
[[nodiscard]] std::string machine_name(const Options& options, const config::Config& config);
// Who decides: the login name, else the number.
[[nodiscard]] std::string user_name();
// "; the store has nights of: bench-2 (--machine names one)" where there are other machines; else empty.
[[nodiscard]] std::string other_machines(store::Store& store, const config::Config& config, const std::string& machine);
// Code::usage when --machine names one that the store has never heard of.
[[nodiscard]] Status known_machine(const Options& options, store::Store& store, const config::Config& config);

// What a verb checks its arguments against. Takes no lock: wrong arguments are told at once, whoever measures.
struct Sources {
  std::unique_ptr<targets::History> history;  // null where the project has no repository
  std::unique_ptr<targets::Finder> finder;    // borrows history
};
[[nodiscard]] Result<Sources> open_sources(const config::Config& config);

// The measuring side of a verb. Holds the host's lock for its lifetime.
struct Bench {
  FileLock lock;
  std::unique_ptr<targets::History> history;  // null where the project has no repository
  std::unique_ptr<targets::Finder> finder;
  std::unique_ptr<LiveProgress> progress;
  std::unique_ptr<measure::Measurer> measurer;
};
// wait: how long to wait for another nightgate on this host.
[[nodiscard]] Result<Bench> open_bench(const Options& options, const config::Config& config, Sources sources,
                                       std::chrono::seconds wait);
[[nodiscard]] Result<Bench> open_bench(const Options& options, const config::Config& config, std::chrono::seconds wait);
// The scenarios named by --scenario exist.
[[nodiscard]] Status check_scenarios(const Options& options, const config::Config& config);
[[nodiscard]] Result<std::unique_ptr<targets::History>> open_history_if_any(const config::Config& config);

}  // namespace nightgate::cli
