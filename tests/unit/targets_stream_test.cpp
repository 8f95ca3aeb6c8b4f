#include "gate/targets/base64.hpp"
#include "gate/targets/engine_stream.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::targets;

namespace {
std::string frame(char stream, const std::string& text) {
  const auto length = text.size();
  std::string out = {stream, 0, 0, 0, 0, 0, static_cast<char>(length >> 8U), static_cast<char>(length & 255U)};
  return out + text;
}
}  // namespace

TEST_CASE("base64 as RFC 4648 has it", "[targets]") {
  const std::vector<std::pair<std::string, std::string>> cases = {{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : cases) CHECK(base64(plain) == encoded);
  CHECK(base64("\xfb\xff") == "+/8=");
  CHECK(base64("\xfb\xff", Base64::url) == "-_8=");
}

TEST_CASE("frames of container output", "[targets]") {
  CHECK(demultiplex("").empty());
  CHECK(demultiplex(frame(1, "out\n") + frame(2, "err\n") + frame(1, "")) == "out\nerr\n");
  CHECK(demultiplex(frame(1, std::string(70, 'x'))) == std::string(70, 'x'));
  CHECK(demultiplex("plain text of a terminal") == "plain text of a terminal");
  const std::string whole = frame(1, "cut off");
  CHECK(demultiplex(whole.substr(0, whole.size() - 4)) == "cut");
  CHECK(demultiplex(std::string("\1\0\0\0\xff\xff\xff\xff", 8) + "ab") == "ab");
}

TEST_CASE("a pull fails inside an answer that began well", "[targets]") {
  const auto status = [](const std::vector<std::string>& chunks) {
    PullProgress progress;
    for (const auto& chunk : chunks) progress.feed(chunk);
    return progress.finish();
  };
  CHECK(status({}));
  CHECK(status({"{\"status\":\"Pulling\"}\r\n{\"sta", "tus\":\"Done\"}\r\n"}));
  const auto failed = status({"{\"status\":\"Pulling\"}\n{\"err", "or\":\"manifest unknown\",\"errorDetail\":{}}"});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Code::not_found);
  CHECK(pull_code("unauthorized: authentication required") == Code::denied);
  CHECK(pull_code("dial tcp: i/o timeout") == Code::away);
  CHECK(status({std::string(3'000'000, 'x')}));
}
