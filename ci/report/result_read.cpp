// From the document to the model. Everything is checked here, so that the writers need not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "ci/report/result.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::report {
namespace {

using nlohmann::json;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t most_rows = 20000;
constexpr std::size_t most_remarks = 50;

// ---- fields ----
std::string text_of(const JsonReader& at, std::string_view key, std::size_t most = 200) {
  const auto found = at.value().find(key);
  return found != at.value().end() && found->is_string() ? shorten(found->get_ref<const std::string&>(), most) : "";
}
// null and absent are "not known"; everything else must be a number.
Result<double> figure(const JsonReader& at, std::string_view key) {
  const auto found = at.value().find(key);
  if (found == at.value().end() || found->is_null()) return unknown;
  if (!found->is_number()) return at.wrong(key, "a number or null");
  return found->get<double>();
}
Result<std::string> word(const JsonReader& at, std::string_view key, std::initializer_list<std::string_view> allowed) {
  NG_TRY(auto text, at.string(key));
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return text;
  return at.wrong(key, "one of the words of this schema");
}
Result<std::vector<JsonReader>> items(const JsonReader& at, std::string_view key) {
  if (!at.has(key)) return std::vector<JsonReader>{};
  NG_TRY(const auto list, at.child(key));
  if (!list.value().is_array() || list.value().size() > most_rows) return at.wrong(key, "a list, not endless");
  return list.elements();
}
std::string hex_of(const JsonReader& at, std::string_view key) {
  const auto text = text_of(at, key, 64);
  const bool hex =
      text.size() >= 7 && text.size() <= 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return hex ? text : "";
}
std::int64_t count_of(const JsonReader& at, std::string_view key) {
  const auto found = at.value().find(key);
  if (found == at.value().end() || !found->is_number_integer()) return 0;
  return std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, 1000000000);
}
bool yes(const JsonReader& at, std::string_view key) {
  const auto found = at.value().find(key);
  return found != at.value().end() && found->is_boolean() && found->get<bool>();
}
void remark(JobResult& out, const std::string& text) {
  if (!text.empty() && out.remarks.size() < most_remarks) out.remarks.push_back(text);
}

int rank(const ResultRow& row) {
  if (row.red) return 0;
  if (row.verdict == "suspect") return 1;
  if (row.verdict == "no_verdict" || row.verdict == "environment_suspect") return 2;
  if (row.verdict == "better" || row.verdict == "gain") return 3;
  return 4;
}
void worst_first(std::vector<ResultRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const ResultRow& a, const ResultRow& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return std::isfinite(a.change) && std::isfinite(b.change) && a.change < b.change;
  });
}

// ---- compare ----
Result<ResultRow> compare_row(const JsonReader& at) {
  ResultRow row;
  NG_TRY(row.metric, at.string("metric"));
  row.metric = shorten(row.metric, 200);
  NG_TRY(row.verdict, word(at, "verdict", {"better", "worse", "same", "no_verdict"}));
  row.unit = text_of(at, "unit", 20);
  row.reason = text_of(at, "reason", 300);
  NG_TRY(row.change, figure(at, "change"));
  row.low = row.high = unknown;
  for (const char* key : {"shown_interval", "interval"}) {
    NG_TRY(const auto ends, items(at, key));
    if (ends.size() != 2 || !ends[0].value().is_number() || !ends[1].value().is_number()) continue;
    row.low = ends[0].value().get<double>();
    row.high = ends[1].value().get<double>();
    break;
  }
  NG_TRY(row.before, figure(at, "base"));
  NG_TRY(row.after, figure(at, "head"));
  NG_TRY(row.index, figure(at, "index"));
  row.pairs = count_of(at, "pairs");
  row.red = row.verdict == "worse";
  return row;
}

Result<ResultSection> compare_section(const JsonReader& head, const std::vector<std::string>& arms) {
  ResultSection section;
  const auto arm = static_cast<std::size_t>(count_of(head, "arm"));
  const auto against = static_cast<std::size_t>(count_of(head, "against"));
  if (arm < arms.size() && against < arms.size() && arms.size() > 2)
    section.title = arms[arm] + " against " + arms[against] + (against > 0 ? ", the one below" : "");
  section.remark = text_of(head, "reason", 300);
  if (yes(head, "trade")) section.remark = "A trade: better here, worse there. " + section.remark;
  NG_TRY(const auto metrics, items(head, "metrics"));
  for (const auto& metric : metrics) {
    NG_TRY(auto row, compare_row(metric));
    section.rows.push_back(std::move(row));
  }
  worst_first(section.rows);
  return section;
}

std::string arm_name(const JsonReader& arm) {
  const auto label = text_of(arm, "label", 100);
  const auto commit = hex_of(arm, "commit").substr(0, 10);
  return label.empty() ? commit : label;
}

// All arms are one and the same target.
bool one_target(const std::vector<JsonReader>& arms) {
  const auto digest = [](const JsonReader& arm) { return text_of(arm, "digest", 100); };
  return arms.size() > 1 && !digest(arms[0]).empty() &&
         std::all_of(arms.begin(), arms.end(), [&](const auto& arm) { return digest(arm) == digest(arms[0]); });
}

void compare_verdict(JobResult& out, const std::string& verdict, bool several) {
  std::int64_t better = 0, open = 0, all = 0, worse = 0;
  std::set<std::string> red;  // a metric that is worse in several arms is one regression
  for (const auto& section : out.sections) {
    for (const auto& row : section.rows) {
      ++all;
      worse += row.red ? 1 : 0;
      if (row.red) red.insert(row.metric);
      better += row.verdict == "better" ? 1 : 0;
      open += row.verdict == "no_verdict" ? 1 : 0;
    }
  }
  out.regressions = static_cast<std::int64_t>(red.size());
  // With several arms a metric has a verdict in each comparison.
  const auto what = several ? "verdicts of all comparisons" : "metrics";
  const auto base = several ? "what they are compared with" : "base";
  if (verdict == "worse" || worse > 0) {
    out.overall = Overall::regression;
    out.exit_code = 1;
    out.sentence = fmt::format("{} of {} {} are worse than {}, beyond noise", worse, all, what, base);
  } else if (verdict == "no_verdict" || open > 0 || all == 0) {
    out.overall = Overall::no_verdict;
    out.exit_code = 4;
    out.sentence = all == 0    ? "no metric was judged"
                   : open == 0 ? "an arm has no verdict"
                               : fmt::format("{} of {} {} could not be decided", open, all, what);
  } else if (verdict == "better") {
    out.overall = Overall::improvement;
    out.exit_code = 0;
    out.sentence = fmt::format("{} of {} {} are better than {}, none is worse", better, all, what, base);
  } else {
    out.overall = Overall::pass;
    out.exit_code = 0;
    out.sentence = fmt::format("{} {}, none differs from {} beyond noise", all, what, base);
  }
}

// Documents of older versions do not say which arm differs: nothing was judged in those.
bool nothing_judged(const std::vector<JsonReader>& heads) {
  const auto differs = [](const JsonReader& head) { return yes(head, "differs"); };
  return std::all_of(heads.begin(), heads.end(), differs) || std::none_of(heads.begin(), heads.end(), differs);
}

Status read_compare(const JsonReader& at, JobResult& out) {
  out.kind = ResultKind::compare;
  NG_TRY(const auto verdict, word(at, "verdict", {"better", "worse", "same", "no_verdict"}));
  std::vector<std::string> arms;
  NG_TRY(const auto arm_list, items(at, "arms"));
  for (const auto& arm : arm_list) arms.push_back(arm_name(arm));
  NG_TRY(const auto heads, items(at, "heads"));
  for (const auto& head : heads) {
    NG_TRY(auto section, compare_section(head, arms));
    out.sections.push_back(std::move(section));
  }
  if (heads.empty()) {
    NG_TRY(auto section, compare_section(at, {}));
    out.sections.push_back(std::move(section));
  }
  NG_TRY(const auto rungs, items(at, "rungs"));
  for (const auto& rung : rungs) {
    NG_TRY(auto section, compare_section(rung, arms));
    out.sections.push_back(std::move(section));
  }
  compare_verdict(out, verdict, out.sections.size() > 1);
  if (verdict == "same" && one_target(arm_list) && out.exit_code == 4) {
    out.overall = Overall::pass;
    out.exit_code = 0;
    out.sentence = "base and head are the same target: nothing was measured or judged";
  }
  if (arms.size() == 2) out.facts = {"base " + arms[0], "head " + arms[1]};
  NG_TRY(const auto minutes, figure(at, "minutes"));
  out.facts.push_back(fmt::format("{} pairs, {} measurements, {} minutes", count_of(at, "pairs"),
                                  count_of(at, "measurements"), number(minutes)));
  if (yes(at, "out_of_budget")) remark(out, "Stopped at the time allowed.");
  if (yes(at, "stopped")) remark(out, "Stopped on request.");
  if (const auto complaint = text_of(at, "aa_complaint", 500); !complaint.empty()) {
    out.overall = Overall::error;
    out.exit_code = 3;
    out.regressions = 0;
    out.sentence = "base differs from itself on this machine, so nothing was judged";
    remark(out, complaint);
  }
  NG_TRY(const auto differences, items(at, "differences"));
  for (const auto& d : differences) {
    remark(out, fmt::format("Base and head answer {} differently: status {} and {}.", text_of(d, "request"),
                            count_of(d, "base_status"), count_of(d, "head_status")));
    remark(out, "Base: " + text_of(d, "base", 200));
    remark(out, "Head: " + text_of(d, "head", 200));
  }
  if (!differences.empty() && out.exit_code != 3 && nothing_judged(heads)) {
    out.overall = Overall::no_verdict;
    out.exit_code = 4;
    out.regressions = 0;
    out.sentence = "base and head answer differently, so their speeds are not compared";
  }
  NG_TRY(const auto voids, items(at, "void_pairs"));
  for (const auto& v : voids) {
    if (v.value().is_string()) remark(out, "Void pair: " + shorten(v.value().get_ref<const std::string&>(), 300));
  }
  return {};
}

// ---- bisect, and the answers inside a night ----
std::optional<Culprit> culprit_of(const JsonReader& answer) {
  const auto found = answer.value().find("culprit");
  if (found == answer.value().end() || !found->is_object()) return std::nullopt;
  const JsonReader at(*found, "$.culprit");
  Culprit out{
      hex_of(at, "commit"), text_of(at, "title", 150), text_of(at, "author", 80), count_of(at, "pr"), unknown, unknown};
  if (const auto p = figure(answer, "probability")) out.probability = std::clamp(*p, 0.0, 1.0);
  if (const auto c = figure(answer, "change")) out.change = *c;
  return out;
}

std::string culprit_sentence(const Culprit& c) {
  return fmt::format("{}{} by {}, {} sure, {}", c.pr > 0 ? fmt::format("#{} ", c.pr) : "", c.title, c.author,
                     probability(c.probability), percent(c.change));
}

Status read_ladder(const JsonReader& at, JobResult& out) {
  ResultSection section;
  section.title = "Level of each measured merge against the good end";
  NG_TRY(const auto rungs, items(at, "ladder"));
  const auto culprit = out.culprits.empty() ? std::string() : out.culprits.front().commit;
  for (const auto& rung : rungs) {
    ResultRow row;
    row.metric = hex_of(rung, "commit").substr(0, 10);
    row.before = row.after = row.index = row.low = row.high = unknown;
    NG_TRY(row.change, figure(rung, "change"));
    NG_TRY(const auto ends, items(rung, "interval"));
    if (ends.size() == 2 && ends[0].value().is_number() && ends[1].value().is_number()) {
      row.low = ends[0].value().get<double>();
      row.high = ends[1].value().get<double>();
    }
    row.pairs = count_of(rung, "starts");
    row.verdict = !culprit.empty() && hex_of(rung, "commit") == culprit ? "culprit" : "";
    section.rows.push_back(std::move(row));
  }
  if (!section.rows.empty()) out.sections.push_back(std::move(section));
  return {};
}

Status read_bisect(const JsonReader& at, JobResult& out) {
  out.kind = ResultKind::bisect;
  NG_TRY(const auto outcome, word(at, "outcome", {"culprit", "range", "not_reproduced", "no_verdict"}));
  const auto metric = text_of(at, "metric");
  const auto why = text_of(at, "why", 300);
  const bool finished = !at.has("finished") || yes(at, "finished");
  out.overall = Overall::no_verdict;
  out.exit_code = 4;
  if (auto culprit = culprit_of(at); culprit && outcome == "culprit") out.culprits.push_back(std::move(*culprit));
  if (!finished) {
    out.sentence = fmt::format("{}: the bisect is not finished: {}", metric, why);
  } else if (outcome == "culprit" && !out.culprits.empty()) {
    out.overall = Overall::pass;
    out.exit_code = 0;
    out.sentence = fmt::format("{}: culprit {}", metric, culprit_sentence(out.culprits.front()));
  } else if (outcome == "range") {
    out.overall = Overall::pass;
    out.exit_code = 0;
    NG_TRY(const auto ends, items(at, "range"));
    std::string named;
    for (const auto& end : ends) {
      if (end.value().is_string()) {
        named += (named.empty() ? "" : " to ") + shorten(end.value().get_ref<const std::string&>(), 12);
      }
    }
    out.sentence = fmt::format("{}: the culprit is one of {}, which can't be told apart: {}", metric, named, why);
  } else if (outcome == "not_reproduced") {
    out.sentence = metric + ": not reproduced: both ends measure alike now, so the machine or its environment changed";
  } else {
    out.sentence = metric + ": no verdict: " + why;
  }
  NG_TRY(const auto minutes, figure(at, "minutes"));
  out.facts.push_back(fmt::format("{} measurements, {} minutes, {} merges", count_of(at, "measurements"),
                                  number(minutes), count_of(at, "merges")));
  if (yes(at, "residual")) remark(out, "More slowness remains in the range than this merge explains.");
  NG_TRY(const auto skipped, items(at, "skipped"));
  for (const auto& s : skipped)
    remark(out, fmt::format("Skipped {}: {}", hex_of(s, "commit").substr(0, 10), text_of(s, "why")));
  return read_ladder(at, out);
}

// ---- nightly ----
Status read_night_metrics(const JsonReader& at, JobResult& out) {
  ResultSection section;
  NG_TRY(const auto metrics, items(at, "metrics"));
  for (const auto& m : metrics) {
    ResultRow row;
    NG_TRY(row.metric, m.string("metric"));
    row.metric = shorten(row.metric, 200);
    NG_TRY(row.verdict,
           word(m, "verdict",
                {"good", "suspect", "trip", "red", "recovery_pending", "recovered", "gain_pending", "gain", "gain_lost",
                 "warming_up", "no_verdict", "unfit", "environment_suspect", "new_level", "accepted"}));
    row.reason = text_of(m, "reason", 300);
    row.low = row.high = row.index = unknown;
    NG_TRY(row.after, figure(m, "value"));
    NG_TRY(row.before, figure(m, "baseline"));
    NG_TRY(row.change, figure(m, "change"));
    row.red = yes(m, "red") || row.verdict == "trip" || row.verdict == "red";
    out.regressions += row.red ? 1 : 0;
    section.rows.push_back(std::move(row));
  }
  worst_first(section.rows);
  if (!section.rows.empty()) out.sections.push_back(std::move(section));
  return {};
}

// Open trips of metrics that were not measured tonight are red all the same.
Status read_trips(const JsonReader& at, JobResult& out) {
  std::int64_t metrics_down = 0;
  NG_TRY(const auto trips, items(at, "open_trips"));
  for (const auto& trip : trips) {
    NG_TRY(const auto metrics, items(trip, "metrics"));
    metrics_down += static_cast<std::int64_t>(metrics.size());
    const auto first = metrics.empty() ? std::string() : text_of(metrics.front(), "metric");
    auto line = fmt::format("Trip {} since night {}: {}", count_of(trip, "id"), count_of(trip, "first"), first);
    if (metrics.size() > 1) line += fmt::format(" and {} more", metrics.size() - 1);
    const auto answer = trip.value().find("answer");
    if (answer != trip.value().end() && answer->is_object()) {
      if (auto culprit = culprit_of(JsonReader(*answer, "$.answer"))) {
        line += "; culprit " + culprit_sentence(*culprit);
        out.culprits.push_back(std::move(*culprit));
      }
    }
    remark(out, line);
  }
  out.regressions = std::max(out.regressions, metrics_down);
  return {};
}

Status read_nightly(const JsonReader& at, JobResult& out) {
  out.kind = ResultKind::nightly;
  NG_TRY(const auto verdict, word(at, "verdict", {"regression", "suspect", "no_verdict", "nothing_to_do", "good"}));
  NG_TRY(const auto code, at.integer_or("exit_code", 0, 5, 0));
  const auto message = text_of(at, "message", 300);
  NG_CHECK(read_trips(at, out));
  NG_CHECK(read_night_metrics(at, out));
  const auto night = fmt::format("night {}: ", count_of(at, "night"));
  if (verdict == "regression" || out.regressions > 0) {
    out.overall = Overall::regression;
    out.exit_code = 1;
    out.sentence = night + fmt::format("{} metrics are red", out.regressions);
  } else if (verdict == "no_verdict") {
    out.overall = code == 3 ? Overall::error : Overall::no_verdict;
    out.exit_code = code == 3 ? 3 : 4;
    out.sentence = night + (code == 3 ? "could not be measured: " : "no verdict: ") +
                   (message.empty() ? "some metrics could not be measured or judged" : message);
  } else {
    out.overall = Overall::pass;
    out.exit_code = 0;
    out.sentence = verdict == "nothing_to_do" ? (message.empty() ? "nothing new to measure" : message)
                   : verdict == "suspect"
                       ? night + "suspect: worse than noise allows; one bad night never trips, the next one decides"
                       : night + "good";
  }
  if (at.has("target")) {
    NG_TRY(const auto target, at.child("target"));
    if (target.value().is_object()) out.facts.push_back("target " + arm_name(target));
  }
  if (at.has("machine")) {
    NG_TRY(const auto machine, at.child("machine"));
    if (machine.value().is_object()) out.facts.push_back("machine " + text_of(machine, "name", 80));
  }
  NG_TRY(const auto failures, items(at, "failures"));
  for (const auto& f : failures) remark(out, text_of(f, "what") + ": " + text_of(f, "why", 300));
  NG_TRY(const auto closed, items(at, "closed"));
  for (const auto& c : closed) remark(out, "Recovered: " + text_of(c, "metric"));
  NG_TRY(const auto notes, items(at, "notes"));
  for (const auto& n : notes) {
    if (n.value().is_string()) remark(out, shorten(n.value().get_ref<const std::string&>(), 300));
  }
  return {};
}

const char* meaning(int code) {
  switch (code) {
    case 1:
      return "a confirmed regression";
    case 2:
      return "wrong usage or configuration";
    case 3:
      return "it could not measure";
    case 4:
      return "no verdict";
    default:
      return "an internal error";
  }
}

Overall overall_of(int code) {
  if (code == 0) return Overall::pass;
  if (code == 1) return Overall::regression;
  return code == 4 ? Overall::no_verdict : Overall::error;
}

}  // namespace

std::string_view name(Overall overall) {
  constexpr std::string_view names[] = {"pass", "improvement", "regression", "no-verdict", "error"};
  return names[static_cast<std::size_t>(overall)];
}

Result<JobResult> read_result(std::string_view text) {
  NG_TRY(const auto document, parse_json(text, {result_bytes, 32, false}));
  const JsonReader at(document, "result: $");
  NG_CHECK(at.is_object());
  NG_TRY(const auto schema,
         word(at, "schema", {"nightgate-compare/1", "nightgate-nightly/1", "nightgate-bisect/1", "nightgate-error/1"}));
  JobResult out;
  if (schema == "nightgate-compare/1") {
    NG_CHECK(read_compare(at, out));
  } else if (schema == "nightgate-nightly/1") {
    NG_CHECK(read_nightly(at, out));
  } else if (schema == "nightgate-bisect/1") {
    NG_CHECK(read_bisect(at, out));
  } else {
    NG_TRY(const auto code, at.integer("exit_code", 1, 5));
    out = result_of_exit(static_cast<int>(code));
    remark(out, text_of(at, "error", 1000));
  }
  return out;
}

JobResult result_of_exit(int exit_code) {
  JobResult out;
  const bool ours = exit_code >= 1 && exit_code <= 5;
  out.exit_code = ours ? exit_code : 5;
  out.overall = overall_of(out.exit_code);
  out.sentence = ours ? fmt::format("nightgate ended with exit code {}: {}", exit_code, meaning(exit_code))
                      : fmt::format("nightgate did not end properly (exit code {}): nothing is known", exit_code);
  return out;
}

int joined_exit_code(int command, int document) {
  for (const int code : {2, 5, 1, 3, 4, 0}) {
    const auto is = [&](int given) { return given == code || (code == 5 && (given < 0 || given > 5)); };
    if (is(command) || is(document)) return code;
  }
  return 5;
}

void take_exit_code(JobResult& result, int command) {
  const int joined = joined_exit_code(command, result.exit_code);
  if (joined == result.exit_code) return;
  result.exit_code = joined;
  result.overall = overall_of(joined);
  result.sentence = fmt::format("nightgate ended with exit code {}: {}. Its document said: {}", command,
                                meaning(joined), result.sentence);
}

}  // namespace nightgate::report
