// Names and the numbers behind a verdict, for people.
#include <cmath>
#include <cstdio>

#include "gate/judge/series.hpp"

namespace nightgate::judge {
namespace {
template <typename Print>
std::string worded(double x, Print print) {
  if (std::isnan(x)) return "none";
  if (std::isinf(x)) return "not active yet";
  char buffer[64];
  print(buffer, sizeof buffer);
  return buffer;
}
std::string figure(double x) {
  return worded(x, [x](char* out, std::size_t size) { std::snprintf(out, size, "%.6g", x); });
}
std::string times(double x) {
  return worded(x, [x](char* out, std::size_t size) { std::snprintf(out, size, "%.2f", x); });
}
std::string share(double x) {
  return worded(x, [x](char* out, std::size_t size) { std::snprintf(out, size, "%+.2f %%", 100 * x); });
}
std::string percent(double log_size) {
  const double x = std::isinf(log_size) ? log_size : 100 * std::expm1(log_size);
  return worded(x, [x](char* out, std::size_t size) { std::snprintf(out, size, "%.2f %%", x); });
}

// A log size (> 0 is worse) as the change that everybody sees.
std::string as_change(double log_size, Better better) {
  return share(std::isfinite(log_size) ? change_of(better, log_size) : log_size);
}

std::string line_name(const EvidenceLine& line, bool first, const Rules& rules) {
  const int count = first ? rules.trip_after : line.count;
  const int nights = first ? rules.trip_after : line.nights;
  return "trips when " + std::to_string(count) + " of " + std::to_string(nights) + " nights are at or below";
}
}  // namespace

std::string_view name(Verdict v) {
  switch (v) {
    case Verdict::good:
      return "good";
    case Verdict::suspect:
      return "suspect";
    case Verdict::trip:
      return "trip";
    case Verdict::red:
      return "red";
    case Verdict::recovery_pending:
      return "recovery_pending";
    case Verdict::recovered:
      return "recovered";
    case Verdict::gain_pending:
      return "gain_pending";
    case Verdict::gain:
      return "gain";
    case Verdict::gain_lost:
      return "gain_lost";
    case Verdict::warming_up:
      return "warming_up";
    case Verdict::no_verdict:
      return "no_verdict";
    case Verdict::unfit:
      return "unfit";
    case Verdict::environment_suspect:
      return "environment_suspect";
    case Verdict::new_level:
      return "new_level";
    case Verdict::accepted:
      return "accepted";
  }
  return "no_verdict";
}

std::string_view name(TripKind k) {
  switch (k) {
    case TripKind::step:
      return "step";
    case TripKind::slow:
      return "slow";
    case TripKind::creep:
      return "creep";
  }
  return "step";
}

std::string_view name(SeriesState s) {
  switch (s) {
    case SeriesState::warming_up:
      return "warming_up";
    case SeriesState::steady:
      return "steady";
    case SeriesState::suspect:
      return "suspect";
    case SeriesState::red:
      return "red";
    case SeriesState::unfit:
      return "unfit";
  }
  return "steady";
}

std::vector<std::pair<std::string, std::string>> explain(const MetricVerdict& v, const Rules& rules) {
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&](std::string key, std::string text) { lines.emplace_back(std::move(key), std::move(text)); };
  add("verdict", std::string(name(v.verdict)));
  if (!v.reason.empty()) add("why", v.reason);
  add("value", figure(v.value));
  if (v.nights_left > 0) add("nights until judged", std::to_string(v.nights_left));
  add("state after", std::string(name(v.state)));
  const Numbers& n = v.numbers;
  if (n.lines == 0) return lines;
  add("expected on tonight's machine", figure(v.baseline));
  add("change", share(v.change));
  add("accepted nights behind the baseline", std::to_string(n.baseline_nights));
  add("tonight's machine slower by", percent(n.machine));
  if (n.class_offset != 0) add("usual difference of this machine class", percent(n.class_offset));
  add("noise of one night (sigma)", percent(n.sigma));
  add("nights behind the noise", std::to_string(n.residuals));
  if (n.inflation != 1) add("bad nights cluster: noise counted times", times(n.inflation));
  if (n.flap > 0) add("jumps and comes back: at least", percent(n.flap));
  for (int i = 0; i < n.lines; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool active = std::isfinite(n.threshold[at]);
    add(line_name(rules.expert.lines[at], i == 0, rules),
        as_change(n.threshold[at], n.better) + (active ? "; so far " + std::to_string(n.beyond[at]) : ""));
  }
  if (!std::isnan(n.pinned)) {
    add("pinned baseline", figure(std::exp(n.better == Better::higher ? -n.pinned : n.pinned)));
    add("creep trips when the pinned baseline is left by", as_change(n.pinned_threshold, n.better));
  }
  if (v.trip) {
    add("trip", std::string(name(v.trip->kind)) + ", " + share(v.trip->change) + " over the nights that tripped it");
  }
  return lines;
}
}  // namespace nightgate::judge
