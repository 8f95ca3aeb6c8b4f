// A night's page and Markdown: units, deployments beside each other, a slowdown of several times.
#include <string>

#include "ci/report/model.hpp"
#include "ci/report/side_by_side.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::report;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

store::Verdict verdict(const std::string& metric, const std::string& word, double value, double baseline,
                       double change) {
  store::Verdict out;
  out.metric = metric;
  out.verdict = word;
  out.value = value;
  out.baseline = baseline;
  out.change = change;
  out.red = word == "trip";
  return out;
}

store::MetricInfo info(const std::string& name, const std::string& unit, store::Better better) {
  store::MetricInfo out;
  out.name = name;
  out.unit = unit;
  out.better = better;
  return out;
}

NightModel night(const std::string& second = "mongoc") {
  NightModel out;
  out.project = "p";
  out.night.sequence = 9;
  out.night.state = store::NightState::judged;
  out.metrics = {info("corDB.create.rate", "1/s", store::Better::higher),
                 info("corDB.create.p99", "us", store::Better::lower),
                 info(second + ".create.rate", "1/s", store::Better::higher),
                 info(second + ".create.p99", "us", store::Better::lower)};
  out.verdicts = {verdict("corDB.create.rate", "good", 12345, 12000, 0.029),
                  verdict("corDB.create.p99", "good", 9000, 9100, 0.011),
                  verdict(second + ".create.rate", "good", 3210, 3200, 0.003),
                  verdict(second + ".create.p99", "trip", 52000, 10000, -4.2)};
  return out;
}

}  // namespace

TEST_CASE("Deployments with the same scenarios stand side by side, a unit per row", "[report]") {
  const auto all = side_by_side({{"a.s.p99", "us", "good", 900, 0, false},
                                 {"b.s.p99", "us", "trip", 52000, -4.2, true},
                                 {"a.s.rate", "1/s", "gain", 10, 0.2, false},
                                 {"a.only.rate", "1/s", "good", 10, 0, false}});
  REQUIRE(all.rows.size() == 1);  // the others are of one deployment alone
  CHECK(all.deployments == std::vector<std::string>{"a", "b"});
  CHECK(all.rows[0].name == "s.p99");
  CHECK(all.rows[0].unit == "ms");
  REQUIRE(all.rows[0].cells.size() == 2);
  CHECK(verdict_word(*all.rows[0].cells[0]).empty());
  CHECK(verdict_word(*all.rows[0].cells[1]) == "WORSENS");
  CHECK(verdict_word({"b.s.p99", "us", "good", 52000, 0, true}) == "red");
}

TEST_CASE("The night's page has columns for deployments and rows for scenarios", "[report]") {
  const auto page = night_page(night());
  CHECK(contains(page, "Deployments side by side"));
  CHECK(contains(page, "<th scope=\"col\" class=\"n\">corDB</th><th scope=\"col\" class=\"n\">mongoc</th>"));
  CHECK(contains(page, "create.p99, ms"));
  CHECK(contains(page, "5.20 times as bad"));
  CHECK_FALSE(contains(page, "-420"));
  CHECK(contains(page, "9,100 µs"));  // the baseline has its unit
  CHECK_FALSE(contains(page, "nan"));
}

TEST_CASE("Names of outside stay text in a night's Markdown", "[report]") {
  const auto text = night_markdown(night("www.evil.example GH-1 #2"), 60000);
  CHECK(contains(text, "| 52.0 ms | 10.0 ms | 5.20 times as bad |"));
  CHECK_FALSE(contains(text, "www."));
  CHECK_FALSE(contains(text, "GH-1"));
  CHECK_FALSE(contains(text, "#2"));
  CHECK(contains(night_markdown(night(), 60000),
                 "| create.p99, ms | 9.00 (+1.1 %) | 52.0 (5.20 times as bad) WORSENS |"));
}

TEST_CASE("A trip of several times says so, with units", "[report]") {
  TripModel model;
  model.project = "p";
  model.group.id = 3;
  model.group.open = true;
  model.group.trips = {{"corDB.create.p99", "step", -4.2, 10000, 52000, 9, store::TripState::open, {}}};
  model.units = {{"corDB.create.p99", "us"}};
  CHECK(contains(lead_of(model), "corDB.create.p99 is 5.20 times as bad; the culprit is not known yet."));
  CHECK(contains(trip_markdown(model, 60000), "| 10.0 | 52.0 ms | 5.20 times as bad |"));
  model.group.trips.front().change = -0.3;
  CHECK(contains(lead_of(model), "got worse by 30.0 %;"));
}
