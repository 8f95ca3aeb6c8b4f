// The loader, the schema and the page of keys say the same.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "config/keys.hpp"
#include "gate/base/files.hpp"
#include "gate/base/json.hpp"
#include "gate/formats/load.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate;

namespace {
nlohmann::json schema() {
  const auto text = read_file(NIGHTGATE_SOURCE_DIR "/config/schemas/config.schema.json");
  REQUIRE(text);
  auto json = parse_json(*text);
  REQUIRE(json);
  return *json;
}
std::set<std::string> keys_of(const nlohmann::json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.at("properties").items()) keys.insert(key);
  return keys;
}
}  // namespace

TEST_CASE("every key of the loader is in the schema, and the other way round", "[config]") {
  const auto json = schema();
  std::set<std::string> objects;
  for (const auto& [object, keys] : config::known_objects()) {
    INFO(object);
    objects.emplace(object);
    const auto& definition = object == "config" ? json : json.at("definitions").at(std::string(object));
    CHECK(keys_of(definition) == std::set<std::string>(keys.begin(), keys.end()));
    CHECK(definition.at("additionalProperties") == false);
  }
  for (const auto& [name, definition] : json.at("definitions").items()) {
    INFO(name);
    if (definition.contains("properties")) CHECK(objects.contains(name));
  }
}

TEST_CASE("every key is described, in the schema and on its page", "[config]") {
  const auto json = schema();
  const auto page = read_file(NIGHTGATE_SOURCE_DIR "/config/keys.md");
  REQUIRE(page);
  for (const auto& [object, keys] : config::known_objects()) {
    const auto& definition = object == "config" ? json : json.at("definitions").at(std::string(object));
    const auto begin = page->find("\n### " + std::string(object));
    REQUIRE(begin != std::string::npos);
    const auto section = page->substr(begin, page->find("\n### ", begin + 1) - begin);
    for (const std::string& key : keys) {
      INFO(object << "." << key);
      const auto description = definition.at("properties").at(key).at("description").get<std::string>();
      CHECK(description.size() > 5);
      CHECK(section.find("| `" + key + "` |") != std::string::npos);
      CHECK(section.find("| " + description + " |") != std::string::npos);
    }
  }
}

TEST_CASE("formats of commands are those that gate/formats reads", "[config]") {
  CHECK(config::load_formats() == formats::program_formats());
  CHECK(schema().at("definitions").at("command").at("properties").at("format").at("enum") == config::load_formats());
}
