#include "gate/measure/http_answer.hpp"

#include <vector>

#include "gate/measure/open_loop.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate::measure;
using State = AnswerParser::State;

namespace {

// Fed in pieces of `size` bytes; says how many bytes it took.
std::size_t feed(AnswerParser& parser, std::string_view text, std::size_t size) {
  std::size_t taken = 0;
  while (taken < text.size() && parser.state() == State::reading) {
    const auto piece = text.substr(taken, size);
    const auto n = parser.feed(piece);
    taken += n;
    if (n < piece.size()) break;
  }
  return taken;
}

}  // namespace

TEST_CASE("an answer ends where it says, in whatever pieces it comes", "[measure]") {
  struct Row {
    std::string text;
    int status;
    bool keeps_alive;
  };
  const std::vector<Row> rows = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, true},
      {"HTTP/1.1 201 Created\r\ncontent-length:0\r\n\r\n", 201, true},
      {"HTTP/1.1 204 No Content\r\n\r\n", 204, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", 200,
       true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", 200, true},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}", 409, true},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 200, false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, false},
      {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", 200, true},
  };
  for (const auto& row : rows) {
    for (const std::size_t size : {1U, 2U, 3U, 7U, 1000U}) {
      INFO(row.text << " in pieces of " << size);
      AnswerParser parser;
      parser.begin(false);
      CHECK(feed(parser, row.text + "HTTP/1.1 rest", size) == row.text.size());
      CHECK(parser.state() == State::done);
      CHECK(parser.status() == row.status);
      CHECK(parser.keeps_alive() == row.keeps_alive);
    }
  }
}

TEST_CASE("an answer to HEAD has no body, whatever length it names", "[measure]") {
  AnswerParser parser;
  parser.begin(true);
  parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  CHECK(parser.state() == State::done);
}

TEST_CASE("an answer without a length ends with the connection", "[measure]") {
  AnswerParser parser;
  parser.begin(false);
  parser.feed("HTTP/1.1 200 OK\r\n\r\nsome text");
  CHECK(parser.state() == State::reading);
  parser.closed();
  CHECK(parser.state() == State::done);
  CHECK_FALSE(parser.keeps_alive());
}

TEST_CASE("what is no answer is broken, not counted", "[measure]") {
  for (const std::string text :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 055 x\r\n\r\n",  // found by fuzzing
        "HTTP/1.1/200 x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    INFO(text);
    AnswerParser parser;
    parser.begin(false);
    parser.feed(text);
    CHECK(parser.state() == State::broken);
  }
  AnswerParser cut;
  cut.begin(false);
  cut.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
  cut.closed();
  CHECK(cut.state() == State::broken);
  AnswerParser endless;
  endless.begin(false);
  for (int i = 0; i < 100 && endless.state() == State::reading; ++i) endless.feed(std::string(1000, 'x'));
  CHECK(endless.state() == State::broken);
}

TEST_CASE("percentiles are exact, by nearest rank", "[measure]") {
  std::vector<std::uint32_t> values;
  for (std::uint32_t i = 100; i >= 1; --i) values.push_back(i);
  CHECK(exact_percentile(values, 50) == 50);
  CHECK(exact_percentile(values, 99) == 99);
  CHECK(exact_percentile(values, 99.1) == 100);
  CHECK(exact_percentile(values, 100) == 100);
  CHECK(exact_percentile(values, 0) == 1);
  values.clear();
  CHECK(exact_percentile(values, 50) == 0);
}
