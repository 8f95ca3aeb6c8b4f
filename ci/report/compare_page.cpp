// Decision table first, then the intervals, the index bars, what was traded, and the raw pairs folded away.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/report/charts.hpp"
#include "ci/report/compare.hpp"
#include "ci/report/page.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

std::string_view word(const std::string& verdict) {
  if (verdict == "better") return "IMPROVES";
  if (verdict == "worse") return "WORSENS";
  return verdict == "same" ? "same" : "no verdict";
}

int count(const ComparedHead& head, std::string_view verdict) {
  return static_cast<int>(
      std::count_if(head.metrics.begin(), head.metrics.end(), [&](const auto& m) { return m.verdict == verdict; }));
}

// Documents of older versions do not say which arm differs; those had nothing judged at all.
bool all_differ(const CompareModel& model) {
  if (model.differences.empty()) return false;
  return std::all_of(model.heads.begin(), model.heads.end(), [](const auto& h) { return h.differs; }) ||
         std::none_of(model.heads.begin(), model.heads.end(), [](const auto& h) { return h.differs; });
}
// No metric of an arm that was not comparable has a verdict, whatever the pairs say.
bool comparable(const CompareModel& model) { return model.aa_complaint.empty() && !all_differ(model); }

// What an arm's tables are called: heads are against base, and only a ladder has others.
std::string title_of(const ComparedHead& c) { return c.rung ? c.name + " against " + c.against : c.name; }

std::string tone_of(const CompareModel& model) {
  if (!comparable(model) || model.verdict == "no_verdict") return "unsure";
  return model.verdict == "worse" ? "bad" : "good";
}

std::string pairs_said(const ComparedMetric& m) {
  if (!m.every_better && !m.every_worse) return m.reason;
  return fmt::format("{}{}every head {} every base (by chance {} of the time with {} pairs)", m.reason,
                     m.reason.empty() ? "" : "; ", m.every_worse ? "loses to" : "beats",
                     m.chance_of_every < 0.001 ? "less than 0.1 %" : fmt::format("{:.1f} %", 100 * m.chance_of_every),
                     m.pairs);
}

std::string decision_table(const std::string& title, const std::string& below, const ComparedHead& head) {
  Table table("Decisions: " + title,
              {"metric", "verdict", "change", "interval", below, "head", "index", "pairs", "A/A"},
              {false, false, true, true, true, true, true, true, true});
  for (const auto& m : head.metrics) {
    const auto scaled = scale_for(std::max(m.base, m.head), m.unit);
    table.row({{escape_html(m.metric) + "<small class=\"soft\">" + escape_html(pairs_said(m)) + "</small>"},
               badge(word(m.verdict)),
               {"<strong>" + escape_html(percent(m.change)) + "</strong>"},
               html(percent_range(m.low, m.high)),
               html(number(m.base * scaled.factor)),
               html(number(m.head * scaled.factor) + " " + scaled.unit),
               html(number(m.index)),
               html(fmt::format("{}", m.pairs)),
               html(std::isfinite(m.aa_spread) ? fmt::format("{:.1f} %", 100 * m.aa_spread) : "–")},
              m.verdict == "worse" ? "bad" : "");
  }
  return table.str();
}

void trade_section(const std::string& title, const ComparedHead& head, Page& page) {
  const auto list = [&](std::string_view verdict) {
    std::string out;
    for (const auto& m : head.metrics) {
      if (m.verdict == verdict) out += (out.empty() ? "" : ", ") + m.metric + " " + percent(m.change);
    }
    return out;
  };
  page.heading("A trade: " + title);
  page.definitions({{"better", list("better")}, {"worse", list("worse")}});
  page.paragraph(html("One is not netted against the other: whether the trade is worth it is for people to decide."));
}

void differences_section(const CompareModel& model, Page& page) {
  if (model.differences.empty()) {
    if (model.requests_compared <= 0) return;
    page.heading("Do they do the same");
    page.paragraph(html(fmt::format(
        "Yes, as far as was asked: base and head answered {} equivalence requests alike in every deployment.",
        model.requests_compared)));
    return;
  }
  page.heading("They answer differently");
  Table table("Requests that base and head answer differently",
              {"request", "head", "where", "status of base", "status of head"}, {false, false, false, true, true});
  std::string bodies;
  for (const auto& d : model.differences) {
    table.row({html(d.request), html(d.arm), html(d.where), html(fmt::format("{}", d.base_status)),
               html(fmt::format("{}", d.head_status))});
    bodies += "<p><strong>" + escape_html(d.request + " " + d.where) + "</strong></p><p>base</p><pre tabindex=\"0\">" +
              escape_html(d.base) + "</pre><p>head</p><pre tabindex=\"0\">" + escape_html(d.head) + "</pre>";
  }
  page.raw(table.str());
  page.fold("The answers", bodies);
}

void about_section(const CompareModel& model, Page& page) {
  page.heading("How this was measured");
  std::vector<std::pair<std::string, std::string>> rows = {{"base", model.base}};
  for (const auto& head : model.heads) rows.emplace_back("head", head.name);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) rows.emplace_back(name, value);
  };
  add("began", minute_of(model.started));
  add("machine", model.machine + (model.machine_class.empty() ? "" : ", " + model.machine_class));
  rows.emplace_back("measured", fmt::format("{} pairs, {} fresh starts, {} minutes{}", model.pairs, model.measurements,
                                            number(model.minutes),
                                            model.stopped         ? "; stopped on request"
                                            : model.out_of_budget ? "; stopped at the time allowed"
                                                                  : ""));
  rows.emplace_back("too small to matter", fmt::format("less than {:.1f} %", 100 * model.min_change));
  add("nightgate", model.version);
  page.definitions(rows);
  page.paragraph(
      html("Base and head were started afresh in turn, the order changing from pair to pair, after base was measured "
           "against itself. The intervals hold however often one looks, so stopping early is allowed; all metrics" +
           std::string(model.comparisons > 1 ? fmt::format(" and all {} comparisons", model.comparisons) : "") +
           " together share one chance of error (Bonferroni). Figures are medians over the pairs."));
  if (!model.void_pairs.empty()) {
    std::string list = "<ul>";
    for (const auto& v : model.void_pairs) list += "<li>" + escape_html(v) + "</li>";
    page.fold(counted(static_cast<std::int64_t>(model.void_pairs.size()), "measurement") + " void, and why",
              list + "</ul>");
  }
}

std::string quoted(const std::string& argument) {
  std::string out = "'";
  for (const char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string compare_tables(const CompareModel& model, const ComparedHead& head) {
  if (head.metrics.empty()) return {};
  const auto title = title_of(head);
  auto out = decision_table(title, head.rung ? head.against : "base", head);
  std::vector<Interval> intervals;
  std::vector<IndexBar> bars;
  for (const auto& m : head.metrics) {
    if (std::isfinite(m.change)) intervals.push_back({m.metric, m.low, m.high, m.change, m.verdict});
    if (std::isfinite(m.index)) bars.push_back({m.metric, m.index, m.higher_is_better, m.verdict});
  }
  out += interval_chart(intervals, model.min_change, (head.rung ? "Changes: " : "Changes against base: ") + title);
  out += index_chart(bars, (head.rung ? "Index, the arm below = 100: " : "Index, base = 100: ") + title);
  return out;
}

const ComparedMetric* metric_in(const ComparedHead& head, const std::string& name) {
  const auto at =
      std::find_if(head.metrics.begin(), head.metrics.end(), [&](const auto& m) { return m.metric == name; });
  return at == head.metrics.end() ? nullptr : &*at;
}

// Each candidate of the stack against base and against what it stands on, side by side.
std::string ladder_table(const CompareModel& model) {
  Table table("The ladder: each candidate against base and against the one below",
              {"metric", "candidate", "against base", "change", "index", "stands on", "against it", "change", "index"},
              {false, false, false, true, true, false, false, true, true});
  for (const auto& head : model.heads) {
    const auto rung =
        std::find_if(model.rungs.begin(), model.rungs.end(), [&](const auto& r) { return r.arm == head.arm; });
    const auto& below = rung == model.rungs.end() ? head : *rung;
    for (const auto& m : head.metrics) {
      const auto* other = metric_in(below, m.metric);
      const bool bad = m.verdict == "worse" || (other != nullptr && other->verdict == "worse");
      table.row(
          {html(m.metric), html(head.name), badge(word(m.verdict)), html(percent(m.change)), html(number(m.index)),
           html(below.against), other == nullptr ? html("–") : badge(word(other->verdict)),
           html(other == nullptr ? "–" : percent(other->change)), html(other == nullptr ? "–" : number(other->index))},
          bad ? "bad" : "");
    }
  }
  return table.empty() ? std::string() : table.str();
}

// "topic WORSENS 1 of 2 metrics, most of all ..."
std::string sentence_of(const ComparedHead& head) {
  const int all = static_cast<int>(head.metrics.size());
  const auto name = title_of(head);
  if (all == 0) return fmt::format("{}: {}.", name, head.reason.empty() ? "no metric was judged" : head.reason);
  if (const int worse = count(head, "worse"); worse > 0) {
    const auto& worst = head.metrics.front();
    return fmt::format("{} WORSENS {} of {} metrics, most of all {} ({}).", name, worse, all, worst.metric,
                       percent(worst.change));
  }
  if (const int open = count(head, "no_verdict"); open > 0)
    return fmt::format("{}: {} of {} metrics could not be decided, none is worse.", name, open, all);
  if (const int better = count(head, "better"); better > 0)
    return fmt::format("{} IMPROVES {} of {} metrics, none is worse.", name, better, all);
  return fmt::format("{} is as fast as {}: {} metrics, none differs beyond noise.", head.name, head.against, all);
}

void arm_section(const CompareModel& model, const ComparedHead& head, Page& page) {
  if (model.heads.size() > 1) page.heading(title_of(head));
  if (!head.reason.empty()) page.paragraph(html(head.reason));
  page.raw(compare_tables(model, head));
  if (std::isfinite(head.geometric_index) && head.metrics.size() > 1) {
    page.paragraph(
        html(fmt::format("All rates together (geometric mean of their indexes): {}", number(head.geometric_index))));
  }
}

}  // namespace

std::string raw_pairs(const ComparedHead& head) {
  std::string out;
  for (const auto& m : head.metrics) {
    const auto pairs = std::min(m.base_values.size(), m.head_values.size());
    if (pairs == 0) continue;
    const auto scaled = scale_for(std::max(m.base, m.head), m.unit);
    Table table(fmt::format("{}, {}: {} pairs", m.metric, head.name, pairs), {"pair", "base", "head", "head / base"},
                {true, true, true, true});
    for (std::size_t i = 0; i < pairs; ++i) {
      table.row({html(fmt::format("{}", i + 1)), html(number(m.base_values[i] * scaled.factor) + " " + scaled.unit),
                 html(number(m.head_values[i] * scaled.factor) + " " + scaled.unit),
                 html(m.base_values[i] > 0 ? fmt::format("{:.3f}", m.head_values[i] / m.base_values[i]) : "–")});
    }
    out += table.str();
  }
  return out;
}

std::string lead_of(const CompareModel& model) {
  if (!model.aa_complaint.empty()) return "Base differs from itself on this machine, so nothing was judged.";
  if (all_differ(model)) return "Base and head answer differently, so their speeds are not compared.";
  if (model.heads.empty()) return "Nothing was compared.";
  std::string out;
  for (const auto* list : {&model.heads, &model.rungs}) {
    for (const auto& head : *list) out += (out.empty() ? "" : " ") + sentence_of(head);
  }
  return out;
}

std::string compare_page(const CompareModel& model) {
  const auto heads = model.heads.size() == 1 ? model.heads[0].name : fmt::format("{} heads", model.heads.size());
  Page page(fmt::format("{}{} against {}", model.project.empty() ? "" : model.project + ": ", shorten(heads, 80),
                        shorten(model.base, 80)),
            lead_of(model), tone_of(model));
  if (!model.aa_complaint.empty()) page.paragraph(html(model.aa_complaint));
  if (model.ladder) page.raw(ladder_table(model));
  for (const auto& head : model.heads) arm_section(model, head, page);
  for (const auto& rung : model.rungs) arm_section(model, rung, page);
  for (const auto* list : {&model.heads, &model.rungs}) {
    for (const auto& head : *list) {
      if (head.trade) trade_section(title_of(head), head, page);
    }
  }
  differences_section(model, page);
  about_section(model, page);
  std::string pairs;
  for (const auto& head : model.heads) pairs += raw_pairs(head);
  if (!pairs.empty()) page.fold("Every pair", pairs);
  if (model.references.size() >= 2) {
    std::string command = "nightgate compare";
    for (const auto& reference : model.references) command += " " + quoted(reference);
    if (model.ladder) command += " --ladder";
    page.heading("How to see it again");
    page.code(command);
  }
  return page.str();
}

}  // namespace nightgate::report
