#include "entity.hpp"

#include <nlohmann/json.hpp>

namespace broker::entity {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxName = 256;

// For text from outside. No exceptions: a parse that fails, or nests too deep, gives a discarded value.
json parse(std::string_view text) {
  bool too_deep = false;
  const auto watch = [&too_deep](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  json value = json::parse(text.begin(), text.end(), watch, false);
  return too_deep ? json(json::value_t::discarded) : value;
}

// For text of our own, which was checked when it came in.
json parse_stored(std::string_view text) { return json::parse(text.begin(), text.end(), nullptr, false); }

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      if (++depth > kMaxDepth) return true;
    } else if (!in_string && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return false;
}

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxName) return false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || c == '<' || c == '>' || c == '"' || c == '\\') return false;
  }
  return true;
}

// No text in an entity, at any depth, holds a character that could end up as markup or code in a client's page.
bool texts_are_clean(const json& value) {
  if (value.is_string()) {
    return value.get_ref<const std::string&>().find_first_of("<>\"'=;()") == std::string::npos;
  }
  if (value.is_structured()) {
    for (const json& part : value) {
      if (!texts_are_clean(part)) return false;
    }
  }
  return true;
}

const char* type_name(const json& value) {
  if (value.is_number()) return "Number";
  if (value.is_string()) return "Text";
  if (value.is_boolean()) return "Boolean";
  return "StructuredValue";
}

void normalise_attribute(json& value) {
  if (!value.is_object() || !value.contains("value")) {
    json whole = json::object();
    whole["type"] = type_name(value);
    whole["value"] = std::move(value);
    value = std::move(whole);
  } else if (!value.contains("type")) {
    value["type"] = type_name(value["value"]);
  }
}

void normalise(json& entity) {
  for (auto& [name, value] : entity.items()) {
    if (name != "id" && name != "type") normalise_attribute(value);
  }
}

std::string name_member(const json& entity, const char* member, std::string& error) {
  const auto found = entity.find(member);
  if (found == entity.end() || !found->is_string() || !is_name(found->get_ref<const std::string&>())) {
    error = std::string("an entity needs a string '") + member + "' of 1 to 256 characters";
    return {};
  }
  return found->get<std::string>();
}

Checked checked_value(const json& entity) {
  Checked result;
  if (!entity.is_object()) {
    result.error = "an entity is a JSON object";
    return result;
  }
  result.id = name_member(entity, "id", result.error);
  if (result.error.empty()) result.type = name_member(entity, "type", result.error);
  for (const auto& [name, value] : entity.items()) {
    if (!result.error.empty()) break;
    if (!is_name(name)) result.error = "an attribute has a name that is not allowed";
    if (!texts_are_clean(value)) result.error = "a text holds one of the characters < > \" ' = ; ( )";
  }
  return result;
}

Checked finished(json& entity) {
  Checked result = checked_value(entity);
  if (!result.error.empty()) return result;
  normalise(entity);
  result.text = dump(entity);
  return result;
}

}  // namespace

Checked check(std::string_view body) {
  json entity = parse(body);
  return finished(entity);
}

Checked check_only(std::string_view body) {
  Checked result;
  if (nests_too_deep(body)) {
    result.error = "an entity is a JSON object";
    return result;
  }
  result = checked_value(parse_stored(body));
  if (result.error.empty()) result.text = body;
  return result;
}

std::vector<Checked> check_batch(std::string_view body) {
  json batch = parse(body);
  std::vector<Checked> all;
  if (!batch.is_array()) {
    all.emplace_back();
    all.back().error = "a batch is a JSON array of entities";
    return all;
  }
  for (json& entity : batch) all.push_back(finished(entity));
  return all;
}

std::string represent(std::string_view stored) { return dump(parse_stored(stored)); }

std::string represent_as_sent(std::string_view stored) {
  json entity = parse_stored(stored);
  normalise(entity);
  return dump(entity);
}

Checked patched(std::string_view stored, std::string_view patch) {
  json entity = parse_stored(stored);
  const json change = parse(patch);
  Checked result;
  if (!change.is_object() || change.empty()) {
    result.error = "a patch is a JSON object with attributes";
    return result;
  }
  for (const auto& [name, value] : change.items()) {
    if (name == "id" || name == "type") {
      result.error = "a patch cannot change 'id' or 'type'";
      return result;
    }
    if (value.is_null()) {
      entity.erase(name);
    } else {
      entity[name] = value;
    }
  }
  return finished(entity);
}

bool same_content(std::string_view a, std::string_view b) {
  const auto id_of = [](std::string_view text) {
    const std::size_t at = text.rfind("\"id\":\"");
    return at == std::string_view::npos ? std::pair(text.size(), text.size()) : std::pair(at, text.find('"', at + 6));
  };
  const auto [a_from, a_to] = id_of(a);
  const auto [b_from, b_to] = id_of(b);
  return a.substr(0, a_from) == b.substr(0, b_from) && a.substr(a_to) == b.substr(b_to);
}

std::string error_text(std::string_view text) { return "{\"error\":" + quoted(text) + "}"; }

std::string quoted(std::string_view text) { return dump(json(text)); }

}  // namespace broker::entity
