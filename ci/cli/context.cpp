#include "ci/cli/context.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>

#include "ci/cli/trusted_config.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"

namespace nightgate::cli {
namespace {

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

void on_signal(int) { stop_flag = true; }

bool install_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return true;
}

}  // namespace

bool stop_requested() {
  static const bool installed = install_handlers();
  return installed && stop_flag;
}

Result<config::Config> load_config(const Options& options) {
  return options.config_from.empty() ? config::load(options.config)
                                     : load_config_of(options.config, options.config_from);
}

Result<store::OpenOptions> store_options(const config::Config& config) {
  store::OpenOptions open;
  open.where = config.store;
  open.state = config.state;
  if (!config.store_password_env.empty()) {
    NG_TRY(open.password, config::secret_from_environment(config.store_password_env));
  }
  return open;
}

Result<std::unique_ptr<store::Store>> open_store(const config::Config& config) {
  NG_TRY(const auto options, store_options(config));
  return store::open(options);
}

std::string machine_name(const Options& options, const config::Config& config) {
  if (!options.machine.empty()) return options.machine;
  if (!config.machine.name.empty()) return config.machine.name;
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::string user_name() {
  const auto* entry = getpwuid(getuid());
  return entry != nullptr ? entry->pw_name : fmt::format("uid {}", getuid());
}

std::string other_machines(store::Store& store, const config::Config& config, const std::string& machine) {
  const auto machines = store.machines(config.project);
  if (!machines) return {};
  std::string names;
  for (const auto& m : *machines) {
    if (m.name != machine) names += (names.empty() ? "" : ", ") + m.name;
  }
  return names.empty() ? names : fmt::format("; the store has nights of: {} (--machine names one)", names);
}

Status known_machine(const Options& options, store::Store& store, const config::Config& config) {
  if (options.machine.empty()) return {};
  NG_TRY(const auto machines, store.machines(config.project));
  std::vector<std::string> names;
  for (const auto& m : machines) names.push_back(m.name);
  if (std::find(names.begin(), names.end(), options.machine) != names.end()) return {};
  std::string known;
  for (const auto& name : names) known += (known.empty() ? "" : ", ") + name;
  return fail(Code::usage, fmt::format("the store has no machine '{}'; it has: {}", options.machine,
                                       known.empty() ? "none yet" : known));
}

Result<std::unique_ptr<targets::History>> open_history_if_any(const config::Config& config) {
  if (config.repository.path.empty() && config.repository.url.empty()) return std::unique_ptr<targets::History>{};
  return targets::open_history(config);
}

Result<Sources> open_sources(const config::Config& config) {
  Sources sources;
  NG_TRY(sources.history, open_history_if_any(config));
  NG_TRY(sources.finder, targets::make_finder(config, sources.history.get()));
  return sources;
}

Status check_scenarios(const Options& options, const config::Config& config) {
  std::vector<std::string> names;
  for (const auto& scenario : config.scenarios) names.push_back(scenario.name);
  for (const auto& wanted : options.scenarios) {
    if (config.find_scenario(wanted) != nullptr) continue;
    std::string hint;
    for (const auto& name : near_matches(wanted, names)) hint += (hint.empty() ? "; did you mean " : ", ") + name;
    return fail(Code::usage, fmt::format("no scenario '{}' in the config{}", wanted, hint));
  }
  return {};
}

Result<Bench> open_bench(const Options& options, const config::Config& config, Sources sources,
                         std::chrono::seconds wait) {
  const auto what = fmt::format("nightgate {} of project {}", options.verb, config.project);
  auto lock = measure::lock_host(what, std::chrono::seconds(0));
  if (!lock && lock.error().code == Code::busy && wait.count() > 0) {
    const auto& said = lock.error().message;  // "... is held by ...; and what to do then"
    log::notice(fmt::format("{}; waiting up to {} minutes", said.substr(0, said.find("; waited")),
                            std::chrono::duration_cast<std::chrono::minutes>(wait).count()));
    lock = measure::lock_host(what, wait);
  }
  if (!lock) return tl::unexpected<Error>(std::move(lock).error());
  Bench bench{std::move(*lock), std::move(sources.history), std::move(sources.finder), {}, {}};
  bench.progress = std::make_unique<LiveProgress>(options.quiet);
  static_cast<void>(stop_requested());  // from now on Ctrl-C ends cleanly
  NG_TRY(bench.measurer,
         measure::make_measurer(config, system_clock(), *bench.progress, [] { return stop_requested(); }));
  return bench;
}

Result<Bench> open_bench(const Options& options, const config::Config& config, std::chrono::seconds wait) {
  NG_TRY(auto sources, open_sources(config));
  return open_bench(options, config, std::move(sources), wait);
}

}  // namespace nightgate::cli
