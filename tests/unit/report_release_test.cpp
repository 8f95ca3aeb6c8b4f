// A release: gain, same, price and its reason; the other program's format read and written; trends.
#include "ci/report/release.hpp"

#include "ci/cli/release_view.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::report;

namespace {

std::string document(const std::string& to, const std::string& reason, double rate) {
  const bool unexplained = reason.empty();
  return R"({"schema":"nightgate-release/1","from":"v1","to":")" + to +
         R"(","commit":"abc","digest":"sha256:1","minutes":3,"about":{"project":"p","machine":"bench","started":
    "2026-03-02T01:00:00Z","nightgate":"0.1.0","min_change":0.05},"failures":[],"unexplained":1,"changes":[
    {"metric":"d.s.lag","unit":"ms","better":"lower","outcome":"gain","reason":"","unexplained":false,"change":0.1,"low":0.05,
     "high":0.15,"base":5,"head":4.5,"pairs":4},
    {"metric":"d.s.rate","unit":"1/s","better":"higher","outcome":"price","reason":")" +
         reason + R"(","unexplained":)" + (unexplained ? "true" : "false") +
         R"(,"change":-0.3,"low":-0.35,"high":null,"base":1000,"head":700,"pairs":4}],
    "figures":[{"metric":"d.s.rate","unit":"1/s","better":"higher","gated":true,"median":)" +
         std::to_string(rate) + R"(,"low":600,"high":800,"rounds":5,"values":[700]}]})";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("A price without a reason is shown as unexplained, first and in the lead", "[report]") {
  const auto model = read_release(document("v2", "", 700));
  REQUIRE(model);
  CHECK(model->changes.front().metric == "d.s.rate");
  CHECK(lead_of(*model) == "v2 against v1: 1 gain, 1 price (1 unexplained), 0 the same.");
  const auto page = release_page(*model);
  CHECK(contains(page, "unexplained: nobody gave a reason"));
  CHECK_FALSE(contains(page, "nan"));
  CHECK(contains(release_markdown(*model, 10000), "**unexplained price**"));
}

TEST_CASE("A price with its reason is a price", "[report]") {
  const auto model = read_release(document("v2", "checks <b>every</b> write", 700));
  REQUIRE(model);
  CHECK(lead_of(*model) == "v2 against v1: 1 gain, 1 price, 0 the same.");
  CHECK(contains(release_page(*model), "checks &lt;b&gt;every&lt;/b&gt; write"));
}

TEST_CASE("Trends go over the releases that have the metric, on a scale from zero", "[report]") {
  auto first = read_release(document("v1", "r", 1000)), second = read_release(document("v2", "r", 700));
  REQUIRE(first);
  REQUIRE(second);
  CHECK(trends_of({*second}).empty());
  const auto trends = trends_of({*first, *second});
  REQUIRE(trends.size() == 1);
  CHECK(trends[0].releases == std::vector<std::pair<std::string, double>>{{"v1", 1000}, {"v2", 700}});
  second->trends = trends;
  CHECK(contains(release_page(*second), ">0</text>"));
}

TEST_CASE("The other program's report: what is written is read back the same", "[report]") {
  const auto model = read_release(document("v2", "", 700));
  REQUIRE(model);
  const auto perf = formats::parse_perf_report(formats::print_perf_report(cli::to_perf_report(*model)));
  REQUIRE(perf);
  const auto back = cli::from_perf_report(*perf);
  CHECK(back.to == "v2");
  CHECK(back.from == "v1");
  REQUIRE(back.changes.size() == 2);
  CHECK(back.changes[0].outcome == "price");
  CHECK(back.changes[0].unexplained);
  CHECK(back.changes[0].change == Approx(-0.3));
  CHECK(back.changes[1].outcome == "gain");
  CHECK(back.figures.at(0).median == 700);
  CHECK(back.figures.at(0).rounds == 5);
  CHECK(perf->comparisons.at(1).change_pct.value() == Approx(-10));
  CHECK(contains(release_page(back), "d.s.rate"));
}

TEST_CASE("Documents that are no release are refused", "[report]") {
  CHECK_FALSE(read_release("[]"));
  CHECK_FALSE(read_release(R"({"schema":"nightgate-compare/1"})"));
  CHECK_FALSE(read_release(R"({"schema":"nightgate-release/1"})"));
  CHECK_FALSE(
      read_release(R"({"schema":"nightgate-release/1","about":{},"changes":[{"metric":"m","outcome":"nice"}]})"));
}
