// Telling people: trips of a real store, through its outbox, to a small GitHub, a webhook and a command.
#include "ci/github/notify.hpp"

#include "tests/component/github_support.hpp"
#include "tests/component/store_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/http_server.hpp"

namespace nightgate::test {
namespace {

using github::TripNews;
using github::TripNewsState;
using nlohmann::json;

constexpr const char* project = "coraine";
constexpr const char* culprit = "5d2f01c5d2f01c5d2f01c5d2f01c5d2f01c5d2f0";

store::Trip trip(const std::string& metric) {
  return {metric, "step", -0.34, 100, 66, 0, store::TripState::open, std::nullopt};
}

// A project with nights, trips and everything outside that they are told to.
struct World {
  World() : ask(fake), outbox(fresh_store()) {
    channels.github = fake.account();
    judged_night(*outbox, 100, 2.5);
  }

  // A night that opens a group of these metrics, on evidence that began in night `first` (0: this one); its id.
  std::int64_t tripped(const std::vector<std::string>& metrics, store::Sequence first = 0) {
    const auto night = next_night();
    store::Judgement judgement;
    judgement.run = night.run;
    judgement.snapshot = "x";
    store::TripGroup group;
    group.project = project;
    group.machine = "bench1";
    group.first = first == 0 ? night.sequence : first;
    group.last_good = group.first - 1;
    group.tripped = night.sequence;
    for (const auto& metric : metrics) group.trips.push_back(trip(metric));
    judgement.opened = {group};
    const auto opened = outbox->put_judgement(judgement);
    REQUIRE(opened);
    return opened->at(0).id;
  }
  void closes(const std::string& metric, store::TripState state) {
    store::Judgement judgement;
    judgement.run = next_night().run;
    judgement.snapshot = "x";
    judgement.closed = {{metric, state}};
    REQUIRE(outbox->put_judgement(judgement));
  }
  store::Night next_night() {
    const auto run = stored_night(*outbox, 66, 2.5);
    return **outbox->night_of_run(run);
  }

  void put(std::int64_t id, const std::string& text, bool named = false) {
    TripNews news;
    news.group = **outbox->trip(project, id);
    news.state = github::state_of(news.group);
    news.title = "Performance: rate";
    news.markdown = text;
    news.closing = news.state == TripNewsState::open ? "" : "before 100, tripped at 66, now 99";
    news.sentence = "rate <!channel> -34 %";
    if (named) {
      news.culprit = culprit;
      news.culprit_sentence = "rate -34 % at this merge";
      news.culprit_comment = "it was you, with respect";
    }
    REQUIRE(github::put_trip(*outbox, channels, news, *outbox->trips(project, 50), ask.clock.now()));
  }
  github::Delivered deliver() {
    const auto done = github::deliver(*outbox, channels, *ask.http, ask.clock, project);
    REQUIRE(done);
    return *done;
  }
  json issue(std::size_t index = 0) {
    const auto state = fake.state();
    REQUIRE(state["issues"].size() > index);
    return state["issues"][index];
  }

  FakeGitHub fake;
  AskGitHub ask;
  std::unique_ptr<store::Store> outbox;
  github::Channels channels;
};

}  // namespace

TEST_CASE("a trip group opens one issue and is told once", "[github]") {
  World world;
  const auto id = world.tripped({metric_a});
  world.put(id, "numbers");
  CHECK(world.deliver().sent == 1);
  CHECK(world.issue()["state"] == "open");
  CHECK(world.issue()["body"] == github::marker("coraine-trip-" + std::to_string(id)) + "\nnumbers");
  const auto asked = world.fake.asked().size();
  world.put(id, "numbers");  // the next night, nothing new
  CHECK(world.deliver().sent == 0);
  CHECK(world.fake.asked().size() == asked);

  SECTION("another metric joins, the answer comes: the same issue") {
    CHECK(world.tripped({metric_b}, (*world.outbox->trip(project, id))->first) == id);
    world.put(id, "numbers of both, and the culprit");
    CHECK(world.deliver().sent == 1);
    CHECK(world.fake.state()["issues"].size() == 1);
    CHECK_THAT(world.issue()["body"].get<std::string>(), Contains("both, and the culprit"));
  }
  SECTION("a second group: a second issue") {
    const auto other = world.tripped({metric_b});
    CHECK(other != id);
    world.put(other, "others");
    world.deliver();
    CHECK(world.fake.state()["issues"].size() == 2);
  }
}

TEST_CASE("the culprit gets one comment and a status", "[github]") {
  World world;
  json pull = {{"number", 70}, {"state", "closed"}, {"merge_commit_sha", culprit}, {"head", {{"sha", "abc"}}}};
  SECTION("merged by a pull request") { world.fake.load({{"pulls", {pull}}}); }
  SECTION("pushed without one") {}
  const bool merged = !world.fake.state()["pulls"].empty();
  const auto id = world.tripped({metric_a});
  for (int night = 0; night < 3; ++night) {
    world.put(id, "numbers", true);
    CHECK(world.deliver().kept == 0);
  }
  CHECK(world.fake.comments(70).size() == (merged ? 1 : 0));
  const auto statuses = world.fake.state()["statuses"];
  REQUIRE(statuses.size() == 1);
  CHECK(statuses[0]["sha"] == culprit);
  CHECK(statuses[0]["state"] == "failure");
  CHECK(statuses[0]["context"] == "nightgate/coraine");
}

TEST_CASE("recovery closes with the numbers, and what comes back is the same issue", "[github]") {
  World world;
  const auto id = world.tripped({metric_a});
  world.put(id, "numbers");
  world.deliver();
  world.closes(metric_a, store::TripState::recovered);
  for (int night = 0; night < 2; ++night) {
    world.put(id, "numbers");
    world.deliver();
  }
  CHECK(world.issue()["state"] == "closed");
  CHECK(world.issue()["state_reason"] == "completed");
  const int number = world.issue()["number"].get<int>();
  REQUIRE(world.fake.comments(number).size() == 1);
  CHECK_THAT(world.fake.comments(number)[0]["body"].get<std::string>(), Contains("now 99"));

  const auto again = world.tripped({metric_a});
  CHECK(again != id);
  for (int night = 0; night < 2; ++night) {
    world.put(again, "numbers of the second time");
    world.deliver();
  }
  CHECK(world.fake.state()["issues"].size() == 1);
  CHECK(world.issue()["state"] == "open");
  CHECK_THAT(world.issue()["body"].get<std::string>(), Contains("second time"));
  CHECK(world.fake.comments(number).size() == 2);
}

TEST_CASE("accepted closes as not planned, and stays closed", "[github]") {
  World world;
  const auto id = world.tripped({metric_a});
  world.put(id, "numbers");
  world.deliver();
  world.closes(metric_a, store::TripState::accepted);
  world.put(id, "numbers");
  world.deliver();
  CHECK(world.issue()["state"] == "closed");
  CHECK(world.issue()["state_reason"] == "not_planned");
  const auto later = world.tripped({metric_a});
  world.put(later, "a further fall");
  world.deliver();
  CHECK(world.fake.state()["issues"].size() == 2);
  CHECK(world.issue(0)["state"] == "closed");
}

TEST_CASE("an issue that a person closed is not opened again", "[github]") {
  World world;
  const auto id = world.tripped({metric_a});
  world.put(id, "numbers");
  world.deliver();
  const auto number = world.issue()["number"].get<std::int64_t>();
  REQUIRE(github::set_issue_open(world.ask.api, number, github::IssueState::not_planned));
  world.put(id, "more numbers");
  world.deliver();
  CHECK(world.issue()["state"] == "closed");
  CHECK_THAT(world.issue()["body"].get<std::string>(), Contains("more numbers"));
}

TEST_CASE("what can't be delivered is kept and sent at the next run, once", "[github]") {
  World world;
  const auto id = world.tripped({metric_a});
  world.fake.rule({{"method", "POST"}, {"path", "/issues$"}, {"status", 503}, {"times", 3}});
  world.put(id, "numbers");
  const auto first = world.deliver();
  CHECK(first.kept == 1);
  CHECK_THAT(first.complaints.at(0), Contains("kept for the next run"));
  CHECK(world.fake.state()["issues"].empty());
  CHECK(world.outbox->pending_notifications(project)->at(0).tries == 1);
  CHECK(world.deliver().sent == 1);
  CHECK(world.deliver().sent == 0);
  CHECK(world.fake.state()["issues"].size() == 1);
}

TEST_CASE("a trip that ended before it could be told leaves no issue", "[github]") {
  World world;
  const auto id = world.tripped({metric_a});
  world.closes(metric_a, store::TripState::recovered);
  world.put(id, "numbers");
  CHECK(world.deliver().sent == 1);
  CHECK(world.fake.state()["issues"].empty());
}

TEST_CASE("the webhook and the command get each event once", "[github]") {
  std::vector<std::string> bodies;
  std::mutex mutex;
  int refuse = 1;
  HttpServer<> chat;
  chat.server().Post("/secret-path", [&](const httplib::Request& request, httplib::Response& answer) {
    const std::lock_guard lock(mutex);
    if (refuse-- > 0) {
      answer.status = 500;
      return;
    }
    bodies.push_back(request.body);
  });
  REQUIRE(chat.start());
  auto directory = TempDir::make("ng-hook");
  REQUIRE(directory);
  const auto file = directory->path() / "events";
  World world;
  world.channels.github.reset();
  world.channels.webhook = chat.url("/secret-path");
  world.channels.hook = {"sh", "-c", "cat >> " + file.string()};
  const auto id = world.tripped({metric_a});
  world.put(id, "numbers");
  const auto first = world.deliver();
  CHECK(first.sent == 1);  // the command; the webhook answered 500
  REQUIRE(first.complaints.size() == 1);
  CHECK(first.complaints[0].find("secret-path") == std::string::npos);
  for (int night = 0; night < 2; ++night) {
    world.put(id, "numbers of another night", true);
    world.deliver();
  }
  world.closes(metric_a, store::TripState::recovered);
  world.put(id, "numbers");
  world.deliver();
  REQUIRE(bodies.size() == 3);
  std::vector<std::string> events;
  for (const auto& body : bodies) events.push_back(json::parse(body)["event"].get<std::string>());
  CHECK(events == std::vector<std::string>{"trip", "culprit", "recovered"});
  const auto trip_event = json::parse(bodies[0]);
  CHECK(trip_event["text"] == "rate &lt;!channel&gt; -34 %");
  CHECK(trip_event["details"]["metrics"][0]["metric"] == metric_a);
  const auto lines = *read_file(file);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 3);

  world.channels.webhook = "http://127.0.0.1:1/secret-path";
  REQUIRE(github::put_message(*world.outbox, world.channels, {project, "bench1", "m", "no_night", "x", ""}, {}));
  const auto last = world.deliver();
  REQUIRE(last.complaints.size() == 1);
  CHECK(last.complaints[0].find("secret-path") == std::string::npos);
}

}  // namespace nightgate::test
