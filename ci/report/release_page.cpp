#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/report/charts.hpp"
#include "ci/report/page.hpp"
#include "ci/report/release.hpp"
#include "ci/report/svg.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

int count(const ReleaseModel& model, std::string_view outcome) {
  return static_cast<int>(
      std::count_if(model.changes.begin(), model.changes.end(), [&](const auto& c) { return c.outcome == outcome; }));
}
int unexplained(const ReleaseModel& model) {
  return static_cast<int>(
      std::count_if(model.changes.begin(), model.changes.end(), [](const auto& c) { return c.unexplained; }));
}

std::string tone_of(const ReleaseModel& model) {
  if (!model.aa_complaint.empty() || model.changes.empty()) return "unsure";
  return unexplained(model) > 0 ? "bad" : count(model, "no_verdict") > 0 ? "unsure" : "good";
}

std::string reason_of(const ReleaseChange& c) {
  return c.unexplained ? "unexplained: nobody gave a reason for this price" : c.reason;
}

std::string change_text(const ReleaseChange& c) {
  auto out = percent(c.change);
  if (std::isfinite(c.low) && std::isfinite(c.high)) out += " (" + percent_range(c.low, c.high) + ")";
  return out;
}

void changes_section(const ReleaseModel& model, Page& page) {
  page.heading("What the release changed");
  if (!model.aa_complaint.empty()) page.paragraph(html("Nothing was judged: " + model.aa_complaint));
  if (model.changes.empty()) {
    page.paragraph(html("No metric was compared with the last release."));
    return;
  }
  Table table(fmt::format("{} against {}", model.to, model.from),
              {"metric", "what", "change", model.from.empty() ? "before" : shorten(model.from, 20),
               shorten(model.to, 20), "pairs"},
              {false, false, true, true, true, true});
  std::vector<Interval> intervals;
  for (const auto& c : model.changes) {
    const auto scaled = scale_for(std::max(c.base, c.head), c.unit);
    const auto verdict = c.outcome == "price" ? "worse" : c.outcome == "gain" ? "better" : c.outcome;
    table.row({{escape_html(c.metric) + "<small class=\"soft\">" + escape_html(reason_of(c)) + "</small>"},
               badge(c.unexplained ? "unexplained" : c.outcome),
               html(change_text(c)),
               html(number(c.base * scaled.factor)),
               html(number(c.head * scaled.factor) + " " + scaled.unit),
               html(fmt::format("{}", c.pairs))},
              c.unexplained ? "bad" : "");
    if (std::isfinite(c.change)) intervals.push_back({c.metric, c.low, c.high, c.change, verdict});
  }
  page.raw(table.str());
  page.raw(interval_chart(intervals, model.min_change, "Changes against " + model.from));
}

void figures_section(const ReleaseModel& model, Page& page) {
  page.heading("Absolute figures");
  Table table("Figures of " + model.to + ", medians over fresh starts",
              {"metric", "median", "lowest", "highest", "better", "rounds"}, {false, true, true, true, false, true},
              Filter::offered);
  for (const auto& f : model.figures) {
    const auto scaled = scale_for(f.high, f.unit);
    table.row({html(f.metric), html(number(f.median * scaled.factor) + " " + scaled.unit),
               html(number(f.low * scaled.factor)), html(number(f.high * scaled.factor)),
               html(f.higher_is_better ? "up ↑" : "down ↓"), html(fmt::format("{}", f.rounds))});
  }
  page.raw(table.empty() ? "<p>None was measured.</p>" : table.str());
}

// Bars from zero, a release each: on their own scale, never cut.
std::string trend_chart(const ReleaseTrend& trend) {
  constexpr double width = 900, left = 78, top = 34, bottom = 190, height = 226;
  double largest = 0;
  for (const auto& [name, value] : trend.releases) largest = std::max(largest, value);
  if (!(largest > 0)) return {};
  const auto scaled = scale_for(largest, trend.unit);
  const double high = largest * 1.12, slot = (width - left - 20) / static_cast<double>(trend.releases.size());
  const auto y = [&](double value) { return bottom - value / high * (bottom - top); };
  Svg svg(width, height, trend.metric,
          fmt::format("{} releases; the last is {} {}, {} is better", trend.releases.size(),
                      number(trend.releases.back().second * scaled.factor), scaled.unit,
                      trend.higher_is_better ? "up" : "down"));
  for (const double tick : ticks(0, high * scaled.factor, 4)) {
    svg.line(left, y(tick / scaled.factor), width - 20, y(tick / scaled.factor), "grid");
    svg.text(left - 8, y(tick / scaled.factor) + 4, tick_text(tick), Anchor::end, "soft");
  }
  svg.text(left, 14,
           fmt::format("{}   ({})", scaled.unit, trend.higher_is_better ? "up is better ↑" : "down is better ↓"),
           Anchor::start, "soft");
  const double bar = std::min(slot * 0.6, 60.0);
  const auto each = std::max<std::size_t>(1, trend.releases.size() / 12);
  for (std::size_t i = 0; i < trend.releases.size(); ++i) {
    const auto& [name, value] = trend.releases[i];
    const double x = left + slot * (static_cast<double>(i) + 0.5);
    svg.rect(x - bar / 2, y(value), bar, bottom - y(value), i + 1 == trend.releases.size() ? "bar" : "barsoft",
             fmt::format("{}: {} {}", name, number(value * scaled.factor), scaled.unit));
    if (i % each != 0 && i + 1 != trend.releases.size()) continue;
    svg.text(x, bottom + 16, shorten(name, 14), Anchor::middle, "soft");
    svg.text(x, y(value) - 5, number(value * scaled.factor), Anchor::middle, "strong");
  }
  svg.line(left, bottom, width - 20, bottom, "axis");
  return figure("Trend: " + trend.metric, svg.str(), "Bars from zero, oldest release first.");
}

void machine_section(const ReleaseModel& model, Page& page) {
  page.heading("Machine and build");
  std::vector<std::pair<std::string, std::string>> rows;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) rows.emplace_back(name, value);
  };
  add("release", model.to);
  add("commit", model.commit);
  add("build", model.digest);
  add("against", model.from);
  add("measured", minute_of(model.started) +
                      (std::isfinite(model.minutes) ? fmt::format(", {} minutes", number(model.minutes)) : ""));
  add("machine", model.machine + (model.machine_class.empty() ? "" : ", " + model.machine_class));
  add("kernel", model.kernel);
  add("engine", model.engine);
  add("nightgate", model.version);
  page.definitions(rows);
}

}  // namespace

std::string lead_of(const ReleaseModel& model) {
  const auto name = model.from.empty() ? model.to : model.to + " against " + model.from;
  if (!model.aa_complaint.empty()) return name + ": the machine differs from itself, so nothing was judged.";
  if (model.changes.empty()) return name + ": absolute figures only.";
  std::string out = name + ": ";
  const int gains = count(model, "gain"), open = count(model, "no_verdict"), without = unexplained(model);
  int prices = 0;
  for (const auto& c : model.changes) prices += c.outcome.rfind("price", 0) == 0 ? 1 : 0;
  out += counted(gains, "gain") + ", " + counted(prices, "price");
  if (without > 0) out += fmt::format(" ({} unexplained)", without);
  const int same = static_cast<int>(model.changes.size()) - gains - prices - open;
  out += fmt::format(", {} the same", same);
  return out + (open > 0 ? fmt::format(", {} without a verdict.", open) : ".");
}

std::string release_page(const ReleaseModel& model, const SiteLinks* links, std::string_view raw) {
  Page page(fmt::format("{}{}{}", model.project, model.project.empty() ? "" : ": ", shorten(model.to, 80)),
            lead_of(model), tone_of(model));
  if (links != nullptr)
    page.site(links->root).links({{"Overview", links->root + "index.html"}, {"Ledger", links->root + "ledger.html"}});
  changes_section(model, page);
  figures_section(model, page);
  if (!model.trends.empty()) page.heading("Trend over releases");
  for (const auto& trend : model.trends) page.raw(trend_chart(trend));
  machine_section(model, page);
  if (!raw.empty()) page.paragraph(link(raw, "Everything as JSON"));
  if (model.compare) {
    for (const auto& head : model.compare->heads) {
      const auto pairs = raw_pairs(head);
      if (!pairs.empty()) page.fold("Every pair", pairs);
    }
  }
  return page.str();
}

std::string release_markdown(const ReleaseModel& model, std::size_t most_bytes) {
  auto out = "**" + escape_markdown(lead_of(model)) +
             "**\n\n| metric | what | change | before | after | reason |\n|---|---|---:|---:|---:|---|\n";
  std::size_t left_out = 0;
  for (const auto& c : model.changes) {
    const auto scaled = scale_for(std::max(c.base, c.head), c.unit);
    const auto row = fmt::format(
        "| {} | {} | {} | {} | {} {} | {} |\n", escape_markdown(c.metric),
        c.unexplained ? "**unexplained price**" : escape_markdown(c.outcome == "no_verdict" ? "no verdict" : c.outcome),
        change_text(c), number(c.base * scaled.factor), number(c.head * scaled.factor), escape_markdown(scaled.unit),
        escape_markdown(shorten(c.reason, 200)));
    if (out.size() + row.size() + 200 > most_bytes)
      ++left_out;
    else
      out += row;
  }
  if (left_out > 0) out += fmt::format("\n{} more rows are in the full report.\n", left_out);
  return out;
}

}  // namespace nightgate::report
