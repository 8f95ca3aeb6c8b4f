// needs: ng_base gate/measure/http_answer.cpp
// Any bytes as what a broker answers to the open load, in pieces of any size: the same as in one piece.
#include <algorithm>

#include "gate/measure/http_answer.hpp"
#include "tests/fuzz/formats_fuzz.hpp"

using nightgate::fuzz::require;
using Parser = nightgate::measure::AnswerParser;

namespace {
struct Seen {
  Parser::State state;
  int status;
  bool keeps_alive;
  std::size_t taken;
  bool operator==(const Seen&) const = default;
};

Seen read(std::string_view text, bool to_head, std::size_t piece) {
  Parser parser;
  parser.begin(to_head);
  std::size_t taken = 0;
  while (taken < text.size() && parser.state() == Parser::State::reading) {
    const auto part = text.substr(taken, piece);
    const auto used = parser.feed(part);
    require(used <= part.size(), "no more is taken than was given");
    if (used == 0 && parser.state() == Parser::State::reading) require(false, "a parser takes something");
    taken += used;
  }
  if (parser.state() == Parser::State::reading) parser.closed();
  require(parser.state() != Parser::State::reading, "after the end nothing is open");
  return {parser.state(), parser.status(), parser.keeps_alive(), taken};
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = nightgate::fuzz::text_of(data + 1, size - 1);
  const bool to_head = data[0] % 2 == 1;
  const auto whole = read(text, to_head, text.size());
  const auto pieces = read(text, to_head, 1U + data[0] / 2U);
  if (whole.state == Parser::State::done) {
    require(whole == pieces, "pieces make no difference");
    require(whole.status >= 100 && whole.status <= 999, "a status");
  } else {
    require(pieces.state == Parser::State::broken, "broken is broken");
  }
  return 0;
}
