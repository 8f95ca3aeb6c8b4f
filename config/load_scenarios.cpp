// "scenarios": what is done to a deployment and what is read from it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "config/fields.hpp"
#include "config/keys.hpp"

namespace nightgate::config {
namespace {

Status load_wrk(const JsonReader& reader, WrkLoad& wrk, const fs::path& directory) {
  Fields fields(reader, "wrk");
  fields.integer("connections", wrk.connections, 1, 100000);
  fields.integer("threads", wrk.threads, 1, 1024);
  fields.number("seconds", wrk.seconds, 0.1, 86400);
  fields.text("path", wrk.path);
  if (!wrk.path.empty() && wrk.path.front() != '/') fields.wrong("path", "a path that begins with '/'");
  fields.file("script", wrk.script, directory);
  if (wrk.script.empty() && wrk.path.empty()) fields.refuse("expected \"path\" or \"script\"");
  std::error_code ignored;
  if (!wrk.script.empty() && !fs::is_regular_file(wrk.script, ignored)) {
    fields.wrong("script", "a file; there is none at " + wrk.script.string());
  }
  if (wrk.threads > wrk.connections) fields.wrong("threads", "no more threads than connections");
  return fields.status();
}

Status load_open(const JsonReader& reader, OpenLoad& open) {
  Fields fields(reader, "open");
  fields.require("rate", "requests per second");
  fields.number("rate", open.rate, 0.1, 1e7);
  fields.integer("connections", open.connections, 1, 100000);
  fields.number("seconds", open.seconds, 0.1, 86400);
  call_fields(fields, open.request);
  return fields.status();
}

Status load_command(const JsonReader& reader, CommandLoad& command) {
  if (!reader.value().is_object()) {
    const nlohmann::json wrapped = {{"argv", reader.value()}};
    Fields fields(JsonReader(wrapped, reader.path()), "command");
    fields.command("argv", command.argv);
    return fields.status();
  }
  Fields fields(reader, "command");
  fields.require("argv", "the program with its arguments");
  fields.command("argv", command.argv);
  fields.text("format", command.format);
  const auto& formats = load_formats();
  if (std::ranges::find(formats, command.format) == formats.end()) {
    fields.wrong("format", fmt::format("one of {}", fmt::join(formats, ", ")));
  }
  fields.text_map("pick", command.pick);
  const bool picks = command.format == "json-pointer" || command.format == "regex";
  if (picks) fields.require("pick", "for each metric where to find it");
  if (!picks && fields.has("pick")) fields.refuse("pick", "goes with the formats json-pointer and regex only");
  fields.number("timeout_seconds", command.timeout_seconds, 0.1, 86400);
  return fields.status();
}

Status load_load(const JsonReader& reader, Scenario& scenario, const fs::path& directory) {
  Fields fields(reader, "load");
  if (fields.ok() && reader.value().size() != 1)
    return reader.wrong("exactly one of \"wrk\", \"open\" and \"command\"");
  fields.with("wrk", [&](const JsonReader& f) { return load_wrk(f, scenario.load.emplace<WrkLoad>(), directory); });
  fields.with("open", [&](const JsonReader& f) { return load_open(f, scenario.load.emplace<OpenLoad>()); });
  fields.with("command", [&](const JsonReader& f) { return load_command(f, scenario.load.emplace<CommandLoad>()); });
  return fields.status();
}

Status load_fixture(const JsonReader& reader, Fixture& fixture) {
  Fields fields(reader, "fixture");
  fields.each_element("calls", [&](const JsonReader& call) { return load_call(call, fixture.calls.emplace_back()); });
  fields.command("command", fixture.command);
  fields.with("count", [&](const JsonReader& field) { return load_call(field, fixture.count); });
  fields.text("count_pointer", fixture.count_pointer);
  fields.text("count_header", fixture.count_header);
  fields.integer("expect", fixture.expect, 0, INT64_C(1000000000000));
  if (!fixture.count_pointer.empty() && fixture.count_pointer.front() != '/') {
    fields.wrong("count_pointer", "a JSON pointer such as \"/count\"");
  }
  if (fields.has("count")) {
    fields.require("expect", "the right count");
    if (fixture.count_pointer.empty() == fixture.count_header.empty()) {
      fields.refuse("\"count\" needs either \"count_pointer\" or \"count_header\" to say where the number stands");
    }
  } else if (fields.has("expect") || fields.has("count_pointer") || fields.has("count_header")) {
    fields.require("count", "the request whose answer holds the count");
  }
  return fields.status();
}

void better_field(Fields& fields, Better& better) {
  fields.choice("better", better, {{"higher", Better::higher}, {"lower", Better::lower}});
}

Status load_metric(const JsonReader& reader, MetricInfo& metric, bool is_command) {
  Fields fields(reader, "metric");
  if (is_command) fields.require("unit", "the metric's unit, such as \"ms\" or \"1/s\"");
  fields.text("unit", metric.unit);
  better_field(fields, metric.better);
  fields.flag("gated", metric.gated);
  if (metric.unit.empty() && fields.has("better")) fields.require("unit", "the metric's unit beside its direction");
  return fields.status();
}

Status load_extra(const std::string& name, const JsonReader& reader, ExtraMetric& extra) {
  using Kind = ExtraMetric::Kind;
  Fields fields(reader, "extra");
  extra.name = name;
  fields.require("kind",
                 "what is read: \"prometheus_counter\", \"prometheus_gauge\", \"log_lines\" or \"answer_hash\"");
  fields.choice("kind", extra.kind,
                {{"prometheus_counter", Kind::prometheus_counter},
                 {"prometheus_gauge", Kind::prometheus_gauge},
                 {"log_lines", Kind::log_lines},
                 {"answer_hash", Kind::answer_hash}});
  if (extra.kind != Kind::answer_hash) {
    fields.require("unit", "the metric's unit");
    fields.require("pick", extra.kind == Kind::log_lines ? "a regular expression for the lines to count"
                                                         : "the metric's name, with labels where it has some");
  }
  if (extra.kind != Kind::log_lines) fields.require("url", "the page to read");
  fields.text("unit", extra.unit);
  better_field(fields, extra.better);
  fields.text("url", extra.url);
  fields.text("pick", extra.pick);
  fields.flag("per_request", extra.per_request);
  return fields.status();
}

void metric_fields(Fields& fields, Scenario& scenario) {
  const auto* command = std::get_if<CommandLoad>(&scenario.load);
  fields.each_member("metrics", [&](const std::string& name, const JsonReader& value) {
    return load_metric(value, scenario.metrics[name], command != nullptr);
  });
  if (command == nullptr) return;
  for (const auto& [name, how] : command->pick) {
    if (!scenario.metrics.contains(name)) {
      fields.refuse("metrics", "\"" + name + "\" of load.command.pick is missing: its unit and direction belong here");
    }
  }
}

}  // namespace

Status load_scenario(const JsonReader& reader, Scenario& scenario, const fs::path& directory) {
  Fields fields(reader, "scenario");
  fields.texts("deployments", scenario.deployments);
  fields.require("load", "an object with one of \"wrk\", \"open\" and \"command\"");
  fields.with("load", [&](const JsonReader& field) { return load_load(field, scenario, directory); });
  fields.with("fixture", [&](const JsonReader& field) { return load_fixture(field, scenario.fixture); });
  fields.integer("repeats", scenario.repeats, 1, 1000);
  fields.number("warmup_seconds", scenario.warmup_seconds, 0, 3600);
  fields.choice("store", scenario.store,
                {{"steady", StoreRule::steady}, {"grows", StoreRule::grows}, {"consumes", StoreRule::consumes}});
  if (scenario.store == StoreRule::consumes && scenario.fixture == Fixture{}) {
    fields.require("fixture", "what refills the store, since every repeat consumes it");
  }
  fields.statuses("expect", scenario.expect);
  metric_fields(fields, scenario);
  fields.each_member("extra", [&](const std::string& name, const JsonReader& value) {
    return load_extra(name, value, scenario.extra.emplace_back());
  });
  return fields.status();
}

}  // namespace nightgate::config
