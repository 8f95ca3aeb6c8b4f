#include "ci/cli/compare_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ci/cli/output.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

json metric_json(const compare::MetricOutcome& m) {
  const auto& r = m.result;
  return {{"metric", m.metric},
          {"unit", m.info.unit},
          {"better", m.info.better == config::Better::higher ? "higher" : "lower"},
          {"verdict", judge::name(r.verdict)},
          {"reason", r.reason},
          {"change", number_or_null(r.change)},
          {"interval", {number_or_null(r.low), number_or_null(r.high)}},
          {"shown_interval", {number_or_null(r.shown_low), number_or_null(r.shown_high)}},
          {"pairs", r.pairs},
          {"base", number_or_null(r.base)},
          {"head", number_or_null(r.head)},
          {"index", number_or_null(r.index)},
          {"aa_spread", number_or_null(r.aa_spread)},
          {"beyond_aa", r.beyond_aa},
          {"every_head_beats_every_base", r.every_head_beats_every_base},
          {"every_head_loses", r.every_head_loses},
          {"chance_of_every", r.chance_of_every},
          {"real", r.real},
          {"base_values", m.base},
          {"head_values", m.head}};
}

std::string bar(double index) {
  const int width = std::clamp(static_cast<int>(std::lround(index / 5)), 0, 40);
  std::string out;
  for (int i = 0; i < width; ++i) out += "\u2588";
  return out;
}

std::string metric_lines(const compare::MetricOutcome& m) {
  const auto& r = m.result;
  auto out = fmt::format("  {:<10} {:<36} {:>8}", word(r.verdict), m.metric, percent(r.change));
  if (std::isfinite(r.low)) out += fmt::format(" ({} to {})", percent(r.low), percent(r.high));
  out += fmt::format("  index {:.0f}  {} -> {} {}  {} pairs\n", r.index, figure(r.base), figure(r.head), m.info.unit,
                     r.pairs);
  out += fmt::format("             {}\n             {}\n", bar(r.index), r.reason);
  if (r.every_head_beats_every_base || r.every_head_loses) {
    out += fmt::format("             every head {} every base (by chance {:.1f} % of the time with {} pairs)\n",
                       r.every_head_loses ? "loses to" : "beats", 100 * r.chance_of_every, r.pairs);
  }
  return out;
}

}  // namespace

std::string_view word(judge::PairVerdict verdict) {
  switch (verdict) {
    case judge::PairVerdict::better:
      return "IMPROVES";
    case judge::PairVerdict::worse:
      return "WORSENS";
    case judge::PairVerdict::same:
      return "same";
    case judge::PairVerdict::no_verdict:
      return "no verdict";
  }
  return "no verdict";
}

json compare_json(const compare::Outcome& o) {
  json out = {{"verdict", judge::name(o.verdict())},
              {"arms", json::array()},
              {"heads", json::array()},
              {"pairs", o.rounds},
              {"minutes", o.minutes},
              {"measurements", o.steps.size()},
              {"out_of_budget", o.out_of_budget},
              {"aa_complaint", o.aa_complaint},
              {"void_pairs", o.void_pairs},
              {"differences", json::array()},
              {"metrics", json::array()}};
  for (const auto& arm : o.arms)
    out["arms"].push_back({{"commit", arm.commit}, {"digest", arm.digest}, {"label", arm.label}});
  for (const auto& head : o.heads) {
    json row = {{"arm", head.arm},
                {"verdict", judge::name(head.verdict)},
                {"reason", head.reason},
                {"trade", head.trade},
                {"geometric_index", number_or_null(head.geometric_index)},
                {"metrics", json::array()}};
    for (const auto& m : head.metrics) row["metrics"].push_back(metric_json(m));
    if (head.arm == 1) out["metrics"] = row["metrics"];
    out["heads"].push_back(std::move(row));
  }
  for (const auto& d : o.differences) {
    out["differences"].push_back({{"request", d.request},
                                  {"base_status", d.base_status},
                                  {"head_status", d.head_status},
                                  {"base", d.base_body},
                                  {"head", d.head_body}});
  }
  return out;
}

std::string compare_text(const compare::Outcome& o) {
  std::string out;
  for (const auto& head : o.heads) {
    out += clean(fmt::format(
               "{} against {}: {}{}", o.arms[static_cast<std::size_t>(head.arm)].label, o.arms[0].label,
               word(o.aa_complaint.empty() && o.differences.empty() ? head.verdict : judge::PairVerdict::no_verdict),
               head.trade ? " (a trade: better here, worse there)" : "")) +
           "\n";
    if (!head.reason.empty()) out += "  " + clean(head.reason) + "\n";
    if (!o.aa_complaint.empty()) continue;
    for (const auto& m : head.metrics) out += metric_lines(m);
  }
  if (!o.aa_complaint.empty())
    out += "  nothing is judged; a quieter machine, longer or more repeats would help (`nightgate check --noise`)\n";
  for (const auto& d : o.differences) {
    out += clean(fmt::format("  {} answers differently: base {} {}, head {} {}", d.request, d.base_status,
                             d.base_body.substr(0, 300), d.head_status, d.head_body.substr(0, 300))) +
           "\n";
  }
  for (const auto& v : o.void_pairs) out += "  void: " + clean(v) + "\n";
  out += fmt::format("  {} pairs, {} measurements, {:.1f} minutes{}\n", o.rounds, o.steps.size(), o.minutes,
                     o.out_of_budget ? "; stopped at the time allowed" : "");
  return out;
}

}  // namespace nightgate::cli
