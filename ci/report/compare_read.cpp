// From the document of a compare to the model. Everything is checked here, so that the page need not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ci/report/compare.hpp"
#include "ci/report/reading.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"
#include "store/rows.hpp"

namespace nightgate::report {
namespace {

using nlohmann::json;

using store::unknown;

Result<std::string> verdict_of(const JsonReader& at) {
  NG_TRY(auto text, at.string("verdict"));
  for (const char* word : {"better", "worse", "same", "no_verdict"}) {
    if (text == word) return text;
  }
  return at.wrong("verdict", "better, worse, same or no_verdict");
}

Status interval_of(const JsonReader& at, std::string_view key, double& low, double& high) {
  low = high = unknown;
  NG_TRY(const auto ends, items(at, key));
  if (ends.empty()) return {};
  if (ends.size() != 2) return at.wrong(key, "two ends");
  if (ends[0].value().is_number()) low = ends[0].value().get<double>();
  if (ends[1].value().is_number()) high = ends[1].value().get<double>();
  return {};
}

Result<std::vector<double>> numbers_of(const JsonReader& at, std::string_view key) {
  NG_TRY(const auto list, items(at, key));
  std::vector<double> out;
  for (const auto& item : list) {
    if (!item.value().is_number()) return item.wrong("a number");
    out.push_back(item.value().get<double>());
  }
  return out;
}

Result<ComparedMetric> metric_of(const JsonReader& at) {
  ComparedMetric out{};
  NG_TRY(out.metric, at.string("metric"));
  NG_TRY(out.verdict, verdict_of(at));
  NG_TRY(out.unit, text_of(at, "unit", 40));
  NG_TRY(out.reason, text_of(at, "reason"));
  NG_TRY(const auto better, at.choice_or("better", {"higher", "lower"}, "higher"));
  out.higher_is_better = better == "higher";
  NG_TRY(out.change, number_of(at, "change"));
  NG_CHECK(interval_of(at, "interval", out.low, out.high));
  NG_CHECK(interval_of(at, "shown_interval", out.shown_low, out.shown_high));
  NG_TRY(out.base, number_of(at, "base"));
  NG_TRY(out.head, number_of(at, "head"));
  NG_TRY(out.index, number_of(at, "index"));
  NG_TRY(out.aa_spread, number_of(at, "aa_spread"));
  NG_TRY(out.chance_of_every, number_of(at, "chance_of_every"));
  NG_TRY(out.every_better, at.boolean_or("every_head_beats_every_base", false));
  NG_TRY(out.every_worse, at.boolean_or("every_head_loses", false));
  NG_TRY(out.pairs, count_of(at, "pairs"));
  NG_TRY(out.base_values, numbers_of(at, "base_values"));
  NG_TRY(out.head_values, numbers_of(at, "head_values"));
  return out;
}

int rank(const ComparedMetric& m) {
  if (m.verdict == "worse") return 0;
  if (m.verdict == "no_verdict") return 1;
  return m.verdict == "better" ? 2 : 3;
}

Result<ComparedHead> head_of(const JsonReader& at, const std::vector<std::string>& arms) {
  ComparedHead out{};
  NG_TRY(const auto arm, count_of(at, "arm", 1));
  const auto place = static_cast<std::size_t>(arm);
  const auto name_of = [&](std::size_t one, std::string otherwise) {
    return one < arms.size() ? arms[one] : otherwise;
  };
  out.arm = arm;
  out.name = name_of(place, fmt::format("head {}", arm));
  NG_TRY(const auto against, count_of(at, "against", 0));
  out.against = name_of(static_cast<std::size_t>(std::max(0, against)), "base");
  NG_TRY(out.differs, at.boolean_or("differs", false));
  NG_TRY(out.verdict, verdict_of(at));
  NG_TRY(out.reason, text_of(at, "reason"));
  NG_TRY(out.trade, at.boolean_or("trade", false));
  NG_TRY(out.geometric_index, number_of(at, "geometric_index"));
  NG_TRY(const auto metrics, items(at, "metrics"));
  for (const auto& metric : metrics) {
    NG_TRY(auto row, metric_of(metric));
    out.metrics.push_back(std::move(row));
  }
  std::stable_sort(out.metrics.begin(), out.metrics.end(), [](const auto& a, const auto& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return std::isfinite(a.change) && std::isfinite(b.change) && a.change < b.change;
  });
  return out;
}

Result<std::vector<std::string>> arms_of(const JsonReader& at) {
  std::vector<std::string> out;
  NG_TRY(const auto arms, items(at, "arms"));
  for (const auto& arm : arms) {
    NG_TRY(auto label, text_of(arm, "label", 200));
    NG_TRY(const auto commit, text_of(arm, "commit", 64));
    out.push_back(label.empty() ? commit.substr(0, 12) : std::move(label));
  }
  return out;
}

Status read_about(const JsonReader& at, CompareModel& out) {
  if (!at.has("about")) return {};
  NG_TRY(const auto about, at.child("about"));
  NG_CHECK(about.is_object());
  NG_TRY(out.project, text_of(about, "project", 100));
  NG_TRY(out.machine, text_of(about, "machine", 100));
  NG_TRY(out.machine_class, text_of(about, "machine_class", 200));
  NG_TRY(out.started, text_of(about, "started", 40));
  NG_TRY(out.version, text_of(about, "nightgate", 40));
  NG_TRY(out.min_change, about.number_or("min_change", 0, 1, 0.05));
  NG_TRY(out.requests_compared, count_of(about, "equivalence_requests", -1));
  NG_TRY(out.references, about.strings_or_empty("references"));
  return {};
}

Status read_remarks(const JsonReader& at, const std::vector<std::string>& arms, CompareModel& out) {
  NG_TRY(const auto differences, items(at, "differences"));
  for (const auto& d : differences) {
    AnsweredDifferently row;
    NG_TRY(const auto arm, count_of(d, "arm", 1));
    if (arm > 0 && static_cast<std::size_t>(arm) < arms.size()) row.arm = arms[static_cast<std::size_t>(arm)];
    NG_TRY(row.where, text_of(d, "where", 200));
    NG_TRY(row.request, text_of(d, "request", 300));
    NG_TRY(row.base, text_of(d, "base", 2000));
    NG_TRY(row.head, text_of(d, "head", 2000));
    NG_TRY(row.base_status, count_of(d, "base_status"));
    NG_TRY(row.head_status, count_of(d, "head_status"));
    out.differences.push_back(std::move(row));
  }
  NG_TRY(const auto voids, at.strings_or_empty("void_pairs"));
  for (const auto& v : voids) out.void_pairs.push_back(shorten(v, 600));
  NG_TRY(out.aa_complaint, text_of(at, "aa_complaint"));
  return {};
}

}  // namespace

Result<CompareModel> read_compare(std::string_view text) {
  NG_TRY(const auto document, parse_json(text));
  const JsonReader at(document, "compare: $");
  NG_CHECK(at.is_object());
  NG_TRY(const auto schema, at.string("schema"));
  if (schema != "nightgate-compare/1") return at.wrong("schema", "nightgate-compare/1 (what `compare --json` prints)");
  CompareModel out{};
  NG_TRY(out.verdict, verdict_of(at));
  NG_TRY(const auto arms, arms_of(at));
  out.base = arms.empty() ? "base" : arms[0];
  for (auto* list : {&out.heads, &out.rungs}) {
    NG_TRY(const auto rows, items(at, list == &out.heads ? "heads" : "rungs"));
    for (const auto& head : rows) {
      NG_TRY(auto row, head_of(head, arms));
      row.rung = list == &out.rungs;
      list->push_back(std::move(row));
    }
  }
  NG_TRY(out.ladder, at.boolean_or("ladder", false));
  NG_TRY(out.stopped, at.boolean_or("stopped", false));
  NG_TRY(out.comparisons, count_of(at, "comparisons", 1));
  NG_TRY(out.pairs, count_of(at, "pairs"));
  NG_TRY(out.measurements, count_of(at, "measurements"));
  NG_TRY(out.minutes, number_of(at, "minutes"));
  NG_TRY(out.out_of_budget, at.boolean_or("out_of_budget", false));
  NG_CHECK(read_about(at, out));
  NG_CHECK(read_remarks(at, arms, out));
  return out;
}

}  // namespace nightgate::report
