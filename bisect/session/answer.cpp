// The answer for programs and for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bisect/search/engine.hpp"
#include "bisect/session/session.hpp"
#include "gate/base/json.hpp"

namespace nightgate::session {
namespace {

using nlohmann::json;

// A log shift (larger is worse) as the design's change (negative is worse).
double change_of(double shift, store::Better better) {
  return better == store::Better::higher ? std::expm1(-shift) : -std::expm1(shift);
}

// A later merge of the range that takes this one back; empty when there is none.
std::string reverted_by(const Plan& plan, const Point& point) {
  for (const auto& other : plan.points) {
    if (reverts(other.merge, point.merge)) return other.merge.commit;
  }
  return {};
}

json merge_json(const Plan& plan, const Point& point) {
  json out = {{"commit", point.merge.commit},
              {"title", point.merge.title},
              {"author", point.merge.author},
              {"files", point.merge.files}};
  out["pr"] = point.merge.pr ? json(*point.merge.pr) : json();
  out["digest"] = point.target ? json(point.target->digest) : json();
  if (!point.merge.reverts.empty()) out["reverts"] = point.merge.reverts;
  if (const auto by = reverted_by(plan, point); !by.empty()) out["reverted_by"] = by;
  return out;
}

const Point& at(const Outcome& outcome, int point) { return outcome.plan.points[static_cast<std::size_t>(point)]; }

std::string commit(const Outcome& outcome, int point) { return at(outcome, point).merge.commit; }

json blocks_json(const Outcome& outcome) {
  // Probabilities after each block come from the same pure search, run over what was known then.
  std::map<std::pair<int, int>, std::vector<const store::BisectStep*>> blocks;
  for (const auto& step : outcome.steps) {
    if (step.seen.block >= 0) blocks[{step.seen.block, step.seen.machine}].push_back(&step);
  }
  json out = json::array();
  std::vector<search::Observation> seen;
  search::Engine engine(outcome.plan.problem);
  for (const auto& [key, steps] : blocks) {
    json block = {{"block", key.first},
                  {"phase", search::to_string(steps.front()->seen.phase)},
                  {"merges", json::array()},
                  {"values", json::array()},
                  {"failures", json::array()}};
    for (const auto* step : steps) {
      seen.push_back(step->seen);
      block["merges"].push_back(step->commit);
      block["points"].push_back(step->seen.point);
      block["values"].push_back(step->seen.value ? json(step->value) : json());
      if (!step->failure.empty()) block["failures"].push_back({{"commit", step->commit}, {"why", step->failure}});
    }
    const auto progress = engine.decide(seen).progress;
    block["probability"] = progress.probability;
    block["leading"] = commit(outcome, std::clamp(progress.leading, 0, outcome.plan.problem.merges));
    block["suspects"] = progress.suspects_left;
    out.push_back(std::move(block));
  }
  return out;
}

json skipped_json(const Outcome& outcome) {
  json out = json::array();
  for (const auto& point : outcome.plan.points) {
    if (!point.target) out.push_back({{"commit", point.merge.commit}, {"why", point.why_not}});
  }
  for (const int point : outcome.answer.untestable) {
    std::string why = "failed too often";
    for (const auto& step : outcome.steps) {
      if (step.seen.point == point && !step.failure.empty()) why = step.failure;
    }
    out.push_back({{"commit", commit(outcome, point)}, {"why", why}});
  }
  return out;
}

json ladder_json(const Outcome& outcome) {
  json out = json::array();
  for (const auto& rung : outcome.answer.ladder) {
    out.push_back(
        {{"commit", commit(outcome, rung.point)},
         {"point", rung.point},
         {"starts", rung.runs},
         {"change", change_of(rung.level, outcome.plan.better)},
         // The interval turns round with the sign: low end first.
         {"interval", {change_of(rung.high, outcome.plan.better), change_of(rung.low, outcome.plan.better)}}});
  }
  return out;
}

json commits(const Outcome& outcome, const std::vector<int>& points) {
  json out = json::array();
  for (const int point : points) out.push_back(commit(outcome, point));
  return out;
}

// Never "100 %" for less than certainty.
std::string sure(double p) { return p >= 0.9995 ? "> 99.9 %" : fmt::format("{:.1f} %", 100 * p); }

// As everywhere: from 100 % on, a factor.
std::string moved(double change) {
  if (std::abs(change) < 1) return fmt::format("{:+.1f} %", 100 * change);
  return fmt::format("{:.3g} times as {}", 1 + std::abs(change), change < 0 ? "bad" : "good");
}

std::string person(const Point& point) {
  return fmt::format("{}'{}' by {} ({})", point.merge.pr ? fmt::format("#{} ", *point.merge.pr) : "", point.merge.title,
                     point.merge.author, point.merge.commit.substr(0, 10));
}

}  // namespace

bool reverts(const targets::Merge& revert, const targets::Merge& merge) {
  return revert.reverts.size() >= 7 && merge.commit.starts_with(revert.reverts);
}

std::string answer_json(const Outcome& outcome) {
  const auto& answer = outcome.answer;
  const auto& plan = outcome.plan;
  const bool named = answer.outcome == search::Outcome::culprit;
  json out = {
      {"schema", "nightgate-bisect/1"},
      {"id", plan.id},
      {"trip", plan.trip},
      {"metric", plan.full_metric},
      {"unit", plan.unit},
      {"better", plan.better == store::Better::higher ? "higher" : "lower"},
      {"finished", outcome.finished},
      {"outcome", search::to_string(answer.outcome)},
      {"why", outcome.stopped_because.empty() ? answer.why : outcome.stopped_because},
      {"culprit", named ? merge_json(plan, at(outcome, answer.culprit)) : json()},
      {"probability", answer.probability},
      {"verified", answer.verified},
      {"change", change_of(answer.change, plan.better)},
      {"change_interval", {change_of(answer.change_high, plan.better), change_of(answer.change_low, plan.better)}},
      {"change_between_ends", change_of(answer.shift_now, plan.better)},
      {"share", answer.share},
      {"measurements", outcome.steps.size()},
      {"minutes", outcome.minutes},
      {"residual", answer.residual},
      {"merges", plan.problem.merges},
      {"good", commit(outcome, 0)},
      {"bad", commit(outcome, plan.problem.merges)},
      {"machine", outcome.machine.name},
      {"machine_class", outcome.machine.machine_class},
      {"error", plan.problem.error},
      {"noise", plan.problem.noise},
      {"noise_source", plan.noise_source},
      {"expected_change", change_of(plan.problem.shift, plan.better)}};
  const auto inside = [&](int point) { return point >= 1 && point <= plan.problem.merges; };
  out["range"] = json::array();
  if (inside(answer.range.first) && inside(answer.range.last)) {
    out["range"] = {commit(outcome, answer.range.first), commit(outcome, answer.range.last)};
  }
  out["likely"] = commits(outcome, answer.likely);
  out["would_measure"] = commits(outcome, answer.would_measure);
  out["posterior"] = answer.posterior;
  out["blocks"] = blocks_json(outcome);
  out["skipped"] = skipped_json(outcome);
  out["ladder"] = ladder_json(outcome);
  out["points"] = json::array();
  for (const auto& point : plan.points) out["points"].push_back(merge_json(plan, point));
  out["also"] = json::array();
  for (const auto& also : outcome.also) {
    out["also"].push_back(
        {{"metric", also.metric}, {"change", also.change}, {"moved", also.moved}, {"failure", also.failure}});
  }
  out["further"] = outcome.further;
  out["reproduce"] = fmt::format("nightgate bisect --good {} --bad {} --metric {}", commit(outcome, 0).substr(0, 12),
                                 commit(outcome, plan.problem.merges).substr(0, 12), plan.full_metric);
  return dump_json(out);
}

std::string one_sentence(const Outcome& outcome) {
  const auto& answer = outcome.answer;
  const auto change = change_of(answer.change, outcome.plan.better);
  if (!outcome.finished) {
    return fmt::format(
        "bisect {} of {} is not finished ({}); {} suspects are left; it goes on with `nightgate bisect "
        "--resume {}`",
        outcome.plan.id, outcome.plan.full_metric, outcome.stopped_because,
        std::max<std::size_t>(answer.likely.size(), 1), outcome.plan.id);
  }
  switch (answer.outcome) {
    case search::Outcome::culprit:
      return fmt::format("{}: culprit {}, {} sure, {}{}{}", outcome.plan.full_metric,
                         person(at(outcome, answer.culprit)), sure(answer.probability), moved(change),
                         answer.residual ? ", and more remains in the range" : "",
                         answer.verified ? "" : ", unverified");
    case search::Outcome::range:
      return fmt::format("{}: the culprit is one of {} merges, {} to {}, which can't be told apart ({}), {} sure",
                         outcome.plan.full_metric, answer.range.last - answer.range.first + 1,
                         person(at(outcome, answer.range.first)), person(at(outcome, answer.range.last)), answer.why,
                         sure(answer.probability));
    case search::Outcome::not_reproduced:
      return fmt::format(
          "{}: not reproduced: both ends measure alike now, so the machine or its environment changed, "
          "not the code",
          outcome.plan.full_metric);
    case search::Outcome::no_verdict:
      break;
  }
  return fmt::format("{}: no verdict: {}", outcome.plan.full_metric, answer.why);
}

}  // namespace nightgate::session
