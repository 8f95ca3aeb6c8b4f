#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ci/report/reading.hpp"
#include "ci/report/release.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::report {
namespace {

constexpr std::size_t most_trends = 12;

Result<bool> is_higher(const JsonReader& at) {
  NG_TRY(const auto better, at.choice_or("better", {"higher", "lower"}, "higher"));
  return better == "higher";
}

Result<ReleaseChange> change_of(const JsonReader& at) {
  ReleaseChange out{};
  NG_CHECK(at.is_object());
  NG_TRY(out.metric, at.string("metric"));
  NG_TRY(out.unit, text_of(at, "unit", 40));
  NG_TRY(out.higher_is_better, is_higher(at));
  NG_TRY(out.outcome, at.choice_or("outcome", {"gain", "same", "price", "no_verdict"}, "no_verdict"));
  NG_TRY(out.reason, text_of(at, "reason"));
  NG_TRY(out.unexplained, at.boolean_or("unexplained", false));
  NG_TRY(out.change, number_of(at, "change"));
  NG_TRY(out.low, number_of(at, "low"));
  NG_TRY(out.high, number_of(at, "high"));
  NG_TRY(out.base, number_of(at, "base"));
  NG_TRY(out.head, number_of(at, "head"));
  NG_TRY(out.pairs, count_of(at, "pairs"));
  return out;
}

Result<ReleaseFigure> figure_of(const JsonReader& at) {
  ReleaseFigure out{};
  NG_CHECK(at.is_object());
  NG_TRY(out.metric, at.string("metric"));
  NG_TRY(out.unit, text_of(at, "unit", 40));
  NG_TRY(out.higher_is_better, is_higher(at));
  NG_TRY(out.gated, at.boolean_or("gated", true));
  NG_TRY(out.median, number_of(at, "median"));
  NG_TRY(out.low, number_of(at, "low"));
  NG_TRY(out.high, number_of(at, "high"));
  NG_TRY(out.rounds, count_of(at, "rounds"));
  return out;
}

Status read_about(const JsonReader& at, ReleaseModel& out) {
  NG_TRY(const auto about, at.child("about"));
  NG_CHECK(about.is_object());
  NG_TRY(out.project, text_of(about, "project", 100));
  NG_TRY(out.machine, text_of(about, "machine", 100));
  NG_TRY(out.machine_class, text_of(about, "machine_class", 200));
  NG_TRY(out.kernel, text_of(about, "kernel", 100));
  NG_TRY(out.engine, text_of(about, "engine", 100));
  NG_TRY(out.started, text_of(about, "started", 40));
  NG_TRY(out.version, text_of(about, "nightgate", 40));
  NG_TRY(out.min_change, about.number_or("min_change", 0, 1, 0.05));
  return {};
}

int rank(const ReleaseChange& c) {
  if (c.outcome == "price") return c.unexplained ? 0 : 1;
  if (c.outcome == "gain") return 3;
  return c.outcome == "same" || c.outcome == "noise" ? 4 : 2;
}

template <class Item, class Read>
Status read_list(const JsonReader& at, std::string_view key, std::vector<Item>& out, Read read) {
  NG_TRY(const auto list, items(at, key));
  for (const auto& element : list) {
    NG_TRY(auto item, read(element));
    out.push_back(std::move(item));
  }
  return {};
}

}  // namespace

Result<ReleaseModel> read_release(std::string_view text) {
  NG_TRY(const auto document, parse_json(text));
  const JsonReader at(document, "release: $");
  NG_CHECK(at.is_object());
  NG_TRY(const auto schema, at.string("schema"));
  if (schema != "nightgate-release/1") return at.wrong("schema", "nightgate-release/1 (what `release --json` prints)");
  ReleaseModel out{};
  NG_TRY(out.from, text_of(at, "from", 200));
  NG_TRY(out.to, text_of(at, "to", 200));
  NG_TRY(out.commit, text_of(at, "commit", 64));
  NG_TRY(out.digest, text_of(at, "digest", 100));
  NG_TRY(out.minutes, number_of(at, "minutes"));
  NG_CHECK(read_about(at, out));
  NG_CHECK(read_list(at, "changes", out.changes, change_of));
  NG_CHECK(read_list(at, "figures", out.figures, figure_of));
  order_changes(out.changes);
  if (const auto compare = document.find("compare"); compare != document.end() && compare->is_object()) {
    NG_TRY(out.compare, read_compare(dump_json(*compare)));
    out.aa_complaint = out.compare->aa_complaint;
  }
  return out;
}

Result<std::vector<StoredRelease>> load_releases(store::Store& store, const std::string& project) {
  constexpr int most_releases = 500;
  NG_TRY(auto runs, store.runs(project, store::RunKind::release, most_releases));
  std::vector<StoredRelease> out;
  for (auto& run : runs) {  // newest first
    auto model = read_release(run.result);
    if (!model) continue;  // never finished
    const bool there =
        std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.model.to == model->to; });
    if (!there) out.push_back({std::move(*model), std::move(run.result)});
  }
  std::reverse(out.begin(), out.end());
  std::vector<ReleaseModel> before;
  for (auto& release : out) {
    before.push_back(release.model);
    before.back().compare.reset();
    release.model.trends = trends_of(before);
  }
  return out;
}

void order_changes(std::vector<ReleaseChange>& changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

std::vector<ReleaseTrend> trends_of(const std::vector<ReleaseModel>& releases) {
  std::vector<ReleaseTrend> out;
  if (releases.size() < 2) return out;
  for (const auto& figure : releases.back().figures) {
    if (!figure.gated || out.size() >= most_trends) continue;
    ReleaseTrend trend{figure.metric, figure.unit, figure.higher_is_better, {}};
    for (const auto& release : releases) {
      for (const auto& other : release.figures) {
        if (other.metric == figure.metric && other.unit == figure.unit && std::isfinite(other.median))
          trend.releases.emplace_back(release.to, other.median);
      }
    }
    if (trend.releases.size() > 1) out.push_back(std::move(trend));
  }
  return out;
}

}  // namespace nightgate::report
