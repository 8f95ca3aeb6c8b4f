// Requests: "/path", or an object with a method.
#include <array>
#include <nlohmann/json.hpp>

#include "config/fields.hpp"

namespace nightgate::config {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> short_forms = {
    {{"get", "GET"}, {"post", "POST"}, {"put", "PUT"}, {"patch", "PATCH"}, {"delete", "DELETE"}}};

// "/path", "http://..." or something that begins with a name.
bool looks_like_url(std::string_view url) {
  return url.starts_with('/') || url.starts_with("http://") || url.starts_with("https://") || url.starts_with('{');
}

void body_field(Fields& fields, HttpCall& call) {
  fields.with("body", [&](const JsonReader& field) -> Status {
    if (field.value().is_string()) {
      call.body = field.value().get<std::string>();
      return {};
    }
    if (!field.value().is_structured()) return field.wrong("a string, or the JSON to send as object or array");
    call.body = dump_json(field.value());
    call.headers.emplace_back("Content-Type", "application/json");
    return {};
  });
}

void header_fields(Fields& fields, HttpCall& call) {
  fields.each_member("headers", [&](const std::string& name, const JsonReader& value) -> Status {
    if (!value.value().is_string()) return value.wrong("a string");
    const auto text = value.value().get<std::string>();
    if ((name + text).find_first_of("\r\n") != std::string::npos) return value.wrong("one line");
    if (name == "Content-Type" || name == "content-type") call.headers.clear();  // instead of the one for a JSON body
    call.headers.emplace_back(name, text);
    return {};
  });
}

}  // namespace

void call_fields(Fields& fields, HttpCall& call) {
  int given = fields.has("url") ? 1 : 0;
  std::string_view key = "url";
  for (const auto& [name, method] : short_forms) {
    if (!fields.has(name)) continue;
    ++given;
    key = name;
    call.method = method;
  }
  if (given != 1)
    fields.refuse("expected one of \"get\", \"post\", \"put\", \"patch\", \"delete\" (or \"url\" with \"method\")");
  if (key != "url" && fields.has("method")) fields.refuse("\"method\" goes with \"url\" only");
  fields.text("method", call.method);
  fields.text(key, call.url);
  if (!looks_like_url(call.url)) fields.wrong(key, "a path (\"/version\") or a full URL");
  body_field(fields, call);
  header_fields(fields, call);
}

Status load_call(const JsonReader& reader, HttpCall& call) {
  if (reader.value().is_string()) {
    call.url = reader.value().get<std::string>();
    if (!looks_like_url(call.url)) return reader.wrong("a path (\"/version\"), a full URL, or a request object");
    return {};
  }
  Fields fields(reader, "call");
  call_fields(fields, call);
  fields.statuses("expect", call.expect);
  return fields.status();
}

}  // namespace nightgate::config
