// What can be said of a request before anything is measured.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bisect/session/session.hpp"
#include "gate/base/json.hpp"
#include "gate/measure/cost.hpp"
#include "gate/records/records.hpp"

namespace nightgate::session {
namespace {

constexpr std::string_view night_prefix = "night:";
constexpr int nights_back = 400;

bool is_load_metric(const std::string& name) {
  if (name == "rate" || name == "max" || name == "late_p99") return true;
  return name.size() > 1 && name[0] == 'p' && name.find_first_not_of("0123456789.", 1) == std::string::npos;
}

// Could this scenario yield a metric of that name? Only what is certain is refused.
bool may_yield(const config::Deployment& deployment, const config::Scenario& scenario, const std::string& metric) {
  if (scenario.metrics.contains(metric) || measure::is_cost_metric(metric)) return true;
  if (std::ranges::any_of(scenario.extra, [&](const auto& extra) { return extra.name == metric; })) return true;
  if (!deployment.services.empty()) return true;  // each has figures of its own
  if (std::holds_alternative<config::CommandLoad>(scenario.load)) return scenario.metrics.empty();
  return is_load_metric(metric);
}

bool is_good(const store::Verdict& verdict) {
  // Texts of judge::Verdict, which are persistent.
  static constexpr std::string_view good[] = {"good", "gain", "recovered", "accepted"};
  return !verdict.red && std::ranges::find(good, verdict.verdict) != std::end(good);
}

Result<std::string> last_good(const std::string& metric, const std::string& project, const std::string& machine,
                              store::Store& store) {
  NG_TRY(const auto nights, store.nights(project, machine, store::newest, nights_back));
  for (const auto& night : nights) {
    if (night.voided || night.environment || night.state != store::NightState::judged || !night.target) continue;
    NG_TRY(const auto verdicts, store.verdicts(project, machine, night.sequence));
    for (const auto& verdict : verdicts) {
      if (verdict.metric == metric && is_good(verdict) && !night.target->commit.empty()) return night.target->commit;
    }
  }
  return fail(
      Code::usage,
      fmt::format("no night of {} was good in {}, so there is no last-good; name a commit by --good", machine, metric));
}

Result<store::Sequence> number_of_night(const std::string& text) {
  store::Sequence number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + night_prefix.size(), end, number);
  if (error == std::errc() && stopped == end && number != 0) return number;
  return fail(Code::usage, fmt::format("\"{}\" is no night; write night:12, with the number that `nightgate history` "
                                       "shows",
                                       text));
}

bool needs_store(const std::string& end) { return end == "last-good" || end.starts_with(night_prefix); }

// The ends as commits in order. What the local clone does not know may be new: it is fetched once.
Status check_range(const Desk& desk, const Request& request) {
  std::string ends[] = {request.good, request.bad};
  for (auto& end : ends) {
    if (end.empty() || (needs_store(end) && desk.store == nullptr)) return {};
    if (!needs_store(end)) continue;
    NG_TRY(end, look_up_end(end, request.metric, desk.config.project, desk.machine, *desk.store));
  }
  auto range = desk.history.range(ends[0], ends[1]);
  if (!range && range.error().code == Code::not_found && !desk.config.repository.url.empty()) {
    NG_CHECK(desk.history.fetch());
    range = desk.history.range(ends[0], ends[1]);
  }
  if (range) return {};
  return tl::unexpected<Error>(std::move(range).error());
}

Result<std::vector<std::string>> known_names(const config::Config& config, store::Store* store) {
  std::vector<std::string> names;
  for (const auto& deployment : config.deployments) {
    for (const auto& scenario : config.scenarios) {
      if (!scenario.runs_on(deployment.name)) continue;
      for (const auto& [metric, info] : scenario.metrics)
        names.push_back(records::full_name(deployment.name, scenario.name, metric));
      if (!std::holds_alternative<config::CommandLoad>(scenario.load))
        names.push_back(records::full_name(deployment.name, scenario.name, "rate"));
    }
  }
  if (store != nullptr) {
    NG_TRY(const auto stored, store->metrics(config.project));
    for (const auto& metric : stored) names.push_back(metric.name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()),
              names.end());  // clang 14 can't read the library's ranges::unique
  return names;
}

}  // namespace

Result<std::string> commit_of_night(store::Store& store, const std::string& project, const std::string& machine,
                                    store::Sequence sequence) {
  NG_TRY(const auto night, store.night(project, machine, sequence));
  if (!night) return fail(Code::usage, fmt::format("{} has no night {} of project {}", machine, sequence, project));
  if (!night->target || night->target->commit.empty()) {
    return fail(Code::usage,
                fmt::format("night {} does not name a commit, so it can't be an end of a bisect", sequence));
  }
  return night->target->commit;
}

Result<std::string> look_up_end(const std::string& text, const std::string& metric, const std::string& project,
                                const std::string& machine, store::Store& store) {
  if (text == "last-good") return last_good(metric, project, machine, store);
  if (!text.starts_with(night_prefix)) return text;
  NG_TRY(const auto number, number_of_night(text));
  return commit_of_night(store, project, machine, number);
}

Result<Cell> find_metric(const config::Config& config, store::Store* store, const std::string& full_name) {
  NG_TRY(const auto names, known_names(config, store));
  const bool known = std::ranges::find(names, full_name) != names.end();
  for (const auto& deployment : config.deployments) {
    for (const auto& scenario : config.scenarios) {
      const auto prefix = records::full_name(deployment.name, scenario.name, "");
      if (!full_name.starts_with(prefix) || full_name.size() == prefix.size()) continue;
      Cell cell{deployment.name, scenario.name, full_name.substr(prefix.size())};
      if (scenario.runs_on(deployment.name) && (known || may_yield(deployment, scenario, cell.metric))) return cell;
    }
  }
  std::string hint;
  for (const auto& name : near_matches(full_name, names)) hint += (hint.empty() ? "; did you mean " : ", ") + name;
  if (hint.empty()) hint = "; metrics are named deployment.scenario.metric";
  return fail(Code::usage, fmt::format("no scenario of the config yields a metric '{}'{}", full_name, hint));
}

Status check_request(const Desk& desk, const Request& request) {
  const bool by_id = request.trip != 0 || request.resume != 0;
  if (!request.metric.empty() || !by_id) NG_CHECK(find_metric(desk.config, desk.store, request.metric));
  NG_CHECK(check_range(desk, request));
  if (desk.store == nullptr) return {};
  if (request.trip != 0) {
    NG_TRY(const auto group, desk.store->trip(desk.config.project, request.trip));
    if (!group) {
      return fail(Code::not_found,
                  fmt::format("there is no trip {}; `nightgate status` lists the open ones", request.trip));
    }
  }
  if (request.resume != 0) {
    NG_TRY(const auto row, desk.store->bisect(request.resume));
    if (!row || row->project != desk.config.project) {
      return fail(Code::not_found,
                  fmt::format("there is no bisect {} in project {}", request.resume, desk.config.project));
    }
  }
  return {};
}

}  // namespace nightgate::session
