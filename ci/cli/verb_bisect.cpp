#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ci/cli/bisect_watch.hpp"
#include "ci/cli/context.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"

namespace nightgate::cli {
namespace {

std::string who(const session::Point& point) {
  return clean(fmt::format("{}{}", point.merge.pr ? fmt::format("#{} ", *point.merge.pr) : "",
                           point.merge.commit.substr(0, 10)));
}

int exit_code_of(const session::Outcome& outcome) {
  const bool named =
      outcome.answer.outcome == search::Outcome::culprit || outcome.answer.outcome == search::Outcome::range;
  return outcome.finished && named ? 0 : 4;
}

Status check_request(const Options& o) {
  const bool by_id = o.trip != 0 || o.resume != 0;
  if (o.trip != 0 && o.resume != 0) return fail(Code::usage, "give --trip or --resume, not both");
  if (by_id || (!o.good.empty() && !o.bad.empty() && !o.metric.empty())) return {};
  return fail(Code::usage, "bisect needs --good, --bad and --metric, or --trip ID, or --resume ID");
}

}  // namespace

void BisectWatch::planned(const session::Plan& plan, int expected) {
  if (quiet_) return;
  int available = 0;
  for (const auto& point : plan.points) available += point.target ? 1 : 0;
  log::info(
      fmt::format("bisect {}: {} merges, {} of {} points have a target; expected {} measurements at the noise seen "
                  "({:.1f} % per start, shift {:.1f} %)",
                  plan.id, plan.problem.merges, available, plan.points.size(), expected, 100 * plan.problem.noise,
                  100 * plan.problem.shift));
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
    out += clean(fmt::format("    {:<22} {:>9}  ({} to {}), {} starts{}", who(point), percent(change(rung.level)),
                             percent(change(rung.high)), percent(change(rung.low)), rung.runs,
                             outcome.answer.outcome == search::Outcome::culprit && rung.point == outcome.answer.culprit
                                 ? "  <- culprit: " + point.merge.title
                                 : "")) +
           "\n";
  }
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

Result<int> verb_bisect(const Options& options) {
  NG_CHECK(check_request(options));
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto bench, open_bench(options, config, std::chrono::minutes(config.machine.wait_minutes)));
  if (!bench.history) return fail(Code::usage, "a bisect walks merges: name a repository in the config ($.repository)");
  NG_TRY(const auto store, open_store(config));
  BisectWatch watch(options.quiet);
  const session::Parts parts{config, *bench.history, *bench.finder, *bench.measurer,
                             *store, system_clock(), watch,         [] { return stop_requested(); }};
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
