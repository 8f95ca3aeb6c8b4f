// Output of load programs. The texts have the form of real output of pgbench 15, redis-benchmark 7.0, hyperfine 1.15
// and Google Benchmark 1.7; Go, k6 and Bencher as documented.
#include "gate/formats/load.hpp"

#include "gate/formats/pattern.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::formats;
using nightgate::test::Contains;

namespace {

using Readings = std::vector<Reading>;

Readings good(std::string_view format, std::string_view text, const Picks& picks = {}) {
  auto result = parse_program(format, text, picks);
  INFO((result ? std::string() : result.error().text()));
  REQUIRE(result.has_value());
  return *result;
}
std::string bad(std::string_view format, std::string_view text, const Picks& picks = {}) {
  auto result = parse_program(format, text, picks);
  REQUIRE_FALSE(result.has_value());
  return result.error().text();
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

const std::string kGoogleRow =
    R"({"name":"BM_a/8","run_name":"BM_a/8","run_type":"iteration","repetitions":3,"iterations":100,)"
    R"("real_time":9.0,"cpu_time":5.0,"time_unit":"ns","items_per_second":4e9})";
std::string google(const std::string& rows) {
  return R"({"context":{"date":"2026-11-30T17:06:41+01:00","num_cpus":2},"benchmarks":[)" + rows + "]}";
}

}  // namespace

TEST_CASE("command: metric JSON, plain, described and nested", "[formats]") {
  const auto readings = good("json",
                             "starting\n{\"not\": json}\n"
                             R"({"rate":1200.5,"p99_us":40,"text":"x","size":{"value":7,"unit":"MB"},)"
                             R"("hits":{"value":0.5,"better":"higher"},"deep":{"a":1,"list":[2]}})"
                             "\n\n");
  CHECK(readings == Readings{{"deep.a", 1, "", Better::higher, false},
                             {"hits", 0.5, "", Better::higher},
                             {"p99_us", 40, "us", Better::lower},
                             {"rate", 1200.5, "", Better::higher},
                             {"size", 7, "MB", Better::lower}});
  CHECK_THAT(bad("json", ""), Contains("printed nothing"));
  CHECK_THAT(bad("json", "{\"a\":\"1\"}"), Contains("no result"));
  CHECK_THAT(bad("json", "[1]"), Contains("$"));
  CHECK_THAT(bad("json", "{\"a\":{\"value\":1,\"untit\":\"s\"}}"), Contains("untit"));
  CHECK_THAT(bad("json", "{\"a\":{\"value\":1,\"better\":\"up\"}}"), Contains("$.a.better"));
  CHECK_THAT(bad("json", "{\"a\":1"), Contains("JSON"));
  CHECK_FALSE(parse_program("json", "{\"a\":1e999}").has_value());
  CHECK_THAT(bad("yaml", "a: 1"), Contains("yaml") && Contains("hyperfine"));
}

TEST_CASE("command: JSON pointers", "[formats]") {
  const std::string text = R"({"a":{"b/c":[{"x":5},{"x":7}],"m~n":1.5},"":3,"s":"t"})";
  const auto readings = good("json", text, {{"one", "/a/b~1c/1/x"}, {"two_ms", "/a/m~0n"}, {"three", "/"}});
  CHECK(readings == Readings{{"one", 7, "", Better::higher, false},
                             {"three", 3, "", Better::higher, false},
                             {"two_ms", 1.5, "ms", Better::lower}});
  for (const char* pointer : {"/a/b~1c/2/x", "/a/b~1c/-1/x", "/a/b~1c/01x/x", "/none", "/s", "", "a", "/a~2", "/a~",
                              "/s/t", "/a/b~1c/99999999999999999999"}) {
    INFO(pointer);
    CHECK_THAT(bad("json-pointer", text, {{"m", pointer}}), Contains("'m'"));
  }
  CHECK_THAT(bad("json-pointer", text), Contains("pick"));
}

TEST_CASE("command: regular expressions", "[formats]") {
  const std::string text = "warm 10.5 req/s\r\nrate: 20.25 req/s\nrate: 30.5 req/s\ntotal 1e3\n";
  CHECK(good("regex", text, {{"rate", "^rate: ([0-9.]+) req/s$"}, {"total", "(?<=total )\\S+"}}) ==
        Readings{{"rate", 30.5, "", Better::higher}, {"total", 1000, "", Better::higher, false}});
  CHECK_THAT(bad("regex", text, {{"m", "^nothing"}}), Contains("no line") && Contains("'m'"));
  CHECK_THAT(bad("regex", text, {{"m", "rate: (.*)"}}), Contains("line 2") && Contains("not a number"));
  CHECK_THAT(bad("regex", text, {{"m", "rate: ("}}), Contains("byte") && Contains("'m'"));
  CHECK_THAT(bad("regex", text, {{"m", ""}}), Contains("0 bytes"));
  CHECK_THAT(bad("regex", text, {{"m", "rate(x)?: "}}), Contains("not a number"));
}

TEST_CASE("regular expressions over hostile text end with an error, not with a wait", "[formats]") {
  const auto evil = Pattern::compile("^(a+)+$");
  REQUIRE(evil.has_value());
  const auto hung = evil->count_lines(std::string(60, 'a') + "!\n");
  REQUIRE_FALSE(hung.has_value());
  CHECK_THAT(hung.error().message, Contains("line 1") && Contains("backtracking"));
  CHECK(evil->count_lines("aaaa\nb\naa\n").value() == 2);
  CHECK_FALSE(evil->count_lines(std::string(Pattern::kMaxLine + 1, 'a')).has_value());
  CHECK_FALSE(evil->count_lines(std::string(Pattern::kMaxText + 1, '\n')).has_value());
  CHECK(Pattern::compile("x.*y")->count_lines(std::string(Pattern::kMaxLine - 2, 'x') + "y").value() ==
        1);  // an honest one fits
  CHECK_FALSE(Pattern::compile(std::string(5000, 'a')).has_value());
  CHECK_FALSE(Pattern::compile(std::string(60, '(') + std::string(60, ')')).has_value());
  CHECK(Pattern::compile("a\\Kb|(?=a)")->numbers("ab").has_value() == false);
}

TEST_CASE("Google Benchmark: rows, repetitions, aggregates, errors", "[formats]") {
  CHECK(good("google-benchmark", google(kGoogleRow)) == Readings{{"BM_a/8", 9, "ns", Better::lower},
                                                                 {"BM_a/8.cpu", 5, "ns", Better::lower},
                                                                 {"BM_a/8.items", 4e9, "items/s", Better::higher}});
  const auto repeated =
      google(kGoogleRow + "," + replaced(kGoogleRow, "9.0", "1.0") + "," + replaced(kGoogleRow, "9.0", "4.0"));
  CHECK(good("google-benchmark", repeated)[0].value == 4);
  const auto aggregate = [&](const std::string& name, const std::string& value) {
    return replaced(replaced(replaced(kGoogleRow, "BM_a/8", "BM_a/8_" + name), "iteration",
                             "aggregate\",\"aggregate_name\":\"" + name),
                    "9.0", value);
  };
  const auto both = good("google-benchmark", google(kGoogleRow + "," + aggregate("mean", "7") + "," +
                                                    aggregate("median", "6") + "," + aggregate("cv", "0.1")));
  REQUIRE(both.size() == 3);
  CHECK(both[0] == Reading{"BM_a/8", 6, "ns", Better::lower});
  CHECK(good("google-benchmark", google(aggregate("median", "6")))[0].name == "BM_a/8");
  CHECK(
      good(
          "google-benchmark",
          google(
              R"({"name":"BM_x_median","real_time":3,"cpu_time":2,"time_unit":"ms"},{"name":"BM_x_mean","real_time":9,"cpu_time":2})"))
          [0] == Reading{"BM_x", 3, "ms", Better::lower});
  CHECK_THAT(
      bad("google-benchmark", google(kGoogleRow + R"(,{"name":"BM_e","error_occurred":true,"error_message":"boom"})")),
      Contains("boom"));
  CHECK_THAT(bad("google-benchmark", google("")), Contains("no result"));
  CHECK_THAT(bad("google-benchmark", google(replaced(kGoogleRow, "9.0", "\"9\""))),
             Contains("$.benchmarks[0].real_time"));
  CHECK(google_benchmark_time(google(kGoogleRow)).value() == parse_rfc3339("2026-11-30T16:06:41Z").value());
  CHECK_FALSE(google_benchmark_time("{}").has_value());
}

TEST_CASE("hyperfine: medians, and a failing command", "[formats]") {
  const std::string text =
      R"({"results":[{"command":"sleep 0.01","mean":0.0125,"stddev":0.002,"median":0.013,"user":0.001,"system":0.0,)"
      R"("min":0.009,"max":0.014,"times":[0.013],"exit_codes":[0,0]}]})";
  CHECK(good("hyperfine", text) == Readings{{"sleep 0.01", 0.013, "s", Better::lower},
                                            {"sleep 0.01.user", 0.001, "s", Better::lower},
                                            {"sleep 0.01.system", 0, "s", Better::lower}});
  CHECK_THAT(bad("hyperfine", replaced(text, "[0,0]", "[0,1]")), Contains("'sleep 0.01'") && Contains("1"));
  CHECK_THAT(bad("hyperfine", replaced(text, "[0,0]", "[0,null]")), Contains("sleep"));
  CHECK_THAT(bad("hyperfine", R"({"results":[]})"), Contains("no result"));
  CHECK_THAT(bad("hyperfine", replaced(text, "\"median\":0.013,", "")), Contains("median"));
}

TEST_CASE("k6: both forms of summary", "[formats]") {
  const std::string wrapped =
      R"k6({"state":{"testRunDurationMs":1000},"metrics":{)k6"
      R"k6("http_req_duration":{"type":"trend","contains":"time",)k6"
      R"k6("values":{"avg":2,"min":1,"med":1.5,"max":9,"p(90)":3,"p(95)":4},"thresholds":{"p(95)<5":{"ok":true}}},)k6"
      R"k6("http_req_blocked":{"type":"trend","contains":"time","values":{"avg":0,"med":0,"max":0}},)k6"
      R"k6("http_reqs":{"type":"counter","contains":"default","values":{"count":100,"rate":50.5}},)k6"
      R"k6("http_req_failed":{"type":"rate","contains":"default","values":{"rate":0,"passes":0,"fails":100}},)k6"
      R"k6("vus":{"type":"gauge","contains":"default","values":{"value":1,"min":1,"max":1}}}})k6";
  const std::string flat =
      R"k6({"root_group":{},"metrics":{"http_req_duration":{"avg":2,"min":1,"med":1.5,"max":9,"p(90)":3,"p(95)":4},)k6"
      R"k6("http_reqs":{"count":100,"rate":50.5},"http_req_failed":{"passes":0,"fails":100,"value":0},)k6"
      R"k6("vus":{"value":1,"min":1,"max":1}}})k6";
  const Readings expected = {{"http_req_duration.avg", 2, "ms", Better::lower},
                             {"http_req_duration.max", 9, "ms", Better::lower},
                             {"http_req_duration.med", 1.5, "ms", Better::lower},
                             {"http_req_duration.p(90)", 3, "ms", Better::lower},
                             {"http_req_duration.p(95)", 4, "ms", Better::lower},
                             {"http_reqs.rate", 50.5, "requests/s", Better::higher},
                             {"requests", 100, "", Better::higher}};
  CHECK(good("k6", wrapped) == expected);
  CHECK(good("k6", flat) == expected);
  CHECK_THAT(bad("k6", replaced(wrapped, "\"rate\":0,", "\"rate\":0.125,")), Contains("12.5 %"));
  CHECK_THAT(bad("k6", R"({"metrics":{}})"), Contains("no result"));
}

TEST_CASE("Bencher: benchmark and measure", "[formats]") {
  CHECK(
      good(
          "bencher",
          R"({"a b":{"latency":{"value":88,"lower_value":87},"throughput":{"value":5.5}},"bin-bencher-ignore":{"file-size":{"value":42},"custom_ms":{"value":1}}})") ==
      Readings{{"a b.latency", 88, "ns", Better::lower},
               {"a b.throughput", 5.5, "operations/s", Better::higher},
               {"bin.custom_ms", 1, "ms", Better::lower},
               {"bin.file-size", 42, "bytes", Better::lower}});
  CHECK_THAT(bad("bencher", R"({"a":{"latency":{"lower_value":1}}})"), Contains("$.a.latency") && Contains("value"));
  CHECK_THAT(bad("bencher", R"({"a":5})"), Contains("$.a"));
}

TEST_CASE("pgbench: this and the older form, failed transactions", "[formats]") {
  const std::string text =
      "pgbench (15.20)\nduration: 1 s\nnumber of transactions actually processed: 307\nnumber of failed "
      "transactions: 0 (0.000%)\n"
      "latency average = 6.571 ms\nlatency stddev = 5.5 ms\ninitial connection time = 6.5 ms\ntps = 304.380803 "
      "(without initial connection time)\n";
  CHECK(good("pgbench", text) == Readings{{"tps", 304.380803, "transactions/s", Better::higher},
                                          {"latency", 6.571, "ms", Better::lower},
                                          {"latency_stddev", 5.5, "ms", Better::lower}});
  CHECK(good("pgbench",
             "tps = 10.5 (including connections establishing)\ntps = 11.5 (excluding connections establishing)\n")[0]
            .value == 11.5);
  CHECK_THAT(bad("pgbench", replaced(text, "failed transactions: 0", "failed transactions: 7")),
             Contains("7 transactions failed"));
  CHECK_THAT(bad("pgbench", "pgbench: error: connection refused\n"), Contains("no result"));
}

TEST_CASE("redis-benchmark: with and without the header line", "[formats]") {
  const std::string head =
      "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_"
      "ms\",\"max_latency_ms\"\n";
  CHECK(good("redis-benchmark",
             head + "\"SET\",\"20000.00\",\"1.496\",\"0.048\",\"0.375\",\"7.567\",\"8.023\",\"19.599\"\n") ==
        Readings{{"SET.rps", 20000, "requests/s", Better::higher},
                 {"SET.p50", 0.375, "ms", Better::lower},
                 {"SET.p95", 7.567, "ms", Better::lower},
                 {"SET.p99", 8.023, "ms", Better::lower},
                 {"SET.max", 19.599, "ms", Better::lower}});
  CHECK(good("redis-benchmark", "\"GET\",\"100.5\"\n") == Readings{{"GET.rps", 100.5, "requests/s", Better::higher}});
  CHECK_THAT(bad("redis-benchmark", head + "\"SET\",\"20000.00\"\n"), Contains("2 fields"));
  CHECK_THAT(bad("redis-benchmark", "\"SET\",\"nan\"\n"), Contains("not a number"));
  CHECK_THAT(bad("redis-benchmark", "Could not connect to Redis\n"), Contains("no result"));
}

TEST_CASE("go test -bench: units, repetitions, GOMAXPROCS, failures", "[formats]") {
  const std::string text =
      "goos: linux\nBenchmarkA-8   \t 1000\t 120 ns/op\t 16 B/op\t 2 allocs/op\nBenchmarkA-8 1000 100 ns/op 16 B/op "
      "2 allocs/op\n"
      "BenchmarkA-8 1000 110 ns/op 16 B/op 2 allocs/op\nBenchmarkB/size-4-8 10 5.5 ns/op 80.25 MB/s\nPASS\nok  "
      "\tx\t1.2s\n";
  CHECK(good("go-benchmark", text) == Readings{{"BenchmarkA.ns/op", 110, "ns/op", Better::lower},
                                               {"BenchmarkA.B/op", 16, "B/op", Better::lower},
                                               {"BenchmarkA.allocs/op", 2, "allocs/op", Better::lower},
                                               {"BenchmarkB/size-4.ns/op", 5.5, "ns/op", Better::lower},
                                               {"BenchmarkB/size-4.MB/s", 80.25, "MB/s", Better::higher}});
  CHECK(good("go-benchmark", "BenchmarkA-8 1 2 ns/op\nBenchmarkA-4 1 3 ns/op\n").size() == 2);
  CHECK_THAT(bad("go-benchmark", text + "FAIL\tx\t0.1s\n"), Contains("failed"));
  CHECK_THAT(bad("go-benchmark", "BenchmarkA-8 is running\n"), Contains("no result"));
}
