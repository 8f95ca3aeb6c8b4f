// Histories and pages of other tools, and telling them apart.
#include "gate/formats/history.hpp"
#include "gate/formats/perf_report.hpp"
#include "gate/formats/prometheus.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::formats;
using nightgate::test::Contains;

namespace {

Instant at(const char* text) { return parse_rfc3339(text).value(); }
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string run(const std::string& date, const std::string& benches, const std::string& tool = "cargo") {
  return R"({"commit":{"id":"c)" + date + R"(","message":"m","timestamp":"2019-11-10T00:06:58+09:00"},"date":)" + date +
         R"(,"tool":")" + tool + R"(","benches":[)" + benches + "]}";
}
std::string bench(const std::string& name, const std::string& value, const std::string& unit) {
  return R"({"name":")" + name + R"(","value":)" + value + R"(,"range":"+/- 2,802","unit":")" + unit + R"("})";
}
std::string data_js(const std::string& runs, const std::string& suite = "Rust Benchmark") {
  return "window.BENCHMARK_DATA = {\n\"lastUpdate\":1574248406871,\"repoUrl\":\"\",\"entries\":{\"" + suite + "\":[" +
         runs + "]}}\n";
}

const std::string kReport =
    R"({"schema":"yuneta-perf-report/1","version":"7.25.5","previous":"7.25.4","date":"2026-09-25",
"machine":{"kind":"laptop","model":"X1","cpu":"i7","cores":4,"threads":8,"cpu_max_ghz":4.8},"build":{"static":true},
"ab":[{"id":"tr2.open","unit":"ms","better":"lower","previous":{"mean":92.5,"sd":1.9,"median":91.7},"current":{"mean":80.8},"n":10,"verdict":"gain","reason":"r","change_pct":-12.6},
{"id":"db.update","unit":"us","better":"lower","previous":{"mean":1},"current":{"mean":2},"n":5}],
"figures":[{"id":"db.update","unit":"us","better":"lower","mean":10.3692,"median":10.361,"min":10.2,"max":10.4,"sd":0.1,"n":5,"headline":true}],"binaries":[]})";

const char* kPage =
    "# HELP http_requests_total The total.\n# TYPE http_requests_total counter\n"
    "http_requests_total{method=\"post\",code=\"200\"} 1027 "
    "1395066363000\nhttp_requests_total{method=\"post\",code=\"400\",} 3\n"
    "msdos_file{path=\"C:\\\\DIR\\\\F.TXT\",error=\"no \\\"x\\\"\\nhere, {a=\\\"b\\\"}\"} 1.5e+09\n\nplain 12.5\r\n  "
    "up 1 # {trace=\"x\"} 5\n"
    "latency_bucket{le=\"+Inf\"} 3\nbad_gauge NaN\nfar +Inf\nhttp_requests_total_created 5\n";

}  // namespace

TEST_CASE("data.js: suites, directions, medians of repeats, units of time", "[formats]") {
  const auto history = parse_data_js(
      data_js(run("1573312140323", bench("fib 10", "254", "ns/iter") + "," + bench("big", "3", "ms")) + "," +
              run("1573312301293", bench("fib 10", "\"300\"", "ns/iter") + "," + bench("big", "2500", "us") + "," +
                                       bench("big", "3500", "us") + "," + bench("big", "0.0026", "s"))));
  REQUIRE(history.has_value());
  REQUIRE(history->rows.size() == 4);
  CHECK(history->rows[0] == HistoryRow{at("2019-11-09T15:09:00.323Z"), "c1573312140323", "", "Rust Benchmark.big", "ms",
                                       Better::lower, 3, ""});
  CHECK(history->rows[1].value == 254);
  CHECK_THAT(history->rows[2].value, Catch::Matchers::WithinRel(2.6, 1e-12));
  CHECK(history->rows[2].unit == "ms");
  CHECK(history->rows[3].value == 300);
  CHECK(history->notes.size() == 1);
  const auto better = [](const std::string& tool, const std::string& unit) {
    return parse_data_js(data_js(run("1573312140323", bench("b", "5", unit), tool)))->rows[0].better;
  };
  CHECK(better("customBiggerIsBetter", "ms") == Better::higher);
  CHECK(better("customSmallerIsBetter", "ops/s") == Better::lower);
  CHECK(better("benchmarkjs", "ops/sec") == Better::higher);
  CHECK(better("pytest", "iter/sec") == Better::higher);
  CHECK(better("jmh", "ops/s") == Better::higher);
  CHECK(better("go", "ns/op") == Better::lower);
  CHECK(better("go", "MB/s") == Better::higher);
  CHECK(better("catch2", "") == Better::lower);
}

TEST_CASE("data.js: refused", "[formats]") {
  const auto one = run("1573312140323", bench("b", "254", "ns/iter"));
  CHECK_THAT(parse_data_js(data_js(one + "," + one)).error().message, Contains("entry 2") && Contains("entry 1"));
  CHECK_THAT(parse_data_js(data_js(run("1573312140323", bench("b", "null", "ns")))).error().text(),
             Contains("not a number above 0") && Contains("$.entries"));
  CHECK_THAT(parse_data_js(data_js(run("1573312140323", bench("b", "\"x\"", "ns")))).error().message,
             Contains("benches[0].value"));
  CHECK_FALSE(parse_data_js(data_js(run("-5", bench("b", "1", "ns")))).has_value());
  CHECK_THAT(parse_data_js(data_js("")).error().message, Contains("no rows"));
  const auto whole = data_js(one);
  for (std::size_t keep = whole.size() - 3; keep > 10; keep -= 7)
    CHECK_FALSE(parse_data_js(whole.substr(0, keep)).has_value());
  CHECK_FALSE(parse_data_js("alert(1);{\"entries\":{}}").has_value());
  CHECK_FALSE(parse_data_js(whole + "x").has_value());
}

TEST_CASE("perf report: typed, and as a night", "[formats]") {
  const auto report = parse_perf_report(kReport);
  REQUIRE(report.has_value());
  CHECK(report->previous == "7.25.4");
  CHECK(report->machine == "X1");
  CHECK(report->machine_class == "i7, 4 cores, 8 threads");
  REQUIRE(report->comparisons.size() == 2);
  CHECK(report->comparisons[0].previous.median == 91.7);
  CHECK(report->comparisons[0].verdict == "gain");
  CHECK(report->comparisons[0].change_pct == -12.6);
  CHECK(report->figures[0].statistics.max == 10.4);
  const auto night = parse_yuneta(kReport);
  REQUIRE(night.has_value());
  REQUIRE(night->rows.size() == 2);
  CHECK(night->rows[0] == HistoryRow{at("2026-09-25T00:00:00Z"), "7.25.5", "X1", "db.update", "us", Better::lower,
                                     10.361, "i7, 4 cores, 8 threads"});
  CHECK(night->rows[1].value == 80.8);
  CHECK_THAT(parse_yuneta(replaced(kReport, "report/1", "report/2")).error().message, Contains("$.schema"));
  CHECK_THAT(parse_yuneta(replaced(kReport, "80.8", "-1")).error().message, Contains("above 0"));
  CHECK_THAT(parse_yuneta(replaced(kReport, "\"better\":\"lower\"", "\"better\":\"less\"")).error().message,
             Contains("$.ab[0].better"));
  CHECK_THAT(parse_yuneta(replaced(kReport, "2026-09-25", "25.9.2026")).error().message, Contains("$.date"));
  CHECK_FALSE(parse_yuneta(kReport.substr(0, kReport.size() - 5)).has_value());
}

TEST_CASE("results of one run become a night when its time is known", "[formats]") {
  HistoryOptions options;
  const std::string bmf = R"({"a":{"latency":{"value":88}}})";
  CHECK_THAT(parse_history(HistoryFormat::bencher, bmf, options).error().message, Contains("give the time"));
  options.night = {at("2026-11-30T00:00:00Z"), "c", "m", "class"};
  const auto night = parse_history(HistoryFormat::bencher, bmf, options);
  REQUIRE(night.has_value());
  CHECK(night->rows ==
        std::vector<HistoryRow>{{at("2026-11-30T00:00:00Z"), "c", "m", "a.latency", "ns", Better::lower, 88, "class"}});
  const std::string google =
      R"({"context":{"date":"2026-11-30T17:06:41+01:00"},"benchmarks":[{"name":"B","real_time":1,"cpu_time":2}]})";
  CHECK(parse_history(HistoryFormat::google_benchmark, google)->rows[0].time == at("2026-11-30T16:06:41Z"));
  CHECK(parse_history(HistoryFormat::google_benchmark, google, options)->rows[0].time == at("2026-11-30T00:00:00Z"));
}

TEST_CASE("formats are told apart by content, then by name", "[formats]") {
  const std::pair<std::string, HistoryFormat> cases[] = {
      {"time,commit,machine,metric,unit,better,value\n", HistoryFormat::csv},
      {"\xEF\xBB\xBFtime,commit,machine", HistoryFormat::csv},
      {"{\"date\": \"2026-08-21\", \"db\": \"x\", \"q\": 1}\n{\"date\"", HistoryFormat::json_lines},
      {data_js(""), HistoryFormat::data_js},
      {"{\n \"a\": {\"latency\": {\"value\": 88.0}}}", HistoryFormat::bencher},
      {"{\n\"context\": {\"date\": \"x\"},\n\"benchmarks\": []}", HistoryFormat::google_benchmark},
      {"{\"context\": {\"date\": \"x\"},\"benchmarks\": []}", HistoryFormat::google_benchmark},
      {"{\n \"results\": [ {\"command\": \"true\"", HistoryFormat::hyperfine},
      {"{\"metrics\":{\"http_reqs\":{\"count\":1,\"rate\":1}}}", HistoryFormat::k6},
      {kReport, HistoryFormat::yuneta}};
  for (const auto& [text, format] : cases) {
    INFO(text.substr(0, 80));
    CHECK(detect_format("file", text) == format);
    CHECK(format_from_name(format_name(format)) == format);
  }
  CHECK(detect_format("a.csv", "x") == HistoryFormat::csv);
  CHECK(detect_format("a.jsonl", "") == HistoryFormat::json_lines);
  CHECK_FALSE(detect_format("a.bin",
                            "\x7f"
                            "ELF")
                  .has_value());
  CHECK_FALSE(detect_format("", "").has_value());
  CHECK_FALSE(format_from_name("xml").has_value());
}

TEST_CASE("Prometheus: samples by name and labels", "[formats]") {
  const auto value = [](const char* selector, SeveralSamples several = SeveralSamples::refuse) {
    const auto parsed = parse_prometheus_selector(selector);
    REQUIRE(parsed.has_value());
    return prometheus_value(kPage, *parsed, several);
  };
  CHECK(value("http_requests_total{code=\"200\"}").value() == 1027);
  CHECK(value("http_requests_total{ method=\"post\", code=\"400\" }").value() == 3);
  CHECK(value("http_requests_total", SeveralSamples::sum).value() == 1030);
  CHECK_THAT(value("http_requests_total").error().message, Contains("2 samples"));
  CHECK(value("plain").value() == 12.5);
  CHECK(value("up").value() == 1);
  CHECK(value("plain{absent=\"\"}").value() == 12.5);
  CHECK(value("msdos_file{path=\"C:\\\\DIR\\\\F.TXT\"}").value() == 1.5e9);
  CHECK(value("latency_bucket{le=\"+Inf\"}").value() == 3);
  CHECK(value("http_requests").error().code == Code::not_found);
  CHECK(value("http_requests_total{code=\"500\"}").error().code == Code::not_found);
  CHECK_THAT(value("bad_gauge").error().message, Contains("finite"));
  CHECK_THAT(value("far").error().message, Contains("finite"));
  const auto samples = parse_prometheus(kPage);
  REQUIRE(samples.has_value());
  CHECK(samples->size() == 9);
  CHECK((*samples)[2].labels.at("error") == "no \"x\"\nhere, {a=\"b\"}");
}

TEST_CASE("Prometheus: what is no page and no selector", "[formats]") {
  for (const char* line : {"a", "a b", "{} 1", "a{b=\"c} 1", "a{b=c} 1", "a{b=\"c\"d=\"e\"} 1", "a{b=\"c\",b=\"d\"} 1",
                           "1a 1", "a 1e999", "a 0x10", "<html>"}) {
    INFO(line);
    const auto page = parse_prometheus(std::string("ok 1\n") + line + "\n");
    REQUIRE_FALSE(page.has_value());
    CHECK_THAT(page.error().message, Contains("line 2"));
  }
  for (const char* text : {"", "{a=\"b\"}", "a{", "a{b=\"c\"} x", "a b", "1a"}) {
    INFO(text);
    CHECK_FALSE(parse_prometheus_selector(text).has_value());
  }
}
