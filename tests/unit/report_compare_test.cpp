// The compare page: what a document says is on it, and a document that lies is refused.
#include <string>

#include "ci/report/compare.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::report;

namespace {

std::string document(const std::string& metric = "default.work.ops", const std::string& more = "") {
  return R"({"schema":"nightgate-compare/1","verdict":"worse","pairs":3,"minutes":1.5,"measurements":8,
    "out_of_budget":false,"aa_complaint":"","void_pairs":["pair 2 of a: it fell over"],"differences":[],
    "arms":[{"commit":"aaaaaaaaaaaa","digest":"x","label":"main"},{"commit":"bbbbbbbbbbbb","digest":"y","label":"topic"}],
    "heads":[{"arm":1,"verdict":"worse","reason":"1 worse, 1 better","trade":true,"geometric_index":81.2,"metrics":[
      {"metric":"default.work.lag","unit":"ms","better":"lower","verdict":"better","reason":"r","change":0.1,
       "interval":[0.05,0.15],"shown_interval":[0.06,0.14],"pairs":3,"base":5,"head":4.5,"index":90,"aa_spread":0.01,
       "every_head_beats_every_base":true,"every_head_loses":false,"chance_of_every":0.05,"base_values":[5,5,5],
       "head_values":[4.5,4.5,4.5]},
      {"metric":")" +
         metric + R"(","unit":"1/s","better":"higher","verdict":"worse","reason":"beyond noise","change":-0.34,
       "interval":[-0.4,null],"shown_interval":[-0.36,-0.32],"pairs":3,"base":1000,"head":660,"index":66,
       "aa_spread":null,"every_head_beats_every_base":false,"every_head_loses":true,"chance_of_every":0.05,
       "base_values":[1000,1001,999],"head_values":[660,661,659]}]}],"metrics":[])" +
         more + "}";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("The compare page says what got worse first, and shows every pair", "[report]") {
  const auto model = read_compare(document());
  REQUIRE(model);
  CHECK(model->heads.at(0).metrics.at(0).metric == "default.work.ops");  // worst first
  CHECK(lead_of(*model) == "topic WORSENS 1 of 2 metrics, most of all default.work.ops (-34.0 %).");
  const auto page = compare_page(*model);
  for (const auto* part :
       {"WORSENS", "IMPROVES", "A trade", "base = 100", "it fell over", "0.660", "every head loses to"})
    CHECK(contains(page, part));
  CHECK_FALSE(contains(page, "nan"));
  CHECK_FALSE(contains(page, "<script"));
}

TEST_CASE("Names in a compare document stay text on the page", "[report]") {
  const auto model = read_compare(document("<script>alert(1)</script>\\\"' | \\u202e x"));
  REQUIRE(model);
  const auto page = compare_page(*model);
  CHECK_FALSE(contains(page, "<script"));
  CHECK(contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; |"));
  CHECK_FALSE(contains(page, "\xE2\x80\xAE"));  // right-to-left override
}

TEST_CASE("A compare that was not allowed to judge says so before its figures", "[report]") {
  auto model = read_compare(document());
  REQUIRE(model);
  model->aa_complaint = "default.work.ops differs by 90 %";
  CHECK(lead_of(*model) == "Base differs from itself on this machine, so nothing was judged.");
  model->aa_complaint.clear();
  model->differences.push_back({"", "", "GET /x", "<b>1</b>", "2", 200, 200});
  CHECK(contains(lead_of(*model), "answer differently"));
  CHECK(contains(compare_page(*model), "&lt;b&gt;1&lt;/b&gt;"));
}

TEST_CASE("Documents that are no compare are refused with the place", "[report]") {
  CHECK_FALSE(read_compare("{}"));
  CHECK_FALSE(read_compare(R"({"schema":"nightgate-nightly/1"})"));
  CHECK_FALSE(read_compare(R"({"schema":"nightgate-compare/1","verdict":"splendid"})"));
  const auto wrong = read_compare(R"({"schema":"nightgate-compare/1","verdict":"same","heads":[{"verdict":"same",
    "metrics":[{"metric":"m","verdict":"same","base_values":["1"]}]}]})");
  REQUIRE_FALSE(wrong);
  CHECK(contains(wrong.error().text(), "base_values"));
}

TEST_CASE("About the run: what the document says is shown, and is needed for nothing", "[report]") {
  const auto model =
      read_compare(document("m", R"(,"about":{"project":"p","machine":"bench","started":"2026-03-02T01:00:00Z",
    "nightgate":"0.1.0","min_change":0.02,"equivalence_requests":4,"references":["main","it's"]})"));
  REQUIRE(model);
  const auto page = compare_page(*model);
  CHECK(contains(page, "4 equivalence requests alike"));
  CHECK(contains(page, "nightgate compare &#39;main&#39; &#39;it&#39;\\&#39;&#39;s&#39;"));
  CHECK(model->min_change == 0.02);
}

TEST_CASE("A ladder's page shows each candidate against base and against the one below", "[report]") {
  const auto whole = document("m", R"(,"ladder":true,"comparisons":3,"rungs":[{"arm":2,"against":1,"verdict":"better",
    "reason":"1 better","metrics":[{"metric":"m","unit":"1/s","better":"higher","verdict":"better","reason":"r",
    "change":0.25,"interval":[0.2,0.3],"pairs":3,"base":660,"head":825,"index":125,"base_values":[660],
    "head_values":[825]}]}])");
  auto text = whole;
  const std::string arm = R"({"commit":"bbbbbbbbbbbb","digest":"y","label":"topic"})";
  text.replace(text.find(arm), arm.size(), arm + R"(,{"commit":"c","digest":"z","label":"second"})");
  const auto heads = text.find(R"("heads":[{"arm":1)");
  REQUIRE(heads != std::string::npos);
  text.insert(heads + 9, R"({"arm":2,"verdict":"worse","reason":"r2","metrics":[{"metric":"m","verdict":"worse",
    "reason":"r","change":-0.2,"index":80,"pairs":3}]},)");
  const auto model = read_compare(text);
  REQUIRE(model);
  CHECK(model->rungs.at(0).name == "second");
  CHECK(model->rungs.at(0).against == "topic");
  CHECK(contains(lead_of(*model), "second against topic IMPROVES 1 of 1 metrics"));
  const auto page = compare_page(*model);
  for (const auto* part : {"The ladder", "stands on", "second against topic", "all 3 comparisons"})
    CHECK(contains(page, part));
}

TEST_CASE("One arm of several that answers differently leaves the others their verdicts", "[report]") {
  auto text = document();
  text.replace(text.find(R"("differences":[])"), 16,
               R"("differences":[{"arm":2,"where":"d.s","request":"GET /x","base":"1","head":"2","base_status":200,
               "head_status":200}])");
  text.insert(text.find(R"("heads":[{"arm":1)") + 9,
              R"({"arm":2,"differs":true,"verdict":"no_verdict","reason":"it answers differently","metrics":[]},)");
  const auto model = read_compare(text);
  REQUIRE(model);
  CHECK(contains(lead_of(*model), "topic WORSENS 1 of 2 metrics"));
  CHECK(contains(lead_of(*model), "it answers differently"));
}
