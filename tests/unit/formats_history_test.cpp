// Our own CSV and JSON lines: what is taken, what is refused and where, and that both are inverses of their printers.
#include "gate/formats/history.hpp"

#include <fstream>
#include <random>
#include <sstream>

#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::formats;
using nightgate::test::Contains;

namespace {

const std::string kHead = "time,commit,machine,metric,unit,better,value\n";

Instant at(const char* text) { return parse_rfc3339(text).value(); }

std::string refusal(const Result<History>& result) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Code::bad_data);
  return result.error().message;
}
std::string csv_refusal(const std::string& body) { return refusal(parse_csv(kHead + body)); }

std::vector<HistoryRow> some_rows() {
  std::mt19937_64 random(7);
  std::vector<HistoryRow> rows;
  const char* metrics[] = {"d.create",           "d.a.b",       "plain", ".odd", "odd.", "d.date", "values",
                           "x,\"y\".\xC3\xA9 z", "e.line\nfeed"};
  for (int night = 0; night < 5; ++night) {
    for (const char* metric : metrics) {
      HistoryRow row;
      row.time = at("2026-01-01T00:00:00Z") + std::chrono::hours{24 * night} + Micros{night == 3 ? 123456 : 0};
      row.commit = night == 1 ? "" : "c" + std::to_string(night);
      row.machine = night % 2 == 0 ? "" : "m \"1\"";
      row.metric = metric;
      row.unit = metric[0] == 'd' ? "ms" : "";
      row.better = metric[0] == 'e' || metric[0] == 'd' ? Better::lower : Better::higher;
      row.value =
          std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random), static_cast<int>(random() % 400) - 200);
      row.machine_class = night == 2 ? "" : "EPYC, 4 cores";
      rows.push_back(row);
    }
  }
  sort_rows(rows);
  return rows;
}

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("CSV rows come back typed and ordered", "[formats]") {
  const auto history = parse_csv(kHead +
                                 "2026-01-02T00:00:00Z,c2,m,d.b,requests/s,higher,10.5\n"
                                 "2026-01-02T01:00:00+01:00,c2,m,d.a,\"m,s\",lower,1e-3\r\n");
  REQUIRE(history.has_value());
  REQUIRE(history->rows.size() == 2);
  CHECK(history->rows[0] == HistoryRow{at("2026-01-02T00:00:00Z"), "c2", "m", "d.a", "m,s", Better::lower, 0.001, ""});
  CHECK(history->rows[1].metric == "d.b");
  CHECK(history->rows[1].better == Better::higher);
  CHECK(history->notes.empty());
}

TEST_CASE("Printing and parsing are inverses, CSV and JSON lines", "[formats]") {
  const auto rows = some_rows();
  const auto csv = parse_csv(print_csv(rows));
  REQUIRE(csv.has_value());
  CHECK(csv->rows == rows);
  CHECK(csv->notes.empty());
  const auto lines = parse_json_lines(print_json_lines(rows));
  INFO(print_json_lines(rows).substr(0, 600));
  REQUIRE(lines.has_value());
  CHECK(lines->rows == rows);
  CHECK(lines->notes.empty());
}

TEST_CASE("CSV with a class column, quotes and line feeds inside quotes", "[formats]") {
  const auto history = parse_csv(
      "time,commit,machine,metric,unit,better,value,class\n"
      "2026-01-02T00:00:00Z,c,m,\"a \"\"b\"\"\nc\",u,higher,1,cpu x\n\n"
      "2026-01-03T00:00:00Z,c,m,z,u,higher,2,\n");
  REQUIRE(history.has_value());
  CHECK(history->rows[0].metric == "a \"b\"\nc");
  CHECK(history->rows[0].machine_class == "cpu x");
  CHECK(history->rows[1].machine_class.empty());
}

TEST_CASE("CSV refuses what cannot be judged, with the line", "[formats]") {
  const std::string good = "2026-01-02T00:00:00Z,c,m,d.a,u,higher,10\n";
  CHECK_THAT(refusal(parse_csv("")), Contains("empty"));
  CHECK_THAT(refusal(parse_csv("\n \n")), Contains("empty"));
  CHECK_THAT(csv_refusal(""), Contains("no rows"));
  CHECK_THAT(refusal(parse_csv("time,commit,metric\nx\n")), Contains("line 1") && Contains("header"));
  CHECK_THAT(csv_refusal(good + good), Contains("line 3") && Contains("line 2") && Contains("second value"));
  for (const char* value : {"nan", "inf", "-inf", "0", "-1", "0.0"}) {
    INFO(value);
    CHECK_THAT(csv_refusal(good + "2026-01-03T00:00:00Z,c,m,d.a,u,higher," + value + "\n"),
               Contains("line 3") && Contains("not a number above 0"));
  }
  for (const char* value : {"", "ten", "1e999", "0x10", "1 ", "+1", "1,5"}) {
    INFO(value);
    CHECK_THAT(csv_refusal(good + "2026-01-03T00:00:00Z,c,m,d.a,u,higher," + value + "\n"), Contains("line 3"));
  }
  CHECK_THAT(csv_refusal("2026-13-02T00:00:00Z,c,m,d.a,u,higher,10\n"), Contains("line 2") && Contains("RFC 3339"));
  CHECK_THAT(csv_refusal("2026-02-30T00:00:00Z,c,m,d.a,u,higher,10\n"), Contains("line 2"));
  CHECK_THAT(csv_refusal("1969-12-31T00:00:00Z,c,m,d.a,u,higher,10\n"), Contains("line 2") && Contains("1970"));
  CHECK_THAT(csv_refusal("2026-01-02T00:00:00Z,c,m,d.a,u,more,10\n"),
             Contains("line 2") && Contains("higher or lower"));
  CHECK_THAT(csv_refusal("2026-01-02T00:00:00Z,c,m,,u,higher,10\n"), Contains("no name"));
  CHECK_THAT(csv_refusal("2026-01-02T00:00:00Z,c,m,d\x1b[31m,u,higher,10\n"),
             Contains("line 2") && Contains("control"));
  CHECK_THAT(csv_refusal("2026-01-02T00:00:00Z,c,m,d\xff,u,higher,10\n"), Contains("line 2") && Contains("UTF-8"));
  CHECK_THAT(csv_refusal(good + "2026-01-03T00:00:00Z,c,m,d.a,u,lower,10\n"), Contains("line 3") && Contains("line 2"));
  CHECK_THAT(csv_refusal(good + "2026-01-03T00:00:00Z,c,m,d.a,ms,higher,10\n"), Contains("another name"));
  HistoryOptions small;
  small.bytes = 50;
  CHECK_THAT(refusal(parse_csv(kHead + good, small)), Contains("50 allowed"));
}

TEST_CASE("Complaints about broken bytes are text themselves", "[formats]") {  // found by fuzzing
  for (const char* field : {"2026-01-\xD0\xCE\xAB:00.5+01:00", "\xFF", "2026-01-02T00:00:0\xFFZ"}) {
    const auto result = parse_csv(kHead + field + ",c,m,d.a,u,higher,10\n");
    REQUIRE_FALSE(result.has_value());
    CHECK(is_utf8(result.error().text()));
  }
}

TEST_CASE("A CSV that is cut off is refused or flagged at every byte", "[formats]") {
  const std::string text =
      kHead + "2026-01-02T00:00:00Z,c,m,\"d.a\",u,higher,10957\n" + "2026-01-03T00:00:00Z,c,m,\"d.a\",u,higher,10958\n";
  REQUIRE(parse_csv(text)->notes.empty());
  int refused = 0;
  for (std::size_t keep = text.size() - 1; keep > text.size() - 45; --keep) {
    const auto cut = parse_csv(text.substr(0, keep));
    if (!cut) {
      ++refused;
      continue;
    }
    INFO(text.substr(0, keep));
    const bool flagged = !cut->notes.empty() && cut->notes[0].line == 3;
    CHECK((flagged || cut->rows.size() == 1));
  }
  CHECK(refused > 35);
  CHECK_THAT(csv_refusal("2026-01-02T00:00:00Z,c,m,\"d.a"), Contains("line 2") && Contains("cut off"));
  CHECK_THAT(csv_refusal("2026-01-02T00:00:00Z,c,m,d.a,u,hig"), Contains("line 2") && Contains("cut off"));
}

TEST_CASE("Dates out of order are sorted and flagged; duplicates among them still found", "[formats]") {
  const std::string body =
      "2026-01-03T00:00:00Z,c,m,d.a,u,higher,3\n2026-01-02T00:00:00Z,c,m,d.a,u,higher,2\n"
      "2026-01-01T00:00:00Z,c,m,d.a,u,higher,1\n2026-01-01T00:00:00Z,c,m,d.b,u,higher,1\n";
  const auto history = parse_csv(kHead + body);
  REQUIRE(history.has_value());
  CHECK(history->rows[0].value == 1);
  CHECK(history->rows[3].value == 3);
  REQUIRE(history->notes.size() == 1);
  CHECK(history->notes[0].line == 3);
  CHECK_THAT(csv_refusal(body + "2026-01-02T00:00:00Z,x,m,d.a,u,higher,9\n"), Contains("line 6") && Contains("line 3"));
}

TEST_CASE("Bad values can be left out, each flagged", "[formats]") {
  HistoryOptions options;
  options.bad_values = BadValues::leave_out;
  const auto history =
      parse_csv(kHead +
                    "2026-01-03T00:00:00Z,c,m,d.a,u,higher,0\n2026-01-03T00:00:00Z,c,m,d.b,u,higher,nan\n"
                    "2026-01-03T00:00:00Z,c,m,d.c,u,higher,5\n",
                options);
  REQUIRE(history.has_value());
  CHECK(history->rows.size() == 1);
  REQUIRE(history->notes.size() == 2);
  CHECK(history->notes[1].line == 3);
}

TEST_CASE("JSON lines: prefix, units, direction from names, known fields", "[formats]") {
  const auto history = parse_json_lines(
      R"({"date":"2026-08-21T11:29:03Z","db":"corDB","query_c50":10957,"query_c50_p99us":420,"run":"1","sha":"6b1d","cpu":"EPYC","ok":true,"note":"x"})"
      "\n\n"
      R"({"date":"2026-08-22","sha":"7","machine":"m","size":7,"unit":{"size":"MB"},"better":{"size":"higher"},"values":{"date":3}})"
      "\n");
  REQUIRE(history.has_value());
  REQUIRE(history->rows.size() == 4);
  CHECK(history->rows[0] == HistoryRow{at("2026-08-21T11:29:03Z"), "6b1d", "", "corDB.query_c50", "requests/s",
                                       Better::higher, 10957, "EPYC"});
  CHECK(history->rows[1].unit == "us");
  CHECK(history->rows[1].better == Better::lower);
  CHECK(history->rows[2].metric == "date");
  CHECK(history->rows[3] == HistoryRow{at("2026-08-22T00:00:00Z"), "7", "m", "size", "MB", Better::higher, 7, ""});
  CHECK(history->notes.size() == 2);  // ok and note are no numbers
}

TEST_CASE("JSON lines: further runs under one date move on by a minute, and it is said", "[formats]") {
  const auto history = parse_json_lines(
      "{\"date\":\"2026-08-21T11:29:03Z\",\"db\":\"a\",\"q\":1,\"run\":\"1\"}\n{\"date\":\"2026-08-21T11:29:03Z\","
      "\"db\":\"b\",\"q\":2,\"run\":\"1\"}\n"
      "{\"date\":\"2026-08-21T11:29:03Z\",\"db\":\"a\",\"q\":3,\"run\":2}\n{\"date\":\"2026-08-21T11:29:03Z\",\"db\":"
      "\"b\",\"q\":4,\"run\":2}\n");
  REQUIRE(history.has_value());
  CHECK(history->rows[2].time == at("2026-08-21T11:30:03Z"));
  CHECK(history->rows[3].time == at("2026-08-21T11:30:03Z"));
  REQUIRE(history->notes.size() == 1);
  CHECK(history->notes[0].line == 3);
  CHECK_THAT(refusal(parse_json_lines("{\"date\":\"2026-08-21\",\"q\":1}\n{\"date\":\"2026-08-21\",\"q\":1}\n")),
             Contains("line 2") && Contains("line 1"));
}

TEST_CASE("JSON lines refused, with the line", "[formats]") {
  const std::string good = "{\"date\":\"2026-08-21\",\"q\":1}\n";
  const char* bad[] = {"{\"date\":\"2026-08-22\",\"q\":1",
                       "[1]",
                       "{\"q\":1}",
                       "{\"date\":5,\"q\":1}",
                       "{\"date\":\"2026-08-22\",\"q\":0}",
                       "{\"date\":\"2026-08-22\",\"q\":-3}",
                       "{\"date\":\"2026-08-22\",\"q\":NaN}",
                       "{\"date\":\"2026-08-22\",\"q\":1,\"q\":2}",
                       "{\"date\":\"yesterday\",\"q\":1}",
                       "{\"date\":\"2026-08-22\",\"q\":1,\"better\":\"up\"}",
                       "{\"date\":\"2026-08-22\",\"q\":1,\"unit\":5}",
                       "{\"date\":\"2026-08-22\",\"values\":3}",
                       "{\"date\":\"2026-08-22\",\"sha\":\"a\\u0000b\",\"q\":1}",
                       "{\"date\":\"2026-08-22\",\"q\":1e999}"};
  for (const char* line : bad) {
    INFO(line);
    CHECK_THAT(refusal(parse_json_lines(good + line + "\n")), Contains("line 2"));
  }
  CHECK_THAT(refusal(parse_json_lines("{\"date\":\"2026-08-22\"}\n")), Contains("no rows"));
}

TEST_CASE("The recorded histories parse, and their wide form as JSON lines gives the long form", "[formats]") {
  const std::string folder = std::string(NIGHTGATE_SOURCE_DIR) + "/../shared/histories/";
  const std::string text = file_text(folder + "coraine-nightly-long.csv");
  if (text.empty()) NG_SKIP("the recorded histories are not here");
  const auto expected = parse_csv(text);
  REQUIRE(expected.has_value());

  std::istringstream wide(file_text(folder + "coraine-nightly.csv"));
  std::string line, lines;
  std::getline(wide, line);
  std::vector<std::string> names;
  std::istringstream head(line);
  for (std::string name; std::getline(head, name, ',');) names.push_back(name);
  while (std::getline(wide, line)) {
    std::istringstream fields(line);
    std::string object;
    std::size_t column = 0;
    for (std::string field; std::getline(fields, field, ','); ++column) {
      if (field.empty()) continue;
      object +=
          (object.empty() ? "{\"" : ",\"") + names.at(column) + "\":" + (column < 4 ? "\"" + field + "\"" : field);
    }
    lines += object + "}\n";
  }
  const auto history = parse_json_lines(lines);
  REQUIRE(history.has_value());
  CHECK(history->rows == expected->rows);

  const auto hana = parse_csv(file_text(folder + "hana-untouched-120.csv"));
  REQUIRE(hana.has_value());
  CHECK(hana->rows.size() > 19000);
}
