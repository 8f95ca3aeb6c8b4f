#include "store/spool_lines.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "store/names.hpp"

namespace nightgate::store::spool_lines {
namespace {

using nlohmann::json;

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
std::int64_t micros_of(Instant instant) { return instant.time_since_epoch().count(); }

json to_json(const Target& t) {
  return {{"commit", t.commit}, {"digest", t.digest}, {"label", t.label},
          {"title", t.title},   {"author", t.author}, {"pr", t.pr}};
}
json to_json(const Run& r) {
  json out = {{"uuid", r.uuid},       {"kind", name_of(r.kind)},   {"project", r.project},
              {"machine", r.machine}, {"class", r.machine_class},  {"started", micros_of(r.started)},
              {"version", r.version}, {"settings", r.settings},    {"conditions", r.conditions},
              {"result", r.result},   {"state", name_of(r.state)}, {"ended", nullptr}};
  if (r.ended) out["ended"] = micros_of(*r.ended);
  return out;
}
json to_json(const std::vector<MetricInfo>& metrics) {
  json out = json::array();
  for (const MetricInfo& m : metrics) {
    out.push_back({{"name", m.name}, {"unit", m.unit}, {"better", name_of(m.better)}, {"gated", m.gated}});
  }
  return out;
}
json to_json(const Repeat& r) {
  json samples = json::object(), conditions = json::object();
  for (const auto& [name, value] : r.samples) samples[name] = number(value);
  for (const auto& [name, value] : r.conditions) conditions[name] = number(value);
  return {{"number", r.number},           {"attempt", r.attempt},        {"voided", r.voided},
          {"void_reason", r.void_reason}, {"begin", micros_of(r.begin)}, {"end", micros_of(r.end)},
          {"samples", samples},           {"conditions", conditions}};
}
json to_json(const judge::NightInput& input) {
  json readings = json::array(), missing = json::array();
  for (const auto& reading : input.readings) {
    json controls = json::array();
    for (const auto& control : reading.controls) {
      controls.push_back({{"digest", control.digest}, {"value", number(control.value)}});
    }
    readings.push_back({{"metric", reading.metric},
                        {"better", reading.better == judge::Better::lower ? "lower" : "higher"},
                        {"definition", reading.definition},
                        {"value", number(reading.value)},
                        {"controls", controls}});
  }
  for (const auto& one : input.missing) missing.push_back({{"metric", one.metric}, {"reason", one.reason}});
  return {{"class", input.machine_class}, {"digest", input.digest}, {"readings", readings}, {"missing", missing}};
}

std::string line(std::string_view what, json body) {
  body["do"] = what;
  return dump_json(body);
}

// Reading back. A line passed its checksum, so it is as we wrote it: a field that isn't there has its default.
std::string text(const json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() && at->is_string() ? at->get<std::string>() : std::string();
}
std::int64_t integer(const json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}
int small(const json& j, const char* key) { return static_cast<int>(integer(j, key)); }
double real(const json& j) { return j.is_number() ? j.get<double>() : unknown; }
double real(const json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() ? real(*at) : unknown;
}
bool truth(const json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() && at->is_boolean() && at->get<bool>();
}
Instant instant(const json& j, const char* key) { return Instant(Micros(integer(j, key))); }
const json& child(const json& j, const char* key) {
  static const json none = json::object();
  const auto at = j.find(key);
  return at != j.end() ? *at : none;
}
std::map<std::string, double> numbers(const json& j) {
  std::map<std::string, double> out;
  for (const auto& [name, value] : j.items()) out[name] = real(value);
  return out;
}

Target target_from(const json& j) {
  return {text(j, "commit"), text(j, "digest"), text(j, "label"), text(j, "title"), text(j, "author"), small(j, "pr")};
}
Run run_from(const json& j) {
  Run out;
  out.uuid = text(j, "uuid");
  out.kind = value_of<RunKind>(text(j, "kind"));
  out.project = text(j, "project");
  out.machine = text(j, "machine");
  out.machine_class = text(j, "class");
  out.started = instant(j, "started");
  out.version = text(j, "version");
  out.settings = text(j, "settings");
  out.conditions = text(j, "conditions");
  out.result = text(j, "result");
  out.state = value_of<RunState>(text(j, "state"));
  if (child(j, "ended").is_number_integer()) out.ended = instant(j, "ended");
  return out;
}
std::vector<MetricInfo> metrics_from(const json& j) {
  std::vector<MetricInfo> out;
  for (const json& m : j) {
    out.push_back({text(m, "name"), text(m, "unit"), value_of<Better>(text(m, "better")), truth(m, "gated")});
  }
  return out;
}
Measurement measurement_from(const json& j) {
  Measurement out;
  out.run = text(j, "run");
  out.deployment = text(j, "deployment");
  out.scenario = text(j, "scenario");
  out.role = value_of<Role>(text(j, "role"));
  out.arm = small(j, "arm");
  out.start = small(j, "start");
  out.target = target_from(child(j, "target"));
  out.definition = text(j, "definition");
  out.metrics = metrics_from(child(j, "metrics"));
  out.no_verdict = text(j, "no_verdict");
  out.log_tail = text(j, "log_tail");
  for (const json& r : child(j, "repeats")) {
    out.repeats.push_back({small(r, "number"), small(r, "attempt"), truth(r, "voided"), text(r, "void_reason"),
                           instant(r, "begin"), instant(r, "end"), numbers(child(r, "samples")),
                           numbers(child(r, "conditions"))});
  }
  return out;
}
judge::NightInput input_from(const json& j) {
  judge::NightInput out;
  out.machine_class = text(j, "class");
  out.digest = text(j, "digest");
  for (const json& r : child(j, "readings")) {
    judge::Reading reading;
    reading.metric = text(r, "metric");
    reading.better = text(r, "better") == "lower" ? judge::Better::lower : judge::Better::higher;
    reading.definition = text(r, "definition");
    reading.value = real(r, "value");
    for (const json& c : child(r, "controls")) reading.controls.push_back({text(c, "digest"), real(c, "value")});
    out.readings.push_back(std::move(reading));
  }
  for (const json& m : child(j, "missing")) out.missing.push_back({text(m, "metric"), text(m, "reason")});
  return out;
}
std::vector<Noise> noise_from(const json& j) {
  std::vector<Noise> out;
  for (const json& n : j) {
    out.push_back({text(n, "metric"), instant(n, "at"), text(n, "class"), text(n, "definition"), small(n, "starts"),
                   small(n, "repeats"), real(n, "within"), real(n, "between"), real(n, "drift"), text(n, "details")});
  }
  return out;
}

Status apply_night(const std::string& what, const json& j, Recorder& store) {
  if (what == "begin_night") {
    auto night = store.begin_night(run_from(child(j, "run")), integer(j, "attempt_of"), Unfinished::close);
    if (!night) return tl::unexpected(std::move(night).error());
    return {};
  }
  const std::string run = text(j, "run");
  if (what == "set_night_target")
    return store.set_night_target(run, target_from(child(j, "target")), text(j, "definition"));
  if (what == "put_readings")
    return store.put_readings(run, input_from(child(j, "input")), metrics_from(child(j, "metrics")));
  if (what == "set_night") return store.set_night(run, value_of<NightState>(text(j, "state")), text(j, "reason"));
  return fail(Code::bad_data, "\"" + what + "\" is nothing that this nightgate knows how to store");
}

}  // namespace

std::string put_machine(const Machine& machine) {
  return line("put_machine", {{"name", machine.name}, {"class", machine.machine_class}, {"details", machine.details}});
}
std::string put_definition(const std::string& hash, const std::string& body) {
  return line("put_definition", {{"hash", hash}, {"text", body}});
}
std::string put_target(const std::string& project, const Target& target) {
  return line("put_target", {{"project", project}, {"target", to_json(target)}});
}
std::string begin_run(const Run& run) { return line("begin_run", {{"run", to_json(run)}}); }
std::string finish_run(const std::string& uuid, RunState state, Instant ended, const std::string& result) {
  return line("finish_run",
              {{"uuid", uuid}, {"state", name_of(state)}, {"ended", micros_of(ended)}, {"result", result}});
}
std::string begin_night(const Run& run, Sequence attempt_of) {
  return line("begin_night", {{"run", to_json(run)}, {"attempt_of", attempt_of}});
}
std::string set_night_target(const std::string& run, const Target& target, const std::string& definition) {
  return line("set_night_target", {{"run", run}, {"target", to_json(target)}, {"definition", definition}});
}
std::string put_measurement(const Measurement& m) {
  json repeats = json::array();
  for (const Repeat& repeat : m.repeats) repeats.push_back(to_json(repeat));
  return line("put_measurement", {{"run", m.run},
                                  {"deployment", m.deployment},
                                  {"scenario", m.scenario},
                                  {"role", name_of(m.role)},
                                  {"arm", m.arm},
                                  {"start", m.start},
                                  {"target", to_json(m.target)},
                                  {"definition", m.definition},
                                  {"metrics", to_json(m.metrics)},
                                  {"repeats", repeats},
                                  {"no_verdict", m.no_verdict},
                                  {"log_tail", m.log_tail}});
}
std::string put_readings(const std::string& run, const judge::NightInput& input,
                         const std::vector<MetricInfo>& metrics) {
  return line("put_readings", {{"run", run}, {"input", to_json(input)}, {"metrics", to_json(metrics)}});
}
std::string set_night(const std::string& run, NightState state, const std::string& reason) {
  return line("set_night", {{"run", run}, {"state", name_of(state)}, {"reason", reason}});
}
std::string put_noise(const std::string& project, const std::string& machine, const std::vector<Noise>& noise) {
  json rows = json::array();
  for (const Noise& n : noise) {
    rows.push_back({{"metric", n.metric},
                    {"at", micros_of(n.at)},
                    {"class", n.machine_class},
                    {"definition", n.definition},
                    {"starts", n.starts},
                    {"repeats", n.repeats},
                    {"within", number(n.within)},
                    {"between", number(n.between)},
                    {"drift", number(n.drift)},
                    {"details", n.details}});
  }
  return line("put_noise", {{"project", project}, {"machine", machine}, {"noise", rows}});
}

Status apply(std::string_view written, Recorder& store) {
  JsonLimits limits;
  limits.bytes = std::size_t{256} << 20U;
  NG_TRY(const json j, parse_json(written, limits));
  if (!j.is_object()) return fail(Code::bad_data, "a spool line is no JSON object");
  const std::string what = text(j, "do");
  if (what == "put_machine") return store.put_machine({text(j, "name"), text(j, "class"), text(j, "details")});
  if (what == "put_definition") return store.put_definition(text(j, "hash"), text(j, "text"));
  if (what == "put_target") return store.put_target(text(j, "project"), target_from(child(j, "target")));
  if (what == "begin_run") return store.begin_run(run_from(child(j, "run")));
  if (what == "finish_run") {
    return store.finish_run(text(j, "uuid"), value_of<RunState>(text(j, "state")), instant(j, "ended"),
                            text(j, "result"));
  }
  if (what == "put_measurement") return store.put_measurement(measurement_from(j));
  if (what == "put_noise") {
    return store.put_noise(text(j, "project"), text(j, "machine"), noise_from(child(j, "noise")));
  }
  return apply_night(what, j, store);
}

}  // namespace nightgate::store::spool_lines
