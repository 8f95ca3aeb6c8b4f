// k6's end-of-test summary. Two forms hold the same figures: what handleSummary() gets ({"metrics":{NAME:{"type":..,
// "contains":..,"values":{..}}}}) and what --summary-export wrote ({"metrics":{NAME:{"med":..,"p(95)":..}}}).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/formats/load_internal.hpp"

namespace nightgate::formats {
namespace {

constexpr double kMost = 1e300;

// Phases of a request that are zero on kept-alive connections, volumes, and the load itself: nothing to gate on.
constexpr std::array<std::string_view, 10> kPassedOver = {"http_req_blocked",
                                                          "http_req_connecting",
                                                          "http_req_tls_handshaking",
                                                          "http_req_sending",
                                                          "http_req_receiving",
                                                          "data_sent",
                                                          "data_received",
                                                          "checks",
                                                          "vus",
                                                          "vus_max"};

bool passed_over(std::string_view name) {
  name = name.substr(0, name.find('{'));  // "http_req_blocked{scenario:a}"
  return std::find(kPassedOver.begin(), kPassedOver.end(), name) != kPassedOver.end();
}

enum class Kind { trend, counter, rate, other };

Kind kind_of(const JsonReader& values, const std::string& type) {
  if (type == "trend" || (type.empty() && values.has("avg") && values.has("max"))) return Kind::trend;
  if (type == "counter" || (type.empty() && values.has("count") && values.has("rate"))) return Kind::counter;
  if (type == "rate" || (type.empty() && values.has("passes") && values.has("fails"))) return Kind::rate;
  return Kind::other;
}

Status add_trend(const std::string& name, bool time, const JsonReader& values, std::vector<Reading>& out) {
  for (const auto& [statistic, value] : values.members()) {
    if (statistic != "med" && statistic != "avg" && statistic != "max" && !statistic.starts_with("p(")) continue;
    NG_TRY(const auto number, values.number(statistic, -kMost, kMost));
    out.push_back({name + "." + clean_name(statistic), number, time ? "ms" : "", Better::lower});
  }
  return {};
}

Status check_failures(const std::string& name, const JsonReader& values) {
  if (name != "http_req_failed") return {};
  NG_TRY(const auto rate, values.number(values.has("rate") ? "rate" : "value", 0, 1));
  if (rate == 0) return {};
  return fail(
      Code::bad_data,
      fmt::format("{:.3g} % of the requests of this k6 run failed; a rate over errors is not a rate", rate * 100));
}

Status add_metric(const std::string& raw_name, const JsonReader& metric, std::vector<Reading>& out) {
  NG_CHECK(metric.is_object());
  const bool wrapped = metric.has("values") && metric.value().at("values").is_object();
  const JsonReader values = wrapped ? JsonReader(metric.value().at("values"), metric.path() + ".values") : metric;
  NG_TRY(const auto type, wrapped ? metric.string_or("type", "") : Result<std::string>(""));
  const std::string name = clean_name(raw_name);
  NG_CHECK(check_failures(name, values));
  if (passed_over(name)) return {};
  const Kind kind = kind_of(values, type);
  if (kind == Kind::trend) {
    NG_TRY(const auto contains, wrapped ? metric.string_or("contains", "") : Result<std::string>(""));
    const bool own_time = !wrapped && (name.starts_with("http_req_") || name.find("duration") != std::string::npos);
    return add_trend(name, contains == "time" || own_time, values, out);
  }
  if (kind == Kind::counter) {
    NG_TRY(const auto rate, values.number("rate", 0, kMost));
    out.push_back({name + ".rate", rate, name == "http_reqs" ? "requests/s" : "1/s", Better::higher});
    if (name != "http_reqs" || !values.has("count")) return {};
    NG_TRY(const auto count, values.number("count", 0, kMost));
    out.push_back({"requests", count, "", Better::higher});  // what costs are divided by
  }
  return {};
}

}  // namespace

Result<std::vector<Reading>> parse_k6(std::string_view output) {
  NG_TRY(const auto json, json_of_output(output, "k6"));
  const JsonReader root(json, "k6: $");
  NG_TRY(const auto metrics, root.child("metrics"));
  NG_CHECK(metrics.is_object());
  std::vector<Reading> out;
  for (const auto& [name, metric] : metrics.members()) {
    NG_CHECK(add_metric(name, metric, out));
  }
  if (out.empty()) return no_result("k6", output);
  return out;
}

}  // namespace nightgate::formats
