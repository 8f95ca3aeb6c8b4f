#include "bisect/session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bisect/search/engine.hpp"
#include "bisect/session/prefetch.hpp"
#include "gate/base/log.hpp"
#include "gate/records/records.hpp"
#include "store/medians.hpp"

namespace nightgate::session {
namespace {

constexpr int most_ahead = 3;    // images pulled ahead of the block that may need them
constexpr int pilot_block = -1;  // measured before size and noise are known; never part of the search

class Session {
 public:
  Session(const Parts& parts, std::chrono::nanoseconds deadline)
      : parts_(parts), deadline_(deadline), prefetch_(parts.config) {}

  Result<Outcome> go(const Request& request) {
    NG_TRY(outcome_.machine, parts_.measurer.machine());
    NG_TRY(const auto cleaned, parts_.measurer.clean_left_overs());
    for (const auto& what : cleaned) log::notice("removed what an interrupted run left: " + what);
    NG_CHECK(plan(request));
    NG_CHECK(find_cell());
    NG_TRY(outcome_.steps, parts_.store.bisect_steps(plan_.id));
    NG_CHECK(pilot());
    parts_.observer.planned(plan_, plan_.problem.shift > 0 ? search::expected_measurements(plan_.problem) : 0);
    if (outcome_.stopped_because.empty()) NG_CHECK(search());
    if (outcome_.finished && outcome_.answer.outcome == search::Outcome::culprit) NG_CHECK(check_others());
    NG_CHECK(keep());
    if (request.all) NG_CHECK(go_on(request));
    outcome_.plan = std::move(plan_);
    return std::move(outcome_);
  }

 private:
  bool time_is_up() {
    if (parts_.stop && parts_.stop()) {
      outcome_.stopped_because = "stopped by the user";
      return true;
    }
    if (parts_.clock.monotonic() < deadline_) return false;
    outcome_.stopped_because = "the time allowed is used up";
    return true;
  }

  // An unfinished bisect of the same trip, or the one named, goes on; else a new one begins.
  Status plan(const Request& request) {
    auto resume = request.resume;
    if (resume == 0 && request.trip != 0) {
      NG_TRY(const auto group, parts_.store.trip(parts_.config.project, request.trip));
      if (group && group->bisect != 0) resume = group->bisect;
    }
    if (resume == 0) return new_plan(request);
    NG_TRY(const auto row, parts_.store.bisect(resume));
    if (!row || row->project != parts_.config.project) {
      return fail(Code::not_found, fmt::format("there is no bisect {} in project {}", resume, parts_.config.project));
    }
    NG_TRY(plan_, plan_from_json(row->problem));
    plan_.id = row->id;
    plan_.run = row->run;
    plan_.trip = row->trip;
    plan_.started = row->started;
    plan_.problem.max_measurements = std::max(plan_.problem.max_measurements, request.max_measurements);
    return find_targets_again();
  }

  Status new_plan(const Request& request) {
    NG_TRY(plan_, make_plan(parts_, request, outcome_.machine));
    NG_CHECK(parts_.store.put_machine(records::to_row(outcome_.machine)));
    NG_CHECK(parts_.store.begin_run(
        records::new_run(parts_.config, store::RunKind::bisect, outcome_.machine, plan_.run, plan_.started)));
    store::Bisect row;
    row.run = plan_.run;
    row.project = parts_.config.project;
    row.machine = outcome_.machine.name;
    row.metric = plan_.full_metric;
    row.trip = plan_.trip;
    row.good = plan_.points.front().merge.commit;
    row.bad = plan_.points.back().merge.commit;
    row.problem = plan_json(plan_);
    row.started = plan_.started;
    NG_TRY(plan_.id, parts_.store.put_bisect(row));
    if (plan_.trip != 0) NG_CHECK(parts_.store.set_trip_answer(plan_.trip, plan_.id, ""));
    return {};
  }

  Status find_targets_again() {
    std::vector<targets::Merge> merges;
    for (const auto& point : plan_.points) merges.push_back(point.merge);
    NG_TRY(auto found, parts_.finder.find_all(merges));
    auto& problem = plan_.problem;
    problem.merges = static_cast<int>(plan_.points.size()) - 1;
    std::map<std::string, int> first_with;
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto& point = plan_.points[i];
      const auto number = static_cast<int>(i);
      if (auto* target = std::get_if<targets::Target>(&found[i])) {
        point.target = std::move(*target);
        point.why_not.clear();
        problem.same_as.push_back(first_with.emplace(point.target->digest, number).first->second);
      } else {
        point.why_not = std::get<targets::Untestable>(found[i]).why;
        problem.same_as.push_back(number);
      }
      problem.available.push_back(point.target.has_value());
    }
    return {};
  }

  Status find_cell() {
    deployment_ = parts_.config.find_deployment(plan_.deployment);
    scenario_ = parts_.config.find_scenario(plan_.scenario);
    if (deployment_ == nullptr || scenario_ == nullptr) {
      return fail(Code::usage, fmt::format("the config no longer has {}.{}, which bisect {} measures", plan_.deployment,
                                           plan_.scenario, plan_.id));
    }
    NG_TRY(const auto definition, parts_.measurer.definition(*deployment_, *scenario_));
    NG_CHECK(parts_.store.put_definition(definition.hash, definition.text));
    definition_ = definition.hash;
    return {};
  }

  // Good, bad, bad, good: enough to know about how large the shift and the noise are. What failed is measured again; an
  // end that fails as often as makes any merge untestable leaves nothing to search between.
  Status pilot() {
    const int last = static_cast<int>(plan_.points.size()) - 1;
    const int order[] = {0, last, last, 0};
    while (!apply_pilot(plan_, outcome_.steps, std::log1p(parts_.config.gate.min_change))) {
      if (time_is_up()) return {};
      int measured[] = {0, 0}, failures[] = {0, 0}, tries = 0;
      for (const auto& step : outcome_.steps) {
        if (step.seen.block >= 0) continue;
        ++tries;
        const int side = step.seen.point == 0 ? 0 : 1;
        if (step.seen.value) ++measured[side];
        failures[side] = step.seen.value ? 0 : failures[side] + 1;
      }
      for (const int side : {0, 1}) {
        if (failures[side] >= search::failures_allowed) return end_fails(side == 0 ? 0 : last);
      }
      int point = order[std::min(measured[0] + measured[1], 3)];
      if (measured[point == 0 ? 0 : 1] >= 2) point = last - point;
      search::NextBlock block;
      block.block = pilot_block;
      block.phase = search::Phase::reproduce;
      NG_CHECK(prepare(point));
      NG_CHECK(measure(block, point, tries));
    }
    return {};
  }

  Status end_fails(int point) const {
    std::string why;
    for (const auto& step : outcome_.steps) {
      if (step.seen.point == point && !step.failure.empty()) why = step.failure;
    }
    const auto& merge = plan_.points[static_cast<std::size_t>(point)].merge;
    return fail(Code::measure,
                fmt::format("the {} end {} could not be measured {} times, so there is nothing to compare with; "
                            "choose a merge near it. The last time: {}",
                            point == 0 ? "good" : "bad", merge.commit.substr(0, 10), search::failures_allowed, why));
  }

  std::vector<search::Observation> observations() const {
    std::vector<search::Observation> out;
    for (const auto& step : outcome_.steps) {
      if (step.seen.block >= 0) out.push_back(step.seen);
    }
    return out;
  }

  Status search() {
    if (const auto why = search::invalid(plan_.problem)) return fail(Code::usage, *why);
    search::Engine engine(plan_.problem);  // decides as decide() does, without computing everything anew
    for (;;) {
      const auto decision = engine.decide(observations());
      outcome_.answer = decision.answer;
      if (decision.next.empty()) {
        outcome_.finished = true;
        return {};
      }
      parts_.observer.progress(plan_, decision.progress, minutes_each() * decision.progress.measurements_left);
      prefetch_.start(targets_of(likely_next(plan_.problem, decision, most_ahead)));
      for (const auto& block : decision.next) {
        NG_TRY(const bool go_on, measure_block(block));
        if (!go_on) return {};
      }
    }
  }

  Result<bool> measure_block(const search::NextBlock& block) {
    parts_.observer.block(block);
    for (const int point : block.points) NG_CHECK(prepare(point));
    prefetch_.finish();  // nothing is pulled from here on
    int order = static_cast<int>(std::count_if(outcome_.steps.begin(), outcome_.steps.end(), [&](const auto& s) {
      return s.seen.block == block.block && s.seen.machine == block.machine;
    }));
    for (const int point : block.points) {
      if (time_is_up()) return false;
      NG_CHECK(measure(block, point, order++));
      // A failed point changes what the block still needs: ask again.
      if (!outcome_.steps.back().seen.value) return true;
    }
    return true;
  }

  std::vector<targets::Target> targets_of(const std::vector<int>& points) const {
    std::vector<targets::Target> out;
    for (const int point : points) {
      if (const auto& target = plan_.points[static_cast<std::size_t>(point)].target) out.push_back(*target);
    }
    return out;
  }

  Status prepare(int point) {
    auto& target = plan_.points[static_cast<std::size_t>(point)].target;
    if (!target) return fail(Code::internal, fmt::format("the search asked for merge {} which has no target", point));
    if (auto ready = parts_.finder.prepare(*target); !ready) {
      // Registries come and go; a target that can't be had now fails its measurement, and three failures rule it out.
      unprepared_[point] = ready.error().text();
    } else {
      unprepared_.erase(point);
    }
    return {};
  }

  // One fresh start, in the store before the next begins.
  Status measure(const search::NextBlock& block, int point, int order) {
    const auto& at = plan_.points[static_cast<std::size_t>(point)];
    store::BisectStep step;
    step.seen = {block.block, block.machine, order, point, std::nullopt, block.phase, block.candidate};
    step.commit = at.merge.commit;
    step.digest = at.target->digest;
    step.machine = outcome_.machine.name;
    step.run = plan_.run;
    step.at = parts_.clock.now();
    if (const auto failed = unprepared_.find(point); failed != unprepared_.end()) {
      step.failure = failed->second;
    } else {
      NG_CHECK(start(at, point, step));
    }
    NG_CHECK(parts_.store.put_bisect_step(plan_.id, step));
    parts_.observer.measured(plan_, step);
    outcome_.steps.push_back(std::move(step));
    return {};
  }

  Status start(const Point& at, int point, store::BisectStep& step) {
    auto got = parts_.measurer.measure(*at.target, *deployment_, *scenario_, next_start(point));
    if (!got) {
      if ((parts_.stop && parts_.stop()) || got.error().code != Code::measure)
        return tl::unexpected<Error>(std::move(got).error());
      step.failure = got.error().text();
      return {};
    }
    NG_CHECK(parts_.store.put_measurement(records::to_row(*got, plan_.run, store::Role::probe, point,
                                                          records::to_row(*at.target, &at.merge), definition_)));
    const auto value = got->value(plan_.metric);
    if (!got->no_verdict.empty()) {
      step.failure = got->no_verdict;
    } else if (!value || !(*value > 0)) {
      step.failure = fmt::format("no usable value of {}", plan_.metric);
    } else {
      if (const auto info = got->metrics.find(plan_.metric); info != got->metrics.end()) {
        plan_.better = info->second.better == config::Better::higher ? store::Better::higher : store::Better::lower;
        plan_.unit = info->second.unit;
      }
      step.value = *value;
      step.seen.value = plan_.better == store::Better::higher ? -std::log(*value) : std::log(*value);
    }
    return {};
  }

  int next_start(int point) const {
    return static_cast<int>(std::count_if(outcome_.steps.begin(), outcome_.steps.end(),
                                          [&](const auto& s) { return s.seen.point == point; }));
  }

  double minutes_each() const {
    if (outcome_.steps.size() < 2) return 0;
    const auto span = outcome_.steps.back().at - outcome_.steps.front().at;
    return std::chrono::duration<double, std::ratio<60>>(span).count() / static_cast<double>(outcome_.steps.size() - 1);
  }

  using Sides = std::array<std::vector<measure::Measurement>, 2>;  // of the culprit's parent, of the culprit

  // The trip group's other metrics on both sides of the culprit. Those of the searched load were measured all along;
  // for another load parent, culprit, culprit and parent are measured now.
  Status check_others() {
    if (plan_.trip == 0) return {};
    NG_TRY(const auto group, parts_.store.trip(parts_.config.project, plan_.trip));
    if (!group) return {};
    std::vector<std::string> others;
    for (const auto& trip : group->trips) {
      if (trip.metric != plan_.full_metric) others.push_back(trip.metric);
    }
    for (const auto& deployment : parts_.config.deployments) {
      for (const auto& scenario : parts_.config.scenarios) {
        const auto prefix = records::full_name(deployment.name, scenario.name, "");
        const auto is_here = [&](const std::string& metric) { return metric.starts_with(prefix); };
        if (std::ranges::none_of(others, is_here)) continue;
        const bool searched = &deployment == deployment_ && &scenario == scenario_;
        if (!searched && time_is_up()) continue;
        std::string failure;
        NG_TRY(const auto sides, searched ? measured_sides() : measure_sides(deployment, scenario, failure));
        for (const auto& metric : others) {
          if (is_here(metric))
            outcome_.also.push_back(check_other(metric, metric.substr(prefix.size()), sides, failure));
        }
        std::erase_if(others, is_here);
      }
    }
    for (const auto& metric : others) {
      if (!time_is_up()) outcome_.also.push_back({metric, 0, false, "the config no longer has its scenario"});
    }
    outcome_.stopped_because.clear();  // the bisect itself has its answer
    return {};
  }

  Result<Sides> measured_sides() {
    NG_TRY(const auto rows, parts_.store.measurements(plan_.run));
    Sides out;
    for (const auto& row : rows) {
      const int side = row.arm - (outcome_.answer.culprit - 1);
      if (row.role != store::Role::probe || side < 0 || side > 1 || !row.no_verdict.empty()) continue;
      if (row.deployment != deployment_->name || row.scenario != scenario_->name) continue;
      out[static_cast<std::size_t>(side)].push_back(records::from_row(row));
    }
    return out;
  }

  Result<Sides> measure_sides(const config::Deployment& deployment, const config::Scenario& scenario,
                              std::string& failure) {
    Sides out;
    parts_.observer.other_load(deployment.name + "." + scenario.name);
    const auto culprit = static_cast<std::size_t>(outcome_.answer.culprit);
    for (const std::size_t side : {0U, 1U, 1U, 0U}) {
      auto got = parts_.measurer.measure(*plan_.points[culprit - 1 + side].target, deployment, scenario, 0);
      if (!got && got.error().code != Code::measure) return tl::unexpected<Error>(std::move(got).error());
      failure = !got ? got.error().text() : got->no_verdict;
      if (!failure.empty()) return out;
      out[side].push_back(std::move(*got));
    }
    return out;
  }

  AlsoChecked check_other(const std::string& metric, const std::string& short_name, const Sides& sides,
                          const std::string& failure) const {
    AlsoChecked out{metric, 0, false, failure};
    std::array<double, 2> middle{};
    bool higher = true;
    for (std::size_t side = 0; side < sides.size() && out.failure.empty(); ++side) {
      std::vector<double> logs;
      for (const auto& measurement : sides[side]) {
        if (const auto value = measurement.value(short_name); value && *value > 0) logs.push_back(std::log(*value));
        if (const auto info = measurement.metrics.find(short_name); info != measurement.metrics.end()) {
          higher = info->second.better == config::Better::higher;
        }
      }
      if (logs.empty()) out.failure = "no usable value";
      middle[side] = store::median_of(std::move(logs));
    }
    if (!out.failure.empty()) return out;
    out.change = (higher ? 1 : -1) * std::expm1(middle[1] - middle[0]);
    out.moved = out.change <= -parts_.config.gate.min_change;
    return out;
  }

  Status keep() {
    outcome_.minutes = minutes_each() * static_cast<double>(outcome_.steps.size());
    outcome_.plan = plan_;
    const auto json = answer_json(outcome_);
    const auto state = outcome_.finished ? store::BisectState::finished : store::BisectState::running;
    const auto now = parts_.clock.now();
    NG_CHECK(parts_.store.update_bisect(plan_.id, state, json, outcome_.finished ? std::optional(now) : std::nullopt));
    if (!outcome_.finished) return {};
    if (plan_.trip != 0) NG_CHECK(parts_.store.set_trip_answer(plan_.trip, plan_.id, json));
    return parts_.store.finish_run(plan_.run, store::RunState::done, now, json);
  }

  // --all: what the named merge does not explain is searched left and right of it, each as a bisect of its own.
  Status go_on(const Request& request) {
    if (!outcome_.finished || !outcome_.answer.residual) return {};
    for (const auto& part : search::further(plan_.problem, outcome_.answer)) {
      if (time_is_up()) return {};
      const auto first = static_cast<std::size_t>(part.offset);
      const auto last = first + static_cast<std::size_t>(part.problem.merges);
      Request next = request;
      next.trip = next.resume = 0;
      next.shift = part.problem.shift;
      next.noise = part.problem.noise;
      next.metric = plan_.full_metric;
      next.good = plan_.points[first].merge.commit;
      next.bad = plan_.points[last].merge.commit;
      NG_TRY(const auto found, Session(parts_, deadline_).go(next));
      outcome_.further.push_back(found.plan.id);
    }
    return {};
  }

  const Parts& parts_;
  std::chrono::nanoseconds deadline_;
  Outcome outcome_;
  Plan plan_;
  const config::Deployment* deployment_ = nullptr;
  const config::Scenario* scenario_ = nullptr;
  std::string definition_;
  std::map<int, std::string> unprepared_;
  Prefetch prefetch_;
};

}  // namespace

Result<Outcome> run(const Parts& parts, const Request& request, std::chrono::nanoseconds deadline) {
  return Session(parts, deadline).go(request);
}

}  // namespace nightgate::session
