#include "ci/cli/compare_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ci/cli/output.hpp"
#include "ci/report/text.hpp"

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
  if (!std::isfinite(r.index)) return out + fmt::format("  {}\n", r.reason);
  if (std::isfinite(r.low)) out += " (" + report::percent_range(r.low, r.high) + ")";
  out += fmt::format("  index {:.0f}  {} -> {} {}  {} pairs\n", r.index, figure(r.base), figure(r.head), m.info.unit,
                     r.pairs);
  out += fmt::format("             {}\n             {}\n", bar(r.index), r.reason);
  if (r.every_head_beats_every_base || r.every_head_loses) {
    out += fmt::format("             every head {} every base (by chance {:.1f} % of the time with {} pairs)\n",
                       r.every_head_loses ? "loses to" : "beats", 100 * r.chance_of_every, r.pairs);
  }
  return out;
}

// One comparison: an arm against base, or in a ladder against the arm below.
json arm_json(const compare::ArmOutcome& c) {
  json row = {{"arm", c.arm},
              {"against", c.reference},
              {"verdict", judge::name(c.verdict)},
              {"reason", c.reason},
              {"differs", c.differs},
              {"trade", c.trade},
              {"geometric_index", number_or_null(c.geometric_index)},
              {"metrics", json::array()}};
  for (const auto& m : c.metrics) row["metrics"].push_back(metric_json(m));
  return row;
}

const std::string& label_of(const compare::Outcome& o, int arm) { return o.arms[static_cast<std::size_t>(arm)].label; }

std::string comparison_text(const compare::Outcome& o, const compare::ArmOutcome& c) {
  auto out = clean(fmt::format("{} against {}{}: {}{}", label_of(o, c.arm), label_of(o, c.reference),
                               c.reference == 0 ? "" : ", the one below", word(c.verdict),
                               c.trade ? " (a trade: better here, worse there)" : "")) +
             "\n";
  if (!c.reason.empty()) out += "  " + clean(c.reason) + "\n";
  if (!o.aa_complaint.empty()) return out;
  for (const auto& m : c.metrics) out += metric_lines(m);
  return out;
}

std::string rung_cell(const compare::MetricOutcome* m) {
  if (m == nullptr) return "\u2013";
  return fmt::format("{:>6} {} {}", std::isfinite(m->result.index) ? fmt::format("{:.1f}", m->result.index) : "\u2013",
                     word(m->result.verdict), std::isfinite(m->result.change) ? percent(m->result.change) : "");
}

// Every arm's metrics against base and against the arm below, side by side.
std::string ladder_text(const compare::Outcome& o) {
  const auto line = [](std::string_view what, std::string_view base, std::string_view below) {
    return fmt::format("  {:<38} {:<28} {}\n", what, base, below);
  };
  auto out = clean(fmt::format("ladder on {} (index, base = 100)", label_of(o, 0))) + "\n" +
             line("", "against base", "against the one below");
  for (const auto& head : o.heads) {
    const auto rung = std::find_if(o.rungs.begin(), o.rungs.end(), [&](const auto& r) { return r.arm == head.arm; });
    const auto* below = rung == o.rungs.end() ? &head : &*rung;  // the first one stands on base
    out += line(clean(label_of(o, head.arm)), word(head.verdict),
                fmt::format("{} ({})", word(below->verdict), clean(label_of(o, below->reference))));
    for (const auto& m : head.metrics) {
      const auto same = std::find_if(below->metrics.begin(), below->metrics.end(),
                                     [&](const auto& other) { return other.metric == m.metric; });
      out += line("  " + m.metric, rung_cell(&m), rung_cell(same == below->metrics.end() ? nullptr : &*same));
    }
  }
  return out;
}

// What every verdict above relies on.
std::string ending_text(const compare::Outcome& o) {
  const auto metrics = o.heads.empty() ? 0 : o.heads.front().metrics.size();
  auto out = fmt::format("  {} pairs, {} measurements, {:.1f} minutes{}\n", o.rounds, o.steps.size(), o.minutes,
                         o.stopped         ? "; stopped on request"
                         : o.out_of_budget ? "; stopped at the time allowed"
                                           : "");
  if (metrics == 0 || !o.aa_complaint.empty()) return out;
  return out +
         fmt::format("  intervals hold however often one looks; {} metrics{} share the error of 1 % (Bonferroni)\n",
                     metrics, o.comparisons > 1 ? fmt::format(" in {} comparisons", o.comparisons) : "");
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
              {"ladder", o.ladder},
              {"rungs", json::array()},
              {"pairs", o.rounds},
              {"comparisons", o.comparisons},
              {"minutes", o.minutes},
              {"measurements", o.steps.size()},
              {"out_of_budget", o.out_of_budget},
              {"stopped", o.stopped},
              {"aa_complaint", o.aa_complaint},
              {"aa_retried", o.aa_retried},
              {"void_pairs", o.void_pairs},
              {"differences", json::array()},
              {"metrics", json::array()}};
  for (const auto& arm : o.arms)
    out["arms"].push_back({{"commit", arm.commit}, {"digest", arm.digest}, {"label", arm.label}});
  for (const auto& head : o.heads) out["heads"].push_back(arm_json(head));
  for (const auto& rung : o.rungs) out["rungs"].push_back(arm_json(rung));
  if (!o.heads.empty()) out["metrics"] = out["heads"].front()["metrics"];
  for (const auto& d : o.differences) {
    out["differences"].push_back({{"arm", d.arm},
                                  {"where", d.where},
                                  {"request", d.request},
                                  {"base_status", d.base_status},
                                  {"head_status", d.head_status},
                                  {"base", d.base_body},
                                  {"head", d.head_body}});
  }
  return out;
}

std::string compare_text(const compare::Outcome& o) {
  std::string out;
  if (o.ladder && o.aa_complaint.empty()) out += ladder_text(o) + "\n";
  for (const auto& head : o.heads) out += comparison_text(o, head);
  for (const auto& rung : o.rungs) out += comparison_text(o, rung);
  if (!o.aa_complaint.empty())
    out += "  nothing is judged; a quieter machine, longer or more repeats would help (`nightgate check --noise`)\n";
  for (const auto& d : o.differences) {
    out += clean(fmt::format("  {} ({}): {} answers differently: base {} {}, head {} {}", d.request, d.where,
                             label_of(o, d.arm), d.base_status, d.base_body.substr(0, 300), d.head_status,
                             d.head_body.substr(0, 300))) +
           "\n";
  }
  for (const auto& v : o.void_pairs) out += "  void: " + clean(v) + "\n";
  return out + ending_text(o);
}

}  // namespace nightgate::cli
