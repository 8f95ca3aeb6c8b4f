// The site's files and its memory.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ci/report/site_parts.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::report {
namespace {

using nlohmann::json;

constexpr const char* schema = "nightgate-site/1";
constexpr int format = 2;  // raise it when the pages look different: the next time all are written again
constexpr std::size_t most_bytes = 64U << 20U;

Manifest::MachinePages machine_from(const json& at) {
  Manifest::MachinePages out;
  out.decisions = at.value("decisions", "");
  for (const auto& [night, revision] : at.at("nights").items())
    out.nights[std::stoll(night)] = revision.get<std::int64_t>();
  for (const auto& [metric, page] : at.at("metrics").items())
    out.metrics[metric] = {page.at(0).get<store::Sequence>(), page.at(1).get<bool>()};
  return out;
}

Manifest manifest_from(const json& document) {
  Manifest out;
  for (const auto& [name, at] : document.at("machines").items()) out.machines[name] = machine_from(at);
  for (const auto& [id, made_from] : document.at("trips").items())
    out.trips[std::stoll(id)] = made_from.get<std::string>();
  return out;
}

}  // namespace

Result<Manifest> read_manifest(const fs::path& directory, const std::string& project) {
  const auto text = read_file(directory / "site.json", most_bytes);
  if (!text) {
    if (text.error().code != Code::not_found) return tl::unexpected<Error>(text.error());
    std::error_code ignored;
    if (fs::exists(directory / "index.html", ignored)) {
      return fail(Code::usage,
                  fmt::format("{} has an index.html but no site.json: not a site of nightgate; name an empty "
                              "or new directory",
                              directory.string()));
    }
    return Manifest{};
  }
  const auto document = parse_json(*text, {most_bytes, 64, false});
  if (!document || !document->is_object() || document->value("schema", "") != schema) return Manifest{};
  if (document->value("project", "") != project) {
    return fail(Code::usage, fmt::format("{} is the site of project {}; give each project a directory of its own",
                                         directory.string(), document->value("project", "")));
  }
  if (document->value("format", 0) != format) return Manifest{};
  try {
    return manifest_from(*document);
  } catch (const std::exception&) {
    return Manifest{};  // somebody's edit: everything is written again
  }
}

Status write_manifest(const fs::path& directory, const std::string& project, const Manifest& manifest) {
  json machines = json::object(), trips = json::object();
  for (const auto& [name, machine] : manifest.machines) {
    json nights = json::object(), metrics = json::object();
    for (const auto& [night, revision] : machine.nights) nights[std::to_string(night)] = revision;
    for (const auto& [metric, page] : machine.metrics) metrics[metric] = {page.upto, page.open};
    machines[name] = {{"nights", nights}, {"metrics", metrics}, {"decisions", machine.decisions}};
  }
  for (const auto& [id, made_from] : manifest.trips) trips[std::to_string(id)] = made_from;
  return write_file(
      directory / "site.json",
      dump_json(
          {{"schema", schema}, {"format", format}, {"project", project}, {"machines", machines}, {"trips", trips}}));
}

Status SiteFiles::write(const fs::path& below, std::string_view text) {
  const auto path = directory_ / below;
  if (made_.insert(path.parent_path()).second) NG_CHECK(make_directories(path.parent_path()));
  NG_CHECK(write_file(path, text, 0644, Durable::no));
  ++written_.pages;
  return {};
}

Status SiteFiles::write_if_changed(const fs::path& below, std::string_view text) {
  if (const auto there = read_file(directory_ / below); there && *there == text) {
    ++written_.unchanged;
    return {};
  }
  return write(below, text);
}

std::string machine_address(const std::string& machine) { return "machine/" + slug(machine) + "/"; }
std::string metric_address(const std::string& machine, const std::string& metric) {
  return machine_address(machine) + "metric/" + slug(metric) + ".html";
}
std::string night_address(const std::string& machine, store::Sequence night) {
  return fmt::format("{}night/{}.html", machine_address(machine), night);
}
std::string trip_address(std::int64_t trip) { return fmt::format("trip/{}.html", trip); }

}  // namespace nightgate::report
