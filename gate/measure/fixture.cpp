#include "gate/measure/fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "gate/measure/calls.hpp"

namespace nightgate::measure {
namespace {

Status run_command(RunningDeployment& deployment, const config::Fixture& fixture, const Surroundings& around) {
  Command command;
  NG_TRY(command.argv, deployment.names().expand(fixture.command));
  command.clear_environment = true;
  command.environment = plain_environment();
  command.environment[std::string(run_variable)] = deployment.record().uuid();
  command.directory = around.config.directory;
  command.cpus = around.placement.load;
  NG_TRY(const auto output, run(command, std::chrono::minutes(30)));
  if (output.ok()) return {};
  return fail(Code::measure,
              fmt::format("the fixture's command {} failed: {}{}", command.argv.front(), ending_text(output.ending),
                          log_note(output.err.empty() ? output.out : output.err)));
}

Result<std::string> count_text(const HttpResponse& response, const config::Fixture& fixture) {
  if (fixture.count_header.empty()) return text_at(response, fixture.count_pointer);
  std::string name = fixture.count_header;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (auto value = response.header(name)) return *std::move(value);
  return fail(Code::measure, fmt::format("the answer has no header '{}'", fixture.count_header));
}

}  // namespace

Status check_count(RunningDeployment& deployment, const config::Fixture& fixture) {
  if (fixture.count.url.empty() || fixture.expect < 0) return {};
  const std::string doing = "counting the fixture";
  auto response = expect_call(deployment.http(), fixture.count, deployment.names(), deployment.call_options());
  if (!response) return with_context(std::move(response).error(), doing);
  auto text = count_text(*response, fixture);
  if (!text) return with_context(std::move(text).error(), doing);
  std::int64_t count = -1;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (error != std::errc() || end != text->data() + text->size()) {
    return fail(Code::measure, fmt::format("the fixture's count is '{}', which is no number", body_start(*text)));
  }
  if (count == fixture.expect) return {};
  return fail(Code::measure, fmt::format("the store holds {} where the fixture makes {}: measuring would compare "
                                         "different stores",
                                         count, fixture.expect));
}

Status load_fixture(RunningDeployment& deployment, const config::Fixture& fixture, const Surroundings& around) {
  for (const auto& call : fixture.calls) {
    if (around.stopped()) return fail(Code::measure, "stopped on request while loading the fixture");
    auto done = expect_call(deployment.http(), call, deployment.names(), deployment.call_options());
    if (!done) return with_context(std::move(done).error(), "loading the fixture");
  }
  if (!fixture.command.empty()) NG_CHECK(run_command(deployment, fixture, around));
  return check_count(deployment, fixture);
}

}  // namespace nightgate::measure
