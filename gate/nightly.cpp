#include "gate/nightly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gate/base/log.hpp"
#include "gate/night_measuring.hpp"
#include "gate/records/records.hpp"

namespace nightgate::nightly {
namespace {

constexpr int merges_looked_at = 50;  // for the newest one with a target

// Tonight's target: the newest merge that has one; without a repository, what the config names.
Status find_target(const Parts& parts, Outcome& outcome) {
  if (parts.history == nullptr) {
    NG_TRY(outcome.target, parts.finder.parse(""));
    return {};
  }
  NG_CHECK(parts.history->fetch());
  NG_TRY(const auto merges, parts.history->newest(merges_looked_at));
  std::string first_why;
  for (const auto& merge : merges) {
    NG_TRY(auto found, parts.finder.find(merge));
    if (auto* target = std::get_if<targets::Target>(&found)) {
      outcome.target = std::move(*target);
      outcome.merge = merge;
      if (!first_why.empty()) {
        outcome.notes.push_back(
            fmt::format("the newest merge has no target ({}); measuring {} instead", first_why, outcome.target.label));
      }
      return {};
    }
    if (first_why.empty()) first_why = std::get<targets::Untestable>(found).why;
  }
  return fail(Code::measure,
              fmt::format("none of the newest {} merges has a target; the newest: {}", merges.size(), first_why));
}

Status find_control(const Parts& parts, Outcome& outcome) {
  const auto& name = parts.config.night.control;
  if (name.empty()) return {};
  NG_TRY(outcome.control, parts.finder.parse(name));
  return {};
}

// Same target, same definition as the last judged night, and no question open: another night would teach nothing.
Result<bool> nothing_to_do(const Parts& parts, const Options& options, const std::string& definition,
                           Outcome& outcome) {
  if (options.force || options.attempt_of != 0 || parts.store == nullptr) return false;
  NG_TRY(const auto newest, parts.store->nights(parts.config.project, outcome.machine.name, store::newest, 1));
  if (!newest.empty() &&
      (newest[0].state == store::NightState::measuring || newest[0].state == store::NightState::measured)) {
    return false;  // a killed night is finished first
  }
  NG_TRY(const auto last, parts.store->last_judged(parts.config.project, outcome.machine.name));
  if (!last || last->open_question || !last->target) return false;
  if (last->target->digest != outcome.target.digest || last->definition != definition) return false;
  outcome.end = End::nothing_to_do;
  outcome.night = *last;
  outcome.message = fmt::format(
      "nothing to do: {} was measured on night {} ({}), and nothing is suspected or warming up; "
      "--force measures it again",
      outcome.target.label, last->sequence, to_rfc3339(last->started));
  return true;
}

Status begin(const Parts& parts, const Options& options, const std::string& definition, Outcome& outcome) {
  NG_CHECK(parts.recorder.put_machine(records::to_row(outcome.machine)));
  const auto run =
      records::new_run(parts.config, store::RunKind::night, outcome.machine, make_uuid(), parts.clock.now());
  NG_TRY(outcome.night, parts.recorder.begin_night(run, options.attempt_of));
  const auto& night = outcome.night;
  if (night.resumed && night.target &&
      (night.target->digest != outcome.target.digest || night.definition != definition)) {
    // What is stored of it is about something else: it is closed as it is, and tonight begins.
    NG_CHECK(parts.recorder.set_night(night.run, store::NightState::no_verdict,
                                      "interrupted, and a newer target or definition came before it went on"));
    NG_TRY(outcome.night, parts.recorder.begin_night(run, options.attempt_of));
  } else if (night.resumed) {
    outcome.notes.push_back(fmt::format("going on with night {}, which was interrupted", night.sequence));
  }
  const auto* merge = outcome.merge ? &*outcome.merge : nullptr;
  const auto target = records::to_row(outcome.target, merge);
  NG_CHECK(parts.recorder.put_target(parts.config.project, target));
  if (outcome.control)
    NG_CHECK(parts.recorder.put_target(parts.config.project, records::to_row(*outcome.control, nullptr)));
  return parts.recorder.set_night_target(outcome.night.run, target, definition);
}

Status prepare(const Parts& parts, Outcome& outcome) {
  NG_CHECK(parts.finder.prepare(outcome.target));
  if (outcome.control) NG_CHECK(parts.finder.prepare(*outcome.control));
  return {};
}

// The night happened, and says why it has no verdict.
Status close_without_verdict(const Parts& parts, Outcome& outcome, std::string why) {
  outcome.end = End::no_verdict;
  outcome.message = std::move(why);
  NG_CHECK(parts.recorder.set_night(outcome.night.run, store::NightState::no_verdict, outcome.message));
  return parts.recorder.finish_run(outcome.night.run, store::RunState::failed, parts.clock.now(), "");
}

std::vector<store::MetricInfo> infos_of(const std::vector<measure::Measurement>& measurements) {
  std::map<std::string, store::MetricInfo> by_name;
  for (const auto& m : measurements) {
    for (const auto& [name, info] : m.metrics) {
      const auto full = records::full_name(m.deployment, m.scenario, name);
      by_name[full] = {full, info.unit,
                       info.better == config::Better::higher ? store::Better::higher : store::Better::lower,
                       info.gated};
    }
  }
  std::vector<store::MetricInfo> out;
  for (auto& [name, info] : by_name) out.push_back(std::move(info));
  return out;
}

// The last judged night as the judge got it; nothing when there is none or the database is away (then tonight is not
// judged now, and what is missing is found when it is).
Result<std::optional<judge::NightInput>> last_input(const Parts& parts, const Outcome& outcome) {
  if (parts.store == nullptr) return std::optional<judge::NightInput>{};
  NG_TRY(const auto last, parts.store->last_judged(parts.config.project, outcome.machine.name));
  if (!last) return std::optional<judge::NightInput>{};
  NG_TRY(auto inputs, parts.store->inputs_after(parts.config.project, outcome.machine.name, last->sequence - 1));
  if (inputs.empty()) return std::optional<judge::NightInput>{};
  return std::optional<judge::NightInput>(std::move(inputs.front().input));
}

constexpr const char* kept_in_spool = "measured and kept in the spool; judged when the database can be read again";

void without_verdict(Outcome& outcome, std::string why) {
  outcome.end = End::no_verdict;
  outcome.message = std::move(why);
}

// A large correction is never silent: code that is slower everywhere looks the same.
void note_machine(Outcome& outcome) {
  constexpr double worth_saying = 0.1;  // log
  const auto& machine = outcome.verdict.machine;
  if (outcome.control || !machine.estimated || std::abs(machine.log_speed) < worth_saying) return;
  outcome.notes.push_back(
      fmt::format("most series say that tonight's machine is {:.0f} % {} than usual, and every figure was judged "
                  "without that; only a control can tell it from code that is {} everywhere",
                  100 * std::expm1(std::abs(machine.log_speed)), machine.log_speed > 0 ? "slower" : "faster",
                  machine.log_speed > 0 ? "slower" : "faster"));
}

Status judge_night(const Parts& parts, Outcome& outcome) {
  without_verdict(outcome, kept_in_spool);  // until there is one: a fault must never look like a pass
  if (parts.store == nullptr || outcome.night.sequence == 0) return {};
  auto judged = judging::judge_nights(*parts.store, parts.config, outcome.machine.name, outcome.night.sequence);
  if (!judged) {
    without_verdict(outcome, judged.error().text());
    return {};
  }
  for (auto& night : *judged) {
    if (night.verdict.night.sequence != outcome.night.sequence) continue;
    outcome.verdict = std::move(night.verdict);
    outcome.opened = std::move(night.opened);
    outcome.closed = std::move(night.closed);
    outcome.end = outcome.verdict.environment_suspect ? End::no_verdict : End::judged;
    outcome.message = outcome.verdict.environment_suspect ? "environment suspect: " + outcome.verdict.reason : "";
    note_machine(outcome);
  }
  return parts.recorder.finish_run(outcome.night.run, store::RunState::done, parts.clock.now(), "");
}

Result<std::vector<store::TripGroup>> open_trips_here(const Parts& parts, const Outcome& outcome) {
  NG_TRY(auto open, parts.store->open_trips(parts.config.project));
  std::erase_if(open, [&](const store::TripGroup& group) { return group.machine != outcome.machine.name; });
  return open;
}

// What is red after tonight. Unknown is no verdict, never green.
Status find_red(const Parts& parts, Outcome& outcome) {
  if (parts.store == nullptr) return {};
  auto open = open_trips_here(parts, outcome);
  if (open) {
    outcome.open_trips = std::move(*open);
  } else if (open.error().code == Code::away) {
    without_verdict(outcome, "the store went away: " + open.error().text());
  } else {
    return tl::unexpected<Error>(std::move(open).error());
  }
  return {};
}

// Trips without an answer, tonight's and older ones that ran out of time, while the night lasts.
void bisect_open(const Parts& parts, std::chrono::nanoseconds deadline, Outcome& outcome) {
  if (parts.store == nullptr || !parts.config.night.bisect || parts.history == nullptr) return;
  bool any = false;
  for (const auto& group : outcome.open_trips) {
    if (!group.answer.empty()) continue;
    const bool only_creep =
        std::all_of(group.trips.begin(), group.trips.end(), [](const auto& t) { return t.kind == "creep"; });
    if (only_creep) continue;  // no single night in which it happened; a person is offered a bisect instead
    if (parts.clock.monotonic() >= deadline) {
      outcome.notes.push_back(fmt::format("trip {} waits for the next night: no time left to bisect", group.id));
      continue;
    }
    any = true;
    auto said = parts.bisecting.bisect(group, deadline);
    outcome.notes.push_back(said ? *said
                                 : fmt::format("trip {} could not be bisected: {}", group.id, said.error().text()));
  }
  if (!any) return;
  // With their answers now. What was red stays so when the store can't be read any more.
  if (auto again = open_trips_here(parts, outcome)) outcome.open_trips = std::move(*again);
}

void tell(const Parts& parts, const Outcome& outcome) {
  if (auto told = parts.telling.tell(outcome); !told) {
    log::warning("the night could not be reported everywhere: " + told.error().text());
  }
}

// From readings to the end, once everything measurable is measured.
Status finish_night(const Parts& parts, const std::vector<Cell>& cells, Measured measured, Outcome& outcome) {
  outcome.failures = measured.failures;
  if (auto note = self_note(measured.self); !note.empty()) outcome.notes.push_back(std::move(note));
  const auto last = last_input(parts, outcome);
  // Without it, a metric that is gone tonight would go unnamed: the night then has no full verdict.
  if (!last)
    outcome.failures.push_back(
        {"history", "what was expected tonight could not be read: " + last.error().text(), false});
  auto input = readings_of(outcome, cells, measured, last ? *last : std::nullopt);
  outcome.measurements = std::move(measured.target);
  if (input.readings.empty()) {
    return close_without_verdict(parts, outcome,
                                 outcome.failures.empty()
                                     ? "nothing gated was measured"
                                     : outcome.failures.front().what + ": " + outcome.failures.front().why);
  }
  auto infos = infos_of(outcome.measurements);
  add_unnamed(input, cells, measured.failures, infos);
  NG_CHECK(parts.recorder.put_readings(outcome.night.run, input, infos));
  return judge_night(parts, outcome);
}

}  // namespace

int Outcome::exit_code() const {
  if (!open_trips.empty()) return 1;
  if (std::any_of(failures.begin(), failures.end(), [](const Failure& f) { return f.broken; })) return 3;
  if (end == End::nothing_to_do) return 0;
  if (end == End::no_verdict || !failures.empty()) return 4;
  const bool open = std::any_of(verdict.metrics.begin(), verdict.metrics.end(), [](const judge::MetricVerdict& m) {
    return m.verdict == judge::Verdict::no_verdict || m.verdict == judge::Verdict::environment_suspect;
  });
  return open ? 4 : 0;
}

Result<Outcome> run(const Parts& parts, const Options& options) {
  const auto deadline = parts.clock.monotonic() + std::chrono::minutes(parts.config.night.max_minutes);
  Outcome outcome;
  NG_TRY(outcome.machine, parts.measurer.machine());
  NG_TRY(outcome.cleaned, parts.measurer.clean_left_overs());
  NG_CHECK(find_target(parts, outcome));
  NG_CHECK(find_control(parts, outcome));
  NG_TRY(const auto cells, cells_of(parts));
  const auto definition = fingerprint(cells);

  // When the database does not answer, measuring goes on all the same.
  const auto idle = nothing_to_do(parts, options, definition, outcome);
  if (!idle && idle.error().code != Code::away) return tl::unexpected<Error>(idle.error());
  if (!idle || !*idle) {
    NG_CHECK(begin(parts, options, definition, outcome));
    if (auto ready = prepare(parts, outcome); !ready) {
      outcome.failures.push_back({"target", ready.error().text(), true});
      NG_CHECK(close_without_verdict(parts, outcome, ready.error().text()));
    } else {
      NG_TRY(auto measured, measure_all(parts, outcome, cells, deadline));
      NG_CHECK(finish_night(parts, cells, std::move(measured), outcome));
    }
  }
  NG_CHECK(find_red(parts, outcome));
  bisect_open(parts, deadline, outcome);
  tell(parts, outcome);
  return outcome;
}

}  // namespace nightgate::nightly
