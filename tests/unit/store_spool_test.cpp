// The spool on its own: what it writes it gives back, whatever happens to the file in between.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "gate/base/log.hpp"
#include "store/spool.hpp"
#include "store/spool_lines.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

namespace {

// Writes down every write as the line it came from, and fails on request.
class Record final : public store::Recorder {
 public:
  std::vector<std::string> lines;
  std::optional<Code> failure;       // every write fails with it
  std::size_t fail_after = 1000000;  // writes that still work before `failure` begins
  store::Unfinished unfinished = store::Unfinished::resume;

  Status put_machine(const store::Machine& m) override { return keep(store::spool_lines::put_machine(m)); }
  Status put_definition(const std::string& h, const std::string& t) override {
    return keep(store::spool_lines::put_definition(h, t));
  }
  Status put_target(const std::string& p, const store::Target& t) override {
    return keep(store::spool_lines::put_target(p, t));
  }
  Status begin_run(const store::Run& r) override { return keep(store::spool_lines::begin_run(r)); }
  Status finish_run(const std::string& u, store::RunState s, Instant e, const std::string& r) override {
    return keep(store::spool_lines::finish_run(u, s, e, r));
  }
  Result<store::Night> begin_night(const store::Run& r, store::Sequence a, store::Unfinished u) override {
    unfinished = u;
    NG_CHECK(keep(store::spool_lines::begin_night(r, a)));
    store::Night night;
    night.sequence = 7;
    night.run = r.uuid;
    return night;
  }
  Status set_night_target(const std::string& r, const store::Target& t, const std::string& d) override {
    return keep(store::spool_lines::set_night_target(r, t, d));
  }
  Status put_measurement(const store::Measurement& m) override {
    last = m;
    return keep(store::spool_lines::put_measurement(m));
  }
  Status put_readings(const std::string& r, const judge::NightInput& i,
                      const std::vector<store::MetricInfo>& m) override {
    return keep(store::spool_lines::put_readings(r, i, m));
  }
  Status set_night(const std::string& r, store::NightState s, const std::string& w) override {
    return keep(store::spool_lines::set_night(r, s, w));
  }
  Status put_noise(const std::string& p, const std::string& m, const std::vector<store::Noise>& n) override {
    return keep(store::spool_lines::put_noise(p, m, n));
  }
  store::Measurement last;

 private:
  Status keep(std::string line) {
    if (failure && lines.size() >= fail_after) return fail(*failure, "as asked for");
    lines.push_back(std::move(line));
    return {};
  }
};

store::Run run_of(const std::string& uuid) {
  store::Run run;
  run.uuid = uuid;
  run.kind = store::RunKind::night;
  run.project = "p \"quoted\"";
  run.machine = "bench";
  run.started = Instant(Micros(1764468000000123));
  run.ended = Instant(Micros(1764468000000124));
  run.settings = R"({"starts":2})";
  return run;
}
store::Measurement measurement_of(const std::string& run) {
  store::Measurement out;
  out.run = run;
  out.deployment = "plain";
  out.scenario = "create";
  out.role = store::Role::control;
  out.arm = 3;
  out.start = 1;
  out.target = {"c0ffee", "sha256:1", "label", "title", "author", 12};
  out.definition = "abc";
  out.metrics = {{"plain.create.rate", "req/s", store::Better::lower, false}};
  out.no_verdict = "too noisy";
  out.log_tail = "line one\nline two";
  store::Repeat repeat;
  repeat.number = 2;
  repeat.attempt = 1;
  repeat.voided = true;
  repeat.void_reason = "steal";
  repeat.begin = Instant(Micros(5));
  repeat.end = Instant(Micros(6));
  repeat.samples = {{"rate", 0.1 + 0.2}, {"p99", 1e-300}};
  repeat.conditions = {{"load1", 1.0 / 3.0}};
  out.repeats.push_back(repeat);
  return out;
}
// Every kind of write once, through `to`.
void write_all(store::Recorder& to, const std::string& uuid) {
  CHECK(to.put_machine({"bench", "x8", R"({"a":1})"}));
  CHECK(to.put_definition("abc", "{}"));
  CHECK(to.put_target("p", measurement_of("").target));
  CHECK(to.begin_run(run_of(uuid)));
  CHECK(to.begin_night(run_of(uuid)));
  CHECK(to.set_night_target(uuid, measurement_of("").target, "all"));
  CHECK(to.put_measurement(measurement_of(uuid)));
  judge::NightInput input;
  input.machine_class = "x8";
  input.digest = "sha256:1";
  input.readings.push_back({"plain.create.rate", judge::Better::lower, "abc", 5.5, {{"sha256:c", 5.25}}});
  input.missing.push_back({"plain.query.rate", "no answer"});
  CHECK(to.put_readings(uuid, input, measurement_of("").metrics));
  CHECK(to.set_night(uuid, store::NightState::no_verdict, "why"));
  store::Noise noise;
  noise.metric = "m";
  noise.within = 0.01;
  CHECK(to.put_noise("p", "bench", {noise}));
  CHECK(to.finish_run(uuid, store::RunState::done, Instant(Micros(9)), "{}"));
}

TempDir state_dir() { return std::move(*TempDir::make("ng-spool")); }
fs::path only_file(const fs::path& state) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(state / "spool")) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  return files.front();
}

}  // namespace

TEST_CASE("every write goes through the spool and comes out as it was", "[store][spool]") {
  const TempDir state = state_dir();
  Record direct;
  write_all(direct, "u1");
  {
    store::SpoolingRecorder spool(nullptr, state.path());
    write_all(spool, "u1");
    CHECK(spool.spooling());
    // Somebody else does not deliver what is still being written.
    Record early;
    CHECK(store::deliver_spool(state.path(), early)->writes == 0);
    CHECK(store::spool_pending(state.path()));
  }
  Record delivered;
  const auto done = store::deliver_spool(state.path(), delivered);
  REQUIRE(done);
  CHECK(done->files == 1);
  CHECK(done->writes == 11);
  CHECK(delivered.lines == direct.lines);
  CHECK(delivered.unfinished == store::Unfinished::close);
  CHECK(delivered.last.repeats.at(0).samples == measurement_of("").repeats[0].samples);  // to the last bit
  CHECK_FALSE(store::spool_pending(state.path()));
  CHECK(store::deliver_spool(state.path(), delivered)->writes == 0);
}

TEST_CASE("a last line that was cut off is left out, wherever it was cut", "[store][spool]") {
  const TempDir state = state_dir();
  {
    store::SpoolingRecorder spool(nullptr, state.path());
    REQUIRE(spool.put_definition("a", "{}"));
    REQUIRE(spool.put_definition("b", "{}"));
  }
  const fs::path file = only_file(state.path());
  const auto size = fs::file_size(file);
  const auto cut = GENERATE(1U, 2U, 10U, 30U, 55U);
  fs::resize_file(file, size - cut);
  Record delivered;
  const auto done = store::deliver_spool(state.path(), delivered);
  REQUIRE(done);
  CHECK(done->writes == 1);
  CHECK(done->damaged.empty());
  CHECK(delivered.lines == std::vector<std::string>{store::spool_lines::put_definition("a", "{}")});
}

TEST_CASE("a line damaged in the middle sets the file aside and does not block the next", "[store][spool]") {
  log::set_level(log::Level::error);
  const TempDir state = state_dir();
  {
    store::SpoolingRecorder spool(nullptr, state.path());
    for (const char* hash : {"a", "b", "c"}) REQUIRE(spool.put_definition(hash, "{}"));
  }
  const fs::path file = only_file(state.path());
  auto text = *read_file(file);
  text[text.find("\"b\"") + 1] = 'x';
  REQUIRE(write_file(file, text));
  {
    store::SpoolingRecorder next(nullptr, state.path());
    REQUIRE(next.put_definition("d", "{}"));
  }
  Record delivered;
  const auto done = store::deliver_spool(state.path(), delivered);
  REQUIRE(done);
  CHECK(done->damaged.size() == 1);
  CHECK(delivered.lines == std::vector<std::string>{store::spool_lines::put_definition("d", "{}")});
  CHECK(fs::exists(file.string() + ".damaged"));
  log::set_level(log::Level::info);
}

TEST_CASE("a delivery that breaks off is made again, whole and in order", "[store][spool]") {
  const TempDir state = state_dir();
  for (const char* uuid : {"u1", "u2"}) {
    store::SpoolingRecorder spool(nullptr, state.path());
    write_all(spool, uuid);
  }
  Record broken;
  broken.failure = Code::away;
  broken.fail_after = 14;
  const auto first = store::deliver_spool(state.path(), broken);
  REQUIRE_FALSE(first);
  CHECK(first.error().code == Code::away);
  CHECK(store::spool_pending(state.path()));
  Record second;
  REQUIRE(store::deliver_spool(state.path(), second));
  Record direct;
  write_all(direct, "u2");
  CHECK(second.lines == direct.lines);  // u1's file was complete, u2's begins from its start
}

TEST_CASE("spool lines of nobody are refused", "[store][spool]") {
  Record record;
  for (const char* line : {"", "{}", "[]", "{\"do\":\"drop everything\"}", "{\"do\":7}", "{\"do\":\"put_machine\""}) {
    INFO(line);
    CHECK(store::spool_lines::apply(line, record).error().code == Code::bad_data);
  }
  CHECK(record.lines.empty());
}
