// One night: the verdict first, then every metric, every reason, the conditions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "ci/report/charts.hpp"
#include "ci/report/model.hpp"
#include "ci/report/night_tables.hpp"
#include "ci/report/page.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::report {
namespace {

using nlohmann::json;

int rank(const store::Verdict& v) {  // what got slower is never left out, and comes first
  if (v.verdict == "trip" || v.red) return 0;
  if (v.verdict == "suspect") return 1;
  if (v.verdict == "no_verdict" || v.verdict == "environment_suspect") return 2;
  if (v.verdict == "unfit") return 3;
  if (v.verdict == "gain" || v.verdict == "recovered") return 4;
  return 5;
}

std::vector<store::Verdict> sorted(const NightModel& model) {
  auto out = model.verdicts;
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return out;
}

Html metric_name(const std::string& metric, const SiteLinks* links) {
  return links == nullptr ? html(metric) : link(links->metric + slug(metric) + ".html", metric);
}

// Spread of the target's repeats over all starts, as a share of their median.
double spread_of(const NightModel& model, const std::string& metric) {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  for (const auto& m : model.measurements) {
    const auto prefix = m.deployment + "." + m.scenario + ".";
    if (m.role != store::Role::target || metric.rfind(prefix, 0) != 0) continue;
    const auto value = m.values.find(metric.substr(prefix.size()));
    if (value == m.values.end()) continue;
    low = std::min(low, value->second.low);
    high = std::max(high, value->second.high);
  }
  return high > 0 && low <= high ? (high - low) / ((high + low) / 2) : store::unknown;
}

std::string with_unit(double value, const Scaled& scaled) {
  const auto text = number(value * scaled.factor);
  return std::isfinite(value) && !scaled.unit.empty() ? text + " " + scaled.unit : text;
}

std::string verdict_table(const NightModel& model, const SiteLinks* links) {
  Table table("Every gated metric of the night",
              {"metric", "verdict", "median", "baseline", "change", "spread", "reason"},
              {false, false, true, true, true, true, false}, Filter::offered);
  const auto units = units_of(model);
  for (const auto& v : sorted(model)) {
    const auto scaled = scale_for(std::isfinite(v.value) ? v.value : v.baseline, unit_of(units, v.metric));
    const double spread = spread_of(model, v.metric);
    const auto reason = v.nights_left > 0
                            ? fmt::format("{} nights left{}{}", v.nights_left, v.reason.empty() ? "" : "; ", v.reason)
                            : v.reason;
    table.row({metric_name(v.metric, links), badge(v.verdict), html(with_unit(v.value, scaled)),
               html(with_unit(v.baseline, scaled)), html(percent(v.change)),
               html(std::isfinite(spread) ? fmt::format("{:.1f} %", 100 * spread) : "–"), html(shorten(reason, 300))},
              rank(v) <= 1 ? "bad" : "");
  }
  return table.str();
}

// " (#123 5d2f01c)": what was measured, as it is called; else its commit.
std::string target_in_brackets(const store::Night& night) {
  if (!night.target) return "";
  const auto name = night.target->label.empty() ? night.target->commit.substr(0, 12) : night.target->label;
  return name.empty() ? "" : " (" + name + ")";
}

int count(const NightModel& model, std::string_view verdict) {
  return static_cast<int>(
      std::count_if(model.verdicts.begin(), model.verdicts.end(), [&](const auto& v) { return v.verdict == verdict; }));
}
int red(const NightModel& model) {
  return static_cast<int>(
      std::count_if(model.verdicts.begin(), model.verdicts.end(), [](const auto& v) { return v.red; }));
}

std::string tone_of(const NightModel& model) {
  if (red(model) > 0 || count(model, "suspect") > 0) return "bad";
  if (model.night.state != store::NightState::judged || model.night.environment || count(model, "no_verdict") > 0 ||
      count(model, "environment_suspect") > 0)
    return "unsure";
  return "good";
}

std::string row_markdown(const Units& units, const store::Verdict& v) {
  const auto scaled = scale_for(std::isfinite(v.value) ? v.value : v.baseline, unit_of(units, v.metric));
  std::string verdict = v.verdict;
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", escape_markdown(v.metric), verdict,
                     escape_markdown(with_unit(v.value, scaled)), escape_markdown(with_unit(v.baseline, scaled)),
                     percent(v.change), escape_markdown(shorten(v.reason, 200)));
}

}  // namespace

std::string lead_of(const NightModel& model) {
  const auto name = fmt::format("Night {}{}", model.night.sequence, target_in_brackets(model.night));
  if (model.night.voided) return name + " was taken out: " + model.night.void_reason;
  if (model.night.state != store::NightState::judged)
    return name + " has no verdict: " + (model.night.reason.empty() ? "it was interrupted" : model.night.reason);
  if (model.night.environment) return name + " has no verdict: environment suspect. " + model.night.reason;
  if (const int trips = count(model, "trip"); trips > 0)
    return fmt::format("{}: {} tripped: a confirmed regression.", name, counted(trips, "metric"));
  if (const int reds = red(model); reds > 0) return fmt::format("{}: {} still red.", name, counted(reds, "metric"));
  if (const int suspects = count(model, "suspect"); suspects > 0)
    return fmt::format("{}: {} suspect; one bad night is noise, the next one decides.", name,
                       counted(suspects, "metric"));
  if (const int missing = count(model, "no_verdict") + count(model, "environment_suspect"); missing > 0)
    return fmt::format("{}: nothing red, but {} without a verdict.", name, counted(missing, "metric"));
  if (const int warming = count(model, "warming_up"); warming == static_cast<int>(model.verdicts.size()))
    return name + ": warming up, nothing is judged yet.";
  return name + ": good, nothing is slower than noise allows.";
}

std::string night_page(const NightModel& model, const SiteLinks* links) {
  Page page(fmt::format("{}: night {}", model.project, model.night.sequence), lead_of(model), tone_of(model));
  if (links != nullptr) {
    std::vector<std::pair<std::string, std::string>> nav = {
        {"Overview", links->root + "index.html"},
        {"Metrics of " + model.night.machine, links->metric + "../metrics.html"}};
    if (!links->before.empty()) nav.emplace_back("← Night before", links->before);
    if (!links->after.empty()) nav.emplace_back("Night after →", links->after);
    page.site(links->root).links(nav);
  }
  if (!model.verdicts.empty()) page.raw(verdict_table(model, links));
  if (const auto beside = deployments_table(model, links); !beside.empty()) {
    page.heading("Deployments side by side");
    page.raw(beside);
  }
  for (const auto& s : model.series)
    page.raw(series_chart({s.info.name, s.info.unit, s.info.better, s.points, model.min_change, 0, 0}));
  if (!model.measurements.empty()) {
    page.heading("Figures");
    page.raw(figures_table(model));
    page.raw(control_table(model));
  }
  page.heading("Conditions");
  page.definitions(facts(model));
  page.raw(started_table(model));
  if (!model.measurements.empty()) page.raw(conditions_table(model));
  std::string logs;
  for (const auto& m : model.measurements) {
    if (!m.no_verdict.empty()) {
      logs += "<p><strong>" + escape_html(m.deployment + "." + m.scenario) + "</strong>: " + escape_html(m.no_verdict) +
              "</p><pre tabindex=\"0\">" + escape_html(m.log_tail) + "</pre>";
    }
  }
  if (!logs.empty()) page.fold("What went wrong, with the broker's last lines", logs);
  return page.str();
}

std::string night_markdown(const NightModel& model, std::size_t most_bytes) {
  std::string out = "**" + escape_markdown(lead_of(model)) +
                    "**\n\n| metric | verdict | median | baseline | change | reason |\n|---|---|---:|---:|---:|---|\n";
  const auto units = units_of(model);
  std::size_t left_out = 0;
  for (const auto& v : sorted(model)) {
    const auto row = row_markdown(units, v);
    if (out.size() + row.size() + 200 > most_bytes) {
      ++left_out;
    } else {
      out += row;
    }
  }
  if (left_out > 0) out += fmt::format("\n{} more rows are in the full report.\n", left_out);
  const auto beside = beside_markdown(model);
  if (out.size() + beside.size() <= most_bytes) out += beside;
  return out;
}

json night_json(const NightModel& model) {
  json out = {{"schema", "nightgate-report-night/1"},
              {"project", model.project},
              {"night", model.night.sequence},
              {"lead", lead_of(model)},
              {"tone", tone_of(model)},
              {"started", to_rfc3339(model.night.started)},
              {"machine", model.night.machine},
              {"metrics", json::array()}};
  const auto units = units_of(model);
  for (const auto& v : sorted(model)) {
    const auto known = [](double x) { return std::isfinite(x) ? json(x) : json(); };
    out["metrics"].push_back({{"metric", v.metric},
                              {"unit", unit_of(units, v.metric)},
                              {"verdict", v.verdict},
                              {"value", known(v.value)},
                              {"baseline", known(v.baseline)},
                              {"change", known(v.change)},
                              {"red", v.red},
                              {"reason", v.reason}});
  }
  return out;
}

}  // namespace nightgate::report
