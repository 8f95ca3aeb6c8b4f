#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ci/cli/bisect_watch.hpp"
#include "ci/cli/context.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"

namespace nightgate::cli {
namespace {

std::string who(const session::Point& point) {
  return clean(fmt::format("{}{}", point.merge.pr ? fmt::format("#{} ", *point.merge.pr) : "",
                           point.merge.commit.substr(0, 10)));
}

// The merge that a revert names, when it is in the range itself; else its sha.
std::string reverted(const std::vector<session::Point>& points, const std::string& sha) {
  for (const auto& point : points) {
    if (point.merge.commit.starts_with(sha)) return who(point);
  }
  return sha.substr(0, 10);
}

int exit_code_of(const session::Outcome& outcome) {
  const bool named =
      outcome.answer.outcome == search::Outcome::culprit || outcome.answer.outcome == search::Outcome::range;
  return outcome.finished && named ? 0 : 4;
}

Status check_options(const Options& o) {
  const bool by_id = o.trip != 0 || o.resume != 0;
  if (o.trip != 0 && o.resume != 0) return fail(Code::usage, "give --trip or --resume, not both");
  if (by_id || (!o.good.empty() && !o.bad.empty() && !o.metric.empty())) return {};
  return fail(Code::usage, "bisect needs --good, --bad and --metric, or --trip ID, or --resume ID");
}

// What it touched, and what the range says of reverts.
std::string about_culprit(const session::Outcome& outcome) {
  constexpr std::size_t most_files = 8;
  const auto& points = outcome.plan.points;
  const auto& culprit = points[static_cast<std::size_t>(outcome.answer.culprit)].merge;
  std::string out;
  for (std::size_t i = 0; i < culprit.files.size() && i < most_files; ++i)
    out += (i == 0 ? "" : ", ") + culprit.files[i];
  if (culprit.files.size() > most_files) out += fmt::format(" and {} more", culprit.files.size() - most_files);
  if (!out.empty()) out = clean("  it touched " + out) + "\n";
  if (!culprit.reverts.empty()) out += clean("  it reverts " + reverted(points, culprit.reverts)) + "\n";
  for (const auto& point : points) {
    if (session::reverts(point.merge, culprit))
      out += clean("  it was reverted later in the range, by " + who(point)) + "\n";
  }
  return out;
}

}  // namespace

void BisectWatch::planned(const session::Plan& plan, int expected) {
  if (quiet_) return;
  int available = 0;
  for (const auto& point : plan.points) available += point.target ? 1 : 0;
  log::info(
      fmt::format("bisect {}: {} merges, {} of {} points have a target; expected {} measurements at the noise seen "
                  "({:.1f} % per start, by {}; shift {:.1f} %)",
                  plan.id, plan.problem.merges, available, plan.points.size(), expected, 100 * plan.problem.noise,
                  plan.noise_source, 100 * plan.problem.shift));
  for (std::size_t i = 1; i < plan.points.size(); ++i) {
    const auto& merge = plan.points[i].merge;
    if (!merge.reverts.empty())
      log::info(clean(fmt::format("  {} reverts {}", who(plan.points[i]), reverted(plan.points, merge.reverts))));
  }
}

void BisectWatch::block(const search::NextBlock& block) {
  if (!quiet_) log::info(fmt::format("block {} ({}): {}", block.block + 1, search::to_string(block.phase), block.why));
}

void BisectWatch::measured(const session::Plan& plan, const store::BisectStep& step) {
  if (quiet_) return;
  const auto& point = plan.points[static_cast<std::size_t>(step.seen.point)];
  const auto value = step.seen.value ? figure(step.value) + " " + plan.unit : "failed: " + step.failure;
  log::info(fmt::format("  merge {:>3} {}: {}", step.seen.point, who(point), value));
}

void BisectWatch::other_load(const std::string& load) {
  if (!quiet_)
    log::info(fmt::format("the trip's other metrics: {} before the culprit, with it, with it, before it", load));
}

void BisectWatch::progress(const session::Plan& plan, const search::Progress& p, double minutes_left) {
  if (quiet_ || p.measurements == 0) return;
  const auto leading = static_cast<std::size_t>(std::clamp(p.leading, 0, plan.problem.merges));
  log::info(fmt::format("  -> {} suspects left, leading {} with {:.1f} %, about {} measurements ({:.0f} minutes) left",
                        p.suspects_left, who(plan.points[leading]), 100 * p.probability, p.measurements_left,
                        std::ceil(minutes_left)));
}

std::string bisect_text(const session::Outcome& outcome) {
  auto out = clean(session::one_sentence(outcome)) + "\n";
  out += fmt::format("  {} measurements in {:.1f} minutes over {} merges on {}\n", outcome.steps.size(),
                     outcome.minutes, outcome.plan.problem.merges, outcome.machine.name);
  if (!outcome.answer.ladder.empty()) out += "  level against the good end, with 95 % interval:\n";
  const bool higher = outcome.plan.better == store::Better::higher;
  const auto change = [&](double shift) { return higher ? std::expm1(-shift) : -std::expm1(shift); };
  for (const auto& rung : outcome.answer.ladder) {
    const auto& point = outcome.plan.points[static_cast<std::size_t>(rung.point)];
    out += clean(fmt::format("    {:<22} {:>9}  ({}), {} starts{}", who(point), percent(change(rung.level)),
                             report::percent_range(change(rung.high), change(rung.low)), rung.runs,
                             outcome.answer.outcome == search::Outcome::culprit && rung.point == outcome.answer.culprit
                                 ? "  <- culprit: " + point.merge.title
                                 : "")) +
           "\n";
  }
  if (outcome.finished && outcome.answer.outcome == search::Outcome::culprit) out += about_culprit(outcome);
  for (const auto& point : outcome.plan.points) {
    if (!point.target) out += clean(fmt::format("  skipped {}: {}", who(point), point.why_not)) + "\n";
  }
  for (const auto& also : outcome.also) {
    out += clean(fmt::format("  {} at the culprit: {}", also.metric,
                             also.failure.empty() ? percent(also.change) : also.failure)) +
           "\n";
  }
  return out;
}

namespace {

session::Request request_of(const Options& options, const config::Config& config) {
  session::Request request;
  request.trip = options.trip;
  request.resume = options.resume;
  request.good = options.good;
  request.bad = options.bad;
  request.metric = options.metric;
  request.error = options.error > 0 ? options.error : config.bisect.error;
  request.max_measurements = options.max_measurements > 0 ? options.max_measurements : config.bisect.max_measurements;
  request.force = options.force;
  request.all = options.all;
  return request;
}

}  // namespace

Result<int> verb_bisect(const Options& options) {
  NG_CHECK(check_options(options));
  NG_TRY(const auto config, load_config(options));
  const auto request = request_of(options, config);
  NG_TRY(auto sources, open_sources(config));
  if (!sources.history)
    return fail(Code::usage, "a bisect walks merges: name a repository in the config ($.repository)");
  session::Desk desk{config, *sources.history, machine_name(options, config), nullptr};
  NG_CHECK(session::check_request(desk, request));  // wrong names end here, before the store is started
  NG_TRY(const auto store, open_store(config));
  desk.store = store.get();
  NG_CHECK(session::check_request(desk, request));
  NG_TRY(const auto bench,
         open_bench(options, config, std::move(sources), std::chrono::minutes(config.machine.wait_minutes)));
  BisectWatch watch(options.quiet);
  const session::Parts parts{config, *bench.history, *bench.finder, *bench.measurer,
                             *store, system_clock(), watch,         [] { return stop_requested(); }};
  const double minutes = options.max_minutes > 0 ? options.max_minutes : config.bisect.max_minutes;
  const auto deadline = system_clock().monotonic() + std::chrono::milliseconds(std::llround(minutes * 60000));
  NG_TRY(const auto outcome, session::run(parts, request, deadline));
  bench.progress->clear();
  if (options.json) {
    print(session::answer_json(outcome) + "\n");
  } else {
    print(bisect_text(outcome));
  }
  return exit_code_of(outcome);
}

}  // namespace nightgate::cli
