#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bisect/session/session.hpp"
#include "ci/cli/bisect_watch.hpp"
#include "ci/cli/context.hpp"
#include "ci/cli/night_view.hpp"
#include "ci/cli/notices.hpp"
#include "ci/cli/pages.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "gate/base/notify.hpp"
#include "gate/nightly.hpp"
#include "store/spool.hpp"

namespace nightgate::cli {
namespace {

// The night starts a bisect through this; the session does the rest.
class NightBisect final : public nightly::Bisecting {
 public:
  NightBisect(const config::Config& config, const Bench& bench, store::Store* store, bool quiet)
      : config_(config), bench_(bench), store_(store), watch_(quiet) {}

  Result<std::string> bisect(const store::TripGroup& group, std::chrono::nanoseconds night_ends) override {
    log::notice(fmt::format("bisecting trip {}: {}", group.id, group.trips.front().metric));
    const auto own_limit = system_clock().monotonic() + std::chrono::minutes(config_.bisect.max_minutes);
    const session::Parts parts{config_, *bench_.history, *bench_.finder, *bench_.measurer,
                               *store_, system_clock(),  watch_,         [] { return stop_requested(); }};
    session::Request request;
    request.trip = group.id;
    request.error = config_.bisect.error;
    request.max_measurements = config_.bisect.max_measurements;
    NG_TRY(const auto outcome, session::run(parts, request, std::min(own_limit, night_ends)));
    return session::one_sentence(outcome);
  }

 private:
  const config::Config& config_;
  const Bench& bench_;
  store::Store* store_;  // there whenever a trip is: trips come from it
  BisectWatch watch_;
};

class NightTelling final : public nightly::Telling {
 public:
  NightTelling(LiveProgress& progress, const config::Config& config, store::Store* store)
      : progress_(progress), config_(config), store_(store) {}
  void step(std::string_view what) override { progress_.step(what); }

  Status tell(const nightly::Outcome& outcome) override {
    progress_.clear();
    if (store_ == nullptr || outcome.night.sequence == 0) return {};  // in the spool: told when it is judged
    // Each of them also when another could not be done.
    auto pages = write(outcome);
    if (!config_.report.site.empty()) {
      progress_.step("writing the site");
      const auto site = write_site(*store_, config_, config_.report.site);
      progress_.clear();
      if (site) {
        log::info(
            fmt::format("site: {} ({} pages written)", (config_.report.site / "index.html").string(), site->pages));
      } else {
        log::warning("the site could not be written: " + site.error().text());
      }
    }
    auto told = tell_outside(*store_, config_, outcome);
    return pages ? told : pages;
  }

 private:
  Status write(const nightly::Outcome& outcome) {
    std::vector<std::int64_t> trips;
    for (const auto& group : outcome.open_trips) trips.push_back(group.id);
    const auto source = report_source(*store_, config_, outcome.machine.name);
    NG_TRY(
        const auto written,
        write_pages(source, config_, outcome.end == nightly::End::nothing_to_do ? 0 : outcome.night.sequence, trips));
    for (const auto& path : written) log::info("page: " + path.string());
    return {};
  }

  LiveProgress& progress_;
  const config::Config& config_;
  store::Store* store_;  // null while the database is away
};

// Of the last judged night, for the lines of progress; none where they can't be read.
std::map<std::string, double> baselines_of(store::Store& store, const std::string& project,
                                           const std::string& machine) {
  std::map<std::string, double> out;
  const auto last = store.last_judged(project, machine);
  if (!last || !*last) return out;
  if (const auto verdicts = store.verdicts(project, machine, (*last)->sequence)) {
    for (const auto& v : *verdicts) {
      if (std::isfinite(v.baseline)) out[v.metric] = v.baseline;
    }
  }
  return out;
}

}  // namespace

// The database may be away: the night is measured all the same, into the spool.
Result<std::unique_ptr<store::Store>> store_or_spool(const config::Config& config) {
  auto opened = open_store(config);
  if (opened) {
    NG_TRY(const auto delivered, store::deliver_spool(config.state, **opened));
    if (delivered.files > 0)
      log::notice(fmt::format("{} writes of an earlier night came from the spool", delivered.writes));
    for (const auto& damaged : delivered.damaged) log::error("the spool is damaged: " + damaged);
    return opened;
  }
  if (opened.error().code != Code::away || config.store == "embedded") return opened;
  log::warning("the store is away, measuring into the spool: " + opened.error().text());
  return std::unique_ptr<store::Store>{};
}

Result<int> verb_nightly(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto bench, open_bench(options, config, std::chrono::minutes(config.machine.wait_minutes)));
  NG_TRY(const auto store, store_or_spool(config));
  if (store) bench.progress->expect(baselines_of(*store, config.project, machine_name(options, config)));
  store::SpoolingRecorder recorder(store.get(), config.state);
  NightBisect bisecting(config, bench, store.get(), options.quiet);
  NightTelling telling(*bench.progress, config, store.get());
  const nightly::Parts parts{
      config,      bench.history.get(), *bench.finder, *bench.measurer, recorder,
      store.get(), system_clock(),      bisecting,     telling,         [] { return stop_requested(); }};
  NG_TRY(const auto outcome, nightly::run(parts, {options.force, options.attempt_of}));
  bench.progress->clear();
  const auto text = night_text(outcome);
  notify::status(text.substr(0, text.find('\n')));
  if (options.json) {
    print_json(options, night_json(outcome));
  } else {
    print(text);
  }
  return outcome.exit_code();
}

}  // namespace nightgate::cli
