// A release as a page: what it changed against the last one, absolute figures, and the trend over releases.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ci/report/compare.hpp"
#include "ci/report/model.hpp"

namespace nightgate::report {

// Doubles that are not known are NaN. Changes are shares, negative is worse.
struct ReleaseChange {
  std::string metric, unit;
  bool higher_is_better = true;
  std::string outcome;       // gain, same, price, no_verdict; other words of other programs stay as they are
  std::string reason;        // of a price, or why there is no verdict
  bool unexplained = false;  // a price without a reason
  double change, low, high, base, head;
  int pairs = 0;
};
struct ReleaseFigure {
  std::string metric, unit;
  bool higher_is_better = true, gated = true;
  double median, low, high;  // over the rounds
  int rounds = 0;
};
struct ReleaseTrend {
  std::string metric, unit;
  bool higher_is_better = true;
  std::vector<std::pair<std::string, double>> releases;  // oldest first
};
struct ReleaseModel {
  std::string project, from, to, commit, digest;
  std::string machine, machine_class, kernel, engine, started, version;
  double min_change = 0.05, minutes;
  std::string aa_complaint;
  std::vector<ReleaseChange> changes;  // prices first
  std::vector<ReleaseFigure> figures;
  std::vector<ReleaseTrend> trends;
  std::optional<CompareModel> compare;  // for the raw pairs
};

// Document nightgate-release/1. Code::bad_data with the JSON path.
[[nodiscard]] Result<ReleaseModel> read_release(std::string_view text);
struct StoredRelease {
  ReleaseModel model;
  std::string document;  // as JSON
};
// The releases that were measured, oldest first, each with the trend up to it. Of one name the newest counts.
[[nodiscard]] Result<std::vector<StoredRelease>> load_releases(store::Store& store, const std::string& project);
// Prices first, then what has no verdict, gains, the rest.
void order_changes(std::vector<ReleaseChange>& changes);
// Trends of the gated metrics of the newest of `releases` (oldest first) over all of them; at most 12.
[[nodiscard]] std::vector<ReleaseTrend> trends_of(const std::vector<ReleaseModel>& releases);

[[nodiscard]] std::string lead_of(const ReleaseModel& model);
// raw: address of the JSON beside the page; empty: none.
[[nodiscard]] std::string release_page(const ReleaseModel& model, const SiteLinks* links = nullptr,
                                       std::string_view raw = {});
[[nodiscard]] std::string release_markdown(const ReleaseModel& model, std::size_t most_bytes);

}  // namespace nightgate::report
