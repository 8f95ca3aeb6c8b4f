#include "gate/measure/repeats.hpp"

#include "tests/support/catch.hpp"

using namespace nightgate;
using namespace nightgate::measure;
using config::StoreRule;

namespace {

// Keeps what was asked of it; voids or fails the runs it is told to.
struct Recorder {
  std::string done;
  std::vector<std::string> void_reasons;  // per run, in order; beyond the end: fine
  std::size_t runs = 0;
  std::size_t fail_at = 1000;

  RepeatSteps steps() {
    const auto note = [this](char what) {
      return [this, what]() -> Status {
        done += what;
        return {};
      };
    };
    RepeatSteps out{note('f'), note('e'), note('w'), note('c'), {}};
    out.run = [this](int number, int) -> Result<RepeatResult> {
      done += 'r';
      if (runs == fail_at) return fail(Code::measure, "answers were 409");
      RepeatResult result;
      result.samples = {{"rate", 100.0 + number}};
      result.metrics["rate"] = {"requests/s", config::Better::higher, true};
      if (runs < void_reasons.size()) result.void_reason = void_reasons[runs];
      ++runs;
      return result;
    };
    return out;
  }
};

}  // namespace

TEST_CASE("a steady scenario is filled once, warmed up, and checked at the end", "[measure]") {
  Recorder recorder;
  Measurement out;
  REQUIRE(run_repeats(3, StoreRule::steady, recorder.steps(), system_clock(), out));
  CHECK(recorder.done == "fwrrrc");
  CHECK(out.repeats.size() == 3);
  CHECK(out.no_verdict.empty());
  CHECK(out.metrics.at("rate").unit == "requests/s");
  CHECK(out.value("rate") == 101);
}

TEST_CASE("growing and consuming scenarios begin every repeat from the fixture", "[measure]") {
  const auto rule = GENERATE(StoreRule::grows, StoreRule::consumes);
  Recorder recorder;
  Measurement out;
  REQUIRE(run_repeats(2, rule, recorder.steps(), system_clock(), out));
  CHECK(recorder.done == "fwefrefr");

  SECTION("also when one is done again") {
    Recorder again;
    again.void_reasons = {"steal"};
    Measurement redone;
    REQUIRE(run_repeats(1, rule, again.steps(), system_clock(), redone));
    CHECK(again.done == "fwefrefr");
  }
}

TEST_CASE("a repeat out of bounds is kept, marked and done again", "[measure]") {
  Recorder recorder;
  recorder.void_reasons = {"", "foreign CPU", "steal"};
  Measurement out;
  REQUIRE(run_repeats(2, StoreRule::steady, recorder.steps(), system_clock(), out));
  REQUIRE(out.repeats.size() == 4);
  CHECK(out.repeats[1].voided);
  CHECK(out.repeats[1].void_reason == "foreign CPU");
  CHECK(out.repeats[2].attempt == 1);
  CHECK_FALSE(out.repeats[3].voided);
  CHECK(out.repeats[3].attempt == 2);
  CHECK(out.repeats[3].number == 1);
  CHECK(out.no_verdict.empty());
}

TEST_CASE("out of bounds again and again: no verdict with the reason, never a number that looks fine", "[measure]") {
  Recorder recorder;
  recorder.void_reasons.assign(4, "foreign CPU 1.2");
  Measurement out;
  REQUIRE(run_repeats(3, StoreRule::steady, recorder.steps(), system_clock(), out));
  CHECK(out.repeats.size() == 4);
  CHECK(out.no_verdict == "repeat 1 of 3 was out of bounds 4 times: foreign CPU 1.2");
  CHECK_FALSE(out.value("rate"));
}

TEST_CASE("an unexpected answer ends the start at once", "[measure]") {
  Recorder recorder;
  recorder.fail_at = 1;
  Measurement out;
  const auto ended = run_repeats(3, StoreRule::steady, recorder.steps(), system_clock(), out);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().message == "answers were 409");
  CHECK(recorder.done == "fwrr");
}
