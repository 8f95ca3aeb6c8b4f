#include "ci/cli/release_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ci/cli/compare_view.hpp"
#include "ci/cli/output.hpp"
#include "gate/base/clock.hpp"
#include "store/medians.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

std::string_view outcome_of(judge::PairVerdict verdict) {
  switch (verdict) {
    case judge::PairVerdict::better:
      return "gain";
    case judge::PairVerdict::worse:
      return "price";
    case judge::PairVerdict::same:
      return "same";
    case judge::PairVerdict::no_verdict:
      break;
  }
  return "no_verdict";
}

const char* better_of(const config::MetricInfo& info) {
  return info.better == config::Better::higher ? "higher" : "lower";
}

json change_json(const compare::MetricOutcome& m, const Reasons& reasons) {
  const auto& r = m.result;
  const bool price = r.verdict == judge::PairVerdict::worse;
  auto why = reasons.find(m.metric);
  if (why == reasons.end()) why = reasons.find("*");
  return {{"metric", m.metric},
          {"unit", m.info.unit},
          {"better", better_of(m.info)},
          {"outcome", outcome_of(r.verdict)},
          {"reason", price && why != reasons.end() ? why->second
                     : price                       ? ""
                                                   : r.reason},
          {"unexplained", price && why == reasons.end()},
          {"change", number_or_null(r.change)},
          {"low", number_or_null(r.low)},
          {"high", number_or_null(r.high)},
          {"base", number_or_null(r.base)},
          {"head", number_or_null(r.head)},
          {"pairs", r.pairs}};
}

json figure_json(const release::Figure& f) {
  auto values = f.values;
  std::sort(values.begin(), values.end());
  return {{"metric", f.metric},
          {"unit", f.info.unit},
          {"better", better_of(f.info)},
          {"gated", f.info.gated},
          {"median", store::median_of(values)},
          {"low", values.front()},
          {"high", values.back()},
          {"rounds", values.size()},
          {"values", f.values}};
}

formats::Better direction(bool higher) { return higher ? formats::Better::higher : formats::Better::lower; }

}  // namespace

json release_json(const release::Outcome& outcome, const Reasons& reasons, const json& about) {
  const auto& arms = outcome.compare.arms;
  auto compare = compare_json(outcome.compare);
  compare["schema"] = "nightgate-compare/1";
  json out = {{"from", arms[0].label},
              {"to", arms[1].label},
              {"commit", arms[1].commit},
              {"digest", arms[1].digest},
              {"minutes", outcome.compare.minutes},
              {"about", about},
              {"changes", json::array()},
              {"figures", json::array()},
              {"failures", outcome.failures},
              {"unexplained", 0},
              {"compare", std::move(compare)}};
  int unexplained = 0;
  const bool judged = outcome.compare.aa_complaint.empty() && outcome.compare.differences.empty();
  for (const auto& head : outcome.compare.heads) {
    if (!judged) continue;
    for (const auto& m : head.metrics) {
      out["changes"].push_back(change_json(m, reasons));
      unexplained += out["changes"].back()["unexplained"].get<bool>() ? 1 : 0;
    }
  }
  out["unexplained"] = unexplained;
  for (const auto& figure : outcome.figures) {
    if (!figure.values.empty()) out["figures"].push_back(figure_json(figure));
  }
  return out;
}

std::string release_text(const report::ReleaseModel& model) {
  auto out = clean(report::lead_of(model)) + "\n";
  for (const auto& c : model.changes) {
    const auto what = c.unexplained ? "UNEXPLAINED" : c.outcome == "no_verdict" ? "no verdict" : c.outcome;
    out += clean(fmt::format("  {:<12} {:<36} {:>8}  {} -> {} {}{}", what, c.metric, percent(c.change), figure(c.base),
                             figure(c.head), c.unit, c.reason.empty() ? "" : "  (" + c.reason + ")")) +
           "\n";
  }
  for (const auto& f : model.figures) {
    out += clean(fmt::format("  {:<36} {} {} ({} to {}, {} rounds)", f.metric, figure(f.median), f.unit, figure(f.low),
                             figure(f.high), f.rounds)) +
           "\n";
  }
  return out;
}

formats::PerfReport to_perf_report(const report::ReleaseModel& model) {
  formats::PerfReport out;
  out.version = model.to;
  out.previous = model.from;
  if (const auto when = parse_rfc3339(model.started)) out.date = *when;
  out.machine = model.machine;
  out.machine_class = model.machine_class;
  for (const auto& c : model.changes) {
    if (!std::isfinite(c.base) || !std::isfinite(c.head)) continue;
    formats::PerfComparison row;
    row.id = c.metric;
    row.unit = c.unit;
    row.better = direction(c.higher_is_better);
    row.previous.mean = c.base;
    row.previous.median = c.base;
    row.current.mean = c.head;
    row.current.median = c.head;
    row.n = c.pairs;
    row.verdict = c.outcome == "same" ? "noise" : c.outcome == "no_verdict" ? "undecided" : c.outcome;
    row.reason = c.reason;
    row.change_pct = 100 * (c.head / c.base - 1);
    out.comparisons.push_back(std::move(row));
  }
  for (const auto& f : model.figures) {
    if (!std::isfinite(f.median)) continue;
    formats::PerfFigure row;
    row.id = f.metric;
    row.unit = f.unit;
    row.better = direction(f.higher_is_better);
    row.statistics.mean = f.median;
    row.statistics.median = f.median;
    if (std::isfinite(f.low)) row.statistics.min = f.low;
    if (std::isfinite(f.high)) row.statistics.max = f.high;
    row.n = f.rounds;
    out.figures.push_back(std::move(row));
  }
  return out;
}

report::ReleaseModel from_perf_report(const formats::PerfReport& perf) {
  report::ReleaseModel out{};
  out.from = perf.previous;
  out.to = perf.version;
  out.started = to_rfc3339(perf.date);
  out.machine = perf.machine;
  out.machine_class = perf.machine_class;
  out.minutes = store::unknown;
  for (const auto& row : perf.comparisons) {
    report::ReleaseChange c{};
    c.metric = row.id;
    c.unit = row.unit;
    c.higher_is_better = row.better == formats::Better::higher;
    c.outcome = row.verdict == "noise" || row.verdict.empty() ? "same"
                : row.verdict == "undecided"                  ? "no_verdict"
                                                              : row.verdict;
    c.reason = row.reason;
    c.unexplained = c.outcome.rfind("price", 0) == 0 && c.reason.empty();
    c.base = row.previous.value();
    c.head = row.current.value();
    c.change = c.base > 0 ? (c.higher_is_better ? 1 : -1) * (c.head / c.base - 1) : store::unknown;
    c.low = c.high = store::unknown;
    c.pairs = row.n;
    out.changes.push_back(std::move(c));
  }
  report::order_changes(out.changes);
  for (const auto& row : perf.figures) {
    out.figures.push_back({row.id, row.unit, row.better == formats::Better::higher, true, row.statistics.value(),
                           row.statistics.min.value_or(store::unknown), row.statistics.max.value_or(store::unknown),
                           row.n});
  }
  return out;
}

}  // namespace nightgate::cli
