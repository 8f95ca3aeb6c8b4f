// From a request to a plan: range, targets, size and noise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bisect/session/session.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "gate/records/records.hpp"

namespace nightgate::session {
namespace {

constexpr double least_noise = 0.005;  // of the log: below this the machine is not believed

double shift_of(const store::Trip& trip) { return std::abs(std::log(trip.level / trip.baseline)); }

// Unit and direction as the store knows them; else the first measurement tells.
Status describe_metric(const Parts& parts, Plan& plan) {
  NG_TRY(auto cell, find_metric(parts.config, &parts.store, plan.full_metric));
  plan.deployment = std::move(cell.deployment);
  plan.scenario = std::move(cell.scenario);
  plan.metric = std::move(cell.metric);
  NG_TRY(const auto known, parts.store.metrics(parts.config.project));
  const auto row = std::find_if(known.begin(), known.end(), [&](const auto& m) { return m.name == plan.full_metric; });
  if (row == known.end()) return {};
  plan.better = row->better;
  plan.unit = row->unit;
  return {};
}

Status find_targets(const Parts& parts, Plan& plan) {
  std::vector<targets::Merge> merges;
  for (const auto& point : plan.points) merges.push_back(point.merge);
  NG_TRY(auto found, parts.finder.find_all(merges));
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto& point = plan.points[i];
    if (auto* target = std::get_if<targets::Target>(&found[i])) {
      point.target = std::move(*target);
    } else {
      point.why_not = std::get<targets::Untestable>(found[i]).why;
    }
  }
  for (const auto* end : {&plan.points.front(), &plan.points.back()}) {
    if (end->target) continue;
    return fail(Code::usage, fmt::format("the {} end {} has no target ({}); choose a merge that has one",
                                         end == &plan.points.front() ? "good" : "bad", end->merge.commit.substr(0, 10),
                                         end->why_not));
  }
  if (plan.points.front().target->digest == plan.points.back().target->digest) {
    return fail(Code::usage, fmt::format("both ends are the same target ({}): nothing between them can have changed it",
                                         plan.points.front().target->digest.substr(0, 19)));
  }
  return {};
}

void describe_points(Plan& plan) {
  auto& problem = plan.problem;
  problem.merges = static_cast<int>(plan.points.size()) - 1;
  problem.available.clear();
  problem.same_as.clear();
  std::map<std::string, int> first_with;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const auto& target = plan.points[i].target;
    problem.available.push_back(target.has_value());
    const auto point = static_cast<int>(i);
    problem.same_as.push_back(target ? first_with.emplace(target->digest, point).first->second : point);
  }
}

Result<store::TripGroup> trip_of(const Parts& parts, std::int64_t id) {
  NG_TRY(auto group, parts.store.trip(parts.config.project, id));
  if (!group || group->trips.empty())
    return fail(Code::not_found, fmt::format("there is no trip {}; `nightgate status` lists the open ones", id));
  return std::move(*group);
}

// The trip's range: last accepted night before the evidence, and the first night of the evidence.
Status ends_from_trip(const Parts& parts, Plan& plan, std::string& good, std::string& bad) {
  NG_TRY(const auto group, trip_of(parts, plan.trip));
  if (plan.full_metric.empty()) plan.full_metric = group.trips.front().metric;
  for (const auto& trip : group.trips) {
    if (trip.metric == plan.full_metric) plan.problem.shift = shift_of(trip);
  }
  if (good.empty()) {
    NG_TRY(good, commit_of_night(parts.store, parts.config.project, group.machine, group.last_good));
  }
  if (bad.empty()) {
    NG_TRY(bad, commit_of_night(parts.store, parts.config.project, group.machine, group.first));
  }
  return {};
}

nlohmann::json point_json(const Point& point) {
  nlohmann::json out = {{"commit", point.merge.commit},   {"title", point.merge.title},
                        {"author", point.merge.author},   {"time", to_rfc3339(point.merge.time)},
                        {"reverts", point.merge.reverts}, {"files", point.merge.files}};
  out["pr"] = point.merge.pr ? nlohmann::json(*point.merge.pr) : nlohmann::json();
  out["digest"] = point.target ? nlohmann::json(point.target->digest) : nlohmann::json();
  if (!point.why_not.empty()) out["why_not"] = point.why_not;
  return out;
}

Result<Point> point_from(const JsonReader& in) {
  Point point;
  NG_TRY(point.merge.commit, in.string("commit"));
  NG_TRY(point.merge.title, in.string("title"));
  NG_TRY(point.merge.author, in.string("author"));
  NG_TRY(const auto time, in.string("time"));
  NG_TRY(point.merge.time, parse_rfc3339(time));
  NG_TRY(point.merge.reverts, in.string_or("reverts", ""));
  NG_TRY(point.merge.files, in.strings_or_empty("files"));
  if (const auto& pr = in.value().at("pr"); pr.is_number_integer()) point.merge.pr = pr.get<int>();
  NG_TRY(point.why_not, in.string_or("why_not", ""));
  return point;
}

}  // namespace

Result<Plan> make_plan(const Parts& parts, const Request& request, const measure::MachineInfo& machine) {
  Plan plan;
  plan.trip = request.trip;
  plan.full_metric = request.metric;
  plan.run = make_uuid();
  plan.started = parts.clock.now();
  plan.problem.error = request.error;
  plan.problem.interior = parts.config.bisect.interior;
  plan.problem.max_measurements = request.max_measurements;
  plan.problem.force = request.force;
  auto good = request.good, bad = request.bad;
  if (plan.trip != 0) NG_CHECK(ends_from_trip(parts, plan, good, bad));
  for (auto* end : {&good, &bad}) {
    NG_TRY(*end, look_up_end(*end, plan.full_metric, parts.config.project, machine.name, parts.store));
  }
  NG_CHECK(describe_metric(parts, plan));
  NG_CHECK(parts.history.fetch());
  NG_TRY(auto merges, parts.history.range(good, bad));
  for (auto& merge : merges) plan.points.push_back({std::move(merge), std::nullopt, {}});
  NG_CHECK(find_targets(parts, plan));
  describe_points(plan);
  if (request.shift > 0) plan.problem.shift = request.shift;
  NG_TRY(auto noise, known_noise(parts.store, parts.config.project, machine.name,
                                 {plan.deployment, plan.scenario, plan.metric}, plan.full_metric));
  if (request.noise > 0) noise = KnownNoise{request.noise, "the bisect before"};
  if (noise) {
    plan.problem.noise = std::max(least_noise, noise->sd);
    plan.noise_source = noise->source;
  }
  plan.needs_pilot = !(plan.problem.shift > 0) || !noise;
  if (plan.needs_pilot) plan.problem.shift = 0;
  for (auto& point : plan.points) {
    if (auto files = parts.history.fill_files(point.merge); !files) log::debug(files.error().text());
  }
  return plan;
}

bool apply_pilot(Plan& plan, const std::vector<store::BisectStep>& steps, double least_shift) {
  if (!plan.needs_pilot) return true;
  std::vector<double> good, bad;
  for (const auto& step : steps) {
    if (step.seen.block >= 0 || !step.seen.value) continue;
    (step.seen.point == 0 ? good : bad).push_back(*step.seen.value);
  }
  if (good.size() < 2 || bad.size() < 2) return false;
  const auto mean = [](const std::vector<double>& v) { return (v[0] + v[1]) / 2; };
  const double shift = mean(bad) - mean(good);
  if (plan.noise_source.empty()) {
    // Two differences give two degrees of freedom only, so little noise is not believed.
    const double noise = std::sqrt((std::pow(good[0] - good[1], 2) + std::pow(bad[0] - bad[1], 2)) / 4);
    plan.problem.noise = std::max({0.01, noise, least_noise});
    plan.noise_source = "a pilot of four starts";
  }
  plan.problem.shift = std::max({shift, 2 * plan.problem.noise, least_shift});
  return true;
}

std::string plan_json(const Plan& plan) {
  const auto& p = plan.problem;
  nlohmann::json out = {{"metric", plan.full_metric},
                        {"deployment", plan.deployment},
                        {"scenario", plan.scenario},
                        {"better", plan.better == store::Better::higher ? "higher" : "lower"},
                        {"unit", plan.unit},
                        {"trip", plan.trip},
                        {"needs_pilot", plan.needs_pilot},
                        {"noise_source", plan.noise_source},
                        {"shift", p.shift},
                        {"noise", p.noise},
                        {"error", p.error},
                        {"interior", p.interior},
                        {"max_measurements", p.max_measurements},
                        {"force", p.force},
                        {"points", nlohmann::json::array()}};
  for (const auto& point : plan.points) out["points"].push_back(point_json(point));
  return dump_json(out);
}

Result<Plan> plan_from_json(const std::string& text) {
  NG_TRY(const auto json, parse_json(text));
  const JsonReader in(json, "the stored plan");
  Plan plan;
  NG_TRY(plan.full_metric, in.string("metric"));
  NG_TRY(plan.deployment, in.string("deployment"));
  NG_TRY(plan.scenario, in.string("scenario"));
  plan.metric = plan.full_metric.substr(
      std::min(plan.full_metric.size(), records::full_name(plan.deployment, plan.scenario, "").size()));
  NG_TRY(const auto better, in.choice_or("better", {"higher", "lower"}, "higher"));
  plan.better = better == "higher" ? store::Better::higher : store::Better::lower;
  NG_TRY(plan.unit, in.string_or("unit", ""));
  NG_TRY(plan.trip, in.integer_or("trip", 0, std::numeric_limits<std::int64_t>::max(), 0));
  NG_TRY(plan.needs_pilot, in.boolean("needs_pilot"));
  NG_TRY(plan.noise_source, in.string_or("noise_source", ""));
  NG_TRY(plan.problem.shift, in.number("shift", 0, 100));
  NG_TRY(plan.problem.noise, in.number("noise", 0, 100));
  NG_TRY(plan.problem.error, in.number("error", 0, 1));
  NG_TRY(const auto interior, in.integer("interior", 1, 15));
  plan.problem.interior = static_cast<int>(interior);
  NG_TRY(const auto most, in.integer("max_measurements", 1, 1000000));
  plan.problem.max_measurements = static_cast<int>(most);
  NG_TRY(plan.problem.force, in.boolean("force"));
  NG_TRY(const auto points, in.child("points"));
  for (const auto& element : points.elements()) {
    NG_TRY(auto point, point_from(element));
    point.merge.number = static_cast<int>(plan.points.size());
    plan.points.push_back(std::move(point));
  }
  if (plan.points.size() < 2) return fail(Code::bad_data, "the stored plan has no merges");
  return plan;
}

}  // namespace nightgate::session
