// Results read back as hostile text, and their Markdown.
#include <nlohmann/json.hpp>

#include "ci/report/result.hpp"
#include "gate/base/json.hpp"
#include "tests/support/catch.hpp"

namespace nightgate::test {
namespace {

using nlohmann::json;
using report::Overall;

json metric(const std::string& name, const std::string& verdict, double change) {
  return {{"metric", name},
          {"unit", "1/s"},
          {"better", "higher"},
          {"verdict", verdict},
          {"reason", "because"},
          {"change", change},
          {"interval", {nullptr, nullptr}},
          {"shown_interval", {change - 0.01, change + 0.01}},
          {"pairs", 8},
          {"base", 1000.0},
          {"head", 1000 * (1 + change)},
          {"index", 100 * (1 + change)}};
}
json compare(const std::string& verdict, const std::vector<json>& metrics) {
  return {{"schema", "nightgate-compare/1"},
          {"verdict", verdict},
          {"arms", {{{"commit", "0123456789abcdef"}, {"label", "main"}}, {{"commit", ""}, {"label", "topic"}}}},
          {"heads", {{{"arm", 1}, {"verdict", verdict}, {"reason", ""}, {"trade", false}, {"metrics", metrics}}}},
          {"pairs", 8},
          {"minutes", 3.5},
          {"measurements", 18},
          {"aa_complaint", ""},
          {"differences", json::array()},
          {"void_pairs", json::array()}};
}
report::JobResult read(const json& document) {
  auto result = report::read_result(dump_json(document));
  INFO((result ? std::string() : result.error().text()));
  REQUIRE(result);
  return *result;
}
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

}  // namespace

TEST_CASE("a compare's verdict and exit code come from its rows", "[github]") {
  const auto worse = read(compare("worse", {metric("a", "same", 0), metric("b", "worse", -0.3)}));
  CHECK(worse.overall == Overall::regression);
  CHECK(worse.exit_code == 1);
  CHECK(worse.regressions == 1);
  CHECK(worse.sections.at(0).rows.at(0).metric == "b");
  CHECK(read(compare("same", {metric("a", "same", 0)})).overall == Overall::pass);
  CHECK(read(compare("better", {metric("a", "better", 0.2)})).overall == Overall::improvement);
  const auto open = read(compare("no_verdict", {metric("a", "no_verdict", 0)}));
  CHECK(open.overall == Overall::no_verdict);
  CHECK(open.exit_code == 4);
  // The word on the whole can't hide a row.
  CHECK(read(compare("same", {metric("b", "worse", -0.3)})).exit_code == 1);
  CHECK(read(compare("same", {})).exit_code == 4);
}

TEST_CASE("base that differs from itself is an error, different answers are no verdict", "[github]") {
  auto document = compare("worse", {metric("b", "worse", -0.3)});
  document["differences"] = {{{"request", "GET /x"}, {"base_status", 200}, {"head_status", 500}}};
  CHECK(read(document).exit_code == 4);
  CHECK(read(document).regressions == 0);
  document["aa_complaint"] = "b differs by 40 %";
  CHECK(read(document).exit_code == 3);
  CHECK(read(document).overall == Overall::error);
}

TEST_CASE("a compare in Markdown: words, index, bars, and absolute values in a fold", "[github]") {
  const auto text = report::result_markdown(
      read(compare("worse", {metric("a", "worse", -0.34), metric("b", "better", 0.5), metric("c", "same", 0)})), 10000);
  INFO(text);
  CHECK_THAT(
      text,
      Contains(
          "| a | **WORSENS** | -34.0 % (-35.0 % to -33.0 %) | 66.0 | \u2588\u2588\u2588\u2588\u2588\u2588\u2588 |"));
  CHECK_THAT(text, Contains("| b | IMPROVES |"));
  CHECK_THAT(text, Contains("| c | same |"));
  const auto fold = text.find("<details><summary>Absolute values</summary>");
  REQUIRE(fold != std::string::npos);
  CHECK(text.find("| a | 1,000 1/s | 660 1/s |") > fold);
  CHECK(text.find("</details>") > fold);
  CHECK(text.find("1,000 1/s") > fold);
}

TEST_CASE("a ladder's rungs are sections of their own, a metric that is worse twice is one regression", "[github]") {
  auto document = compare("worse", {metric("a", "worse", -0.3)});
  document["ladder"] = true;
  document["arms"].push_back({{"commit", ""}, {"label", "second"}});
  auto second = document["heads"][0];
  second["arm"] = 2;
  document["heads"].push_back(second);
  second["against"] = 1;
  second["metrics"] = {metric("a", "better", 0.1)};
  document["rungs"] = {second};
  const auto ladder = read(document);
  CHECK(ladder.exit_code == 1);
  CHECK(ladder.regressions == 1);
  REQUIRE(ladder.sections.size() == 3);
  CHECK(ladder.sections[2].title == "second against topic, the one below");
  CHECK(ladder.sections[1].title == "second against main");
  // A rung without a verdict is no pass.
  document["heads"] = {document["heads"][0]};
  document["heads"][0]["metrics"] = {metric("a", "same", 0)};
  document["rungs"][0]["metrics"] = {metric("a", "no_verdict", 0)};
  document["verdict"] = "no_verdict";
  CHECK(read(document).exit_code == 4);
}

TEST_CASE("one target twice is a pass, and said", "[github]") {
  auto document = compare("same", {});
  for (auto& arm : document["arms"]) arm["digest"] = "sha256:1";
  CHECK(read(document).exit_code == 0);
  CHECK_THAT(read(document).sentence, Contains("same target"));
  document["arms"][1]["digest"] = "sha256:2";
  CHECK(read(document).exit_code == 4);
}

TEST_CASE("one arm of several that answers differently does not hide what another is", "[github]") {
  auto document = compare("worse", {metric("b", "worse", -0.3)});
  document["differences"] = {{{"arm", 2}, {"request", "GET /x"}, {"base_status", 200}, {"head_status", 500}}};
  document["heads"].push_back({{"arm", 2}, {"verdict", "no_verdict"}, {"reason", "differs"}, {"differs", true}});
  CHECK(read(document).exit_code == 1);
  document["heads"][0]["metrics"] = {metric("b", "same", 0)};
  document["verdict"] = "no_verdict";
  CHECK(read(document).exit_code == 4);
  CHECK(read(document).overall == Overall::no_verdict);
}

TEST_CASE("a bisect's culprit", "[github]") {
  json document = {
      {"schema", "nightgate-bisect/1"},
      {"outcome", "culprit"},
      {"metric", "d.s.rate"},
      {"finished", true},
      {"why", ""},
      {"culprit", {{"commit", "5d2f01c5d2f01c"}, {"pr", 12}, {"title", "Slow it"}, {"author", "A"}}},
      {"probability", 0.993},
      {"change", -0.35},
      {"measurements", 14},
      {"minutes", 9},
      {"ladder", {{{"commit", "5d2f01c5d2f01c"}, {"change", -0.35}, {"interval", {-0.4, -0.3}}, {"starts", 4}}}}};
  const auto named = read(document);
  CHECK(named.exit_code == 0);
  CHECK(named.culprits.at(0).commit == "5d2f01c5d2f01c");
  CHECK_THAT(named.sentence, Contains("#12 Slow it by A, 99.3 % sure"));
  CHECK_THAT(report::result_markdown(named, 10000), Contains("**culprit**"));
  document["finished"] = false;
  CHECK(read(document).exit_code == 4);
  document["finished"] = true;
  document["outcome"] = "not_reproduced";
  CHECK(read(document).exit_code == 4);
  document["culprit"]["commit"] = "$(rm -rf)\n";
  document["outcome"] = "culprit";
  CHECK(read(document).culprits.at(0).commit.empty());
}

TEST_CASE("a night's verdict", "[github]") {
  json document = {
      {"schema", "nightgate-nightly/1"},
      {"night", 41},
      {"verdict", "good"},
      {"exit_code", 0},
      {"message", ""},
      {"target", {{"commit", "5d2f01c5d2f01c"}, {"label", "#3"}}},
      {"machine", {{"name", "bench"}}},
      {"metrics", {{{"metric", "a"}, {"verdict", "good"}, {"value", 9.0}, {"baseline", nullptr}, {"red", false}}}}};
  CHECK(read(document).exit_code == 0);
  document["verdict"] = "no_verdict";
  document["exit_code"] = 3;
  CHECK(read(document).exit_code == 3);
  document["exit_code"] = 4;
  CHECK(read(document).exit_code == 4);
  document["verdict"] = "nothing_to_do";
  CHECK(read(document).exit_code == 0);
  document["open_trips"] = {{{"id", 3},
                             {"first", 40},
                             {"metrics", {{{"metric", "a"}}, {{"metric", "b"}}}},
                             {"answer", {{"culprit", {{"commit", "abcdef1"}, {"title", "t"}, {"author", "x"}}}}}}};
  const auto red = read(document);
  CHECK(red.exit_code == 1);
  CHECK(red.regressions == 2);
  CHECK(red.culprits.at(0).commit == "abcdef1");
}

TEST_CASE("what is no result is refused", "[github]") {
  const auto refused = [](const std::string& text) {
    const auto result = report::read_result(text);
    return !result && result.error().code == Code::bad_data;
  };
  CHECK(refused(""));
  CHECK(refused("[]"));
  CHECK(refused("{}"));
  CHECK(refused(R"({"schema":"nightgate-compare/2"})"));
  CHECK(refused(R"({"schema":"nightgate-compare/1"})"));
  CHECK(refused(std::string(100, '[') + std::string(100, ']')));
  CHECK(refused(R"({"schema":"nightgate-compare/1","verdict":"splendid"})"));
  auto document = compare("worse", {metric("b", "worse", -0.3)});
  document["heads"][0]["metrics"][0]["change"] = "-30 %";
  CHECK(refused(dump_json(document)));
  document["heads"] = "none";
  CHECK(refused(dump_json(document)));
  CHECK(refused("{\"schema\":\"nightgate-compare/1\",\"x\":\"" + std::string(report::result_bytes, 'x') + "\"}"));
}

TEST_CASE("an error document and a bare exit code", "[github]") {
  const auto error =
      read({{"schema", "nightgate-error/1"}, {"verb", "compare"}, {"error", "no engine"}, {"exit_code", 3}});
  CHECK(error.exit_code == 3);
  CHECK_THAT(report::result_markdown(error, 10000), Contains("no engine"));
  CHECK(report::result_of_exit(137).exit_code == 5);
  CHECK(report::result_of_exit(1).overall == Overall::regression);
}

TEST_CASE("exit codes are joined by the table's order", "[github]") {
  CHECK(report::joined_exit_code(0, 0) == 0);
  CHECK(report::joined_exit_code(0, 1) == 1);
  CHECK(report::joined_exit_code(3, 1) == 1);
  CHECK(report::joined_exit_code(4, 3) == 3);
  CHECK(report::joined_exit_code(137, 1) == 5);
  CHECK(report::joined_exit_code(2, 5) == 2);
  auto result = read(compare("same", {metric("a", "same", 0)}));
  report::take_exit_code(result, 3);
  CHECK(result.overall == Overall::error);
  report::take_exit_code(result, 0);
  CHECK(result.exit_code == 3);
}

TEST_CASE("nothing from outside comes alive in Markdown", "[github]") {
  const std::string evil =
      "<img src=x onerror=1> @ada #12 [x](http://e.example) `code` | *b* www.e.example GH-1 \n# h\n::error::x";
  auto document = compare("worse", {metric(evil, "worse", -0.3)});
  document["arms"][1]["label"] = evil;
  document["heads"][0]["metrics"][0]["unit"] = "|x|";
  document["void_pairs"] = {evil};
  const auto text = report::result_markdown(read(document), 100000);
  INFO(text);
  for (const char* part : {"<img", "@ada", "#12", "](http", " `code", "www.", "GH-1", "\n# h", "\n::error", "| *b*"}) {
    CHECK(text.find(part) == std::string::npos);
  }
  // Every line of the table has as many cells as its head.
  for (const auto& line :
       {text.substr(text.find("| metric"), text.find('\n', text.find("| metric")) - text.find("| metric"))}) {
    CHECK(count(line, "|") == 8);
  }
  const auto row = text.substr(text.find("| &lt;img"));
  CHECK(count(row.substr(0, row.find('\n')), "|") - count(row.substr(0, row.find('\n')), "\\|") == 8);
}

TEST_CASE("whole rows are dropped and counted, the worst ones kept", "[github]") {
  std::vector<json> metrics;
  for (int i = 0; i < 3000; ++i)
    metrics.push_back(metric("deployment.scenario_" + std::to_string(i) + ".rate", "same", 0));
  metrics.push_back(metric("the.worst", "worse", -0.5));
  auto document = compare("worse", metrics);
  document["void_pairs"] = {"the broker died"};
  const auto result = read(document);
  for (const std::size_t most : {2000U, 60000U, 900U << 10U}) {
    const auto text = report::result_markdown(result, most, "FOOTER");
    CHECK(text.size() <= most);
    CHECK(text.find("the.worst") != std::string::npos);
    CHECK(text.find("the broker died") != std::string::npos);
    CHECK_THAT(text, Catch::Matchers::EndsWith("\nFOOTER\n"));
    const auto rows = count(text.substr(0, text.find("<details>")), "\n| ") - 1;
    CHECK((rows == 3001) == (text.find("more rows are") == std::string::npos));
    if (rows < 3001) CHECK_THAT(text, Contains(std::to_string(3001 - rows) + " more rows are in the full report"));
  }
  CHECK(report::result_markdown(result, 0).empty());
  CHECK(report::result_markdown(result, 10, "FOOTER").size() <= 10);
}

}  // namespace nightgate::test
