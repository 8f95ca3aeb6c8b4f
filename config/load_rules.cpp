// "night", "gate", "bisect", "compare", "report" and "store".
#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/fields.hpp"

namespace nightgate::config {
namespace {

Status load_night(const JsonReader& reader, Night& night) {
  Fields fields(reader, "night");
  fields.integer("starts", night.starts, 1, 100);
  fields.with("control", [&](const JsonReader& field) -> Status {
    const auto control = [&](const JsonReader& one) -> Status {
      if (!one.value().is_string() || one.value() == "") return one.wrong("a commit, tag, image reference or path");
      night.control = one.value().get<std::string>();
      return {};
    };
    if (field.value().is_string()) return control(field);
    Fields inner(field, "control");
    inner.require("target", "a commit, tag, image reference or path");
    inner.with("target", control);
    return inner.status();
  });
  fields.integer("max_minutes", night.max_minutes, 1, 7 * 24 * 60);
  fields.number("min_gap_hours", night.min_gap_hours, 0, 24 * 30);
  fields.flag("bisect", night.bisect);
  return fields.status();
}

Status load_gate(const JsonReader& reader, Gate& gate) {
  Fields fields(reader, "gate");
  fields.integer("trip_after", gate.trip_after, 2, 10);  // one bad night never trips
  fields.number("min_change", gate.min_change, 0.001, 0.9);
  fields.integer("window", gate.window, 5, 1000);
  return fields.status();
}

Status load_bisect(const JsonReader& reader, Bisect& bisect) {
  Fields fields(reader, "bisect");
  fields.integer("interior", bisect.interior, 1, 16);
  fields.number("error", bisect.error, 1e-6, 0.5);
  fields.integer("max_minutes", bisect.max_minutes, 1, 30 * 24 * 60);
  fields.integer("max_measurements", bisect.max_measurements, 4, 1000000);
  return fields.status();
}

Status load_equivalence(const JsonReader& reader, Equivalence& equivalence) {
  if (reader.value().is_string()) return load_call(reader, equivalence.get);
  Fields fields(reader, "equivalence");
  call_fields(fields, equivalence.get);
  fields.statuses("expect", equivalence.get.expect);
  fields.texts("ignore", equivalence.ignore);
  const auto is_pointer = [](const std::string& pointer) { return pointer.starts_with('/'); };
  if (!std::ranges::all_of(equivalence.ignore, is_pointer)) fields.wrong("ignore", "JSON pointers such as \"/time\"");
  return fields.status();
}

Status load_compare(const JsonReader& reader, Compare& compare) {
  Fields fields(reader, "compare");
  fields.integer("max_pairs", compare.max_pairs, 1, 10000);
  fields.integer("max_minutes", compare.max_minutes, 1, 7 * 24 * 60);
  fields.each_element("equivalence", [&](const JsonReader& element) {
    return load_equivalence(element, compare.equivalence.emplace_back());
  });
  return fields.status();
}

Status load_github(const JsonReader& reader, GitHub& github, const fs::path& directory) {
  Fields fields(reader, "github");
  fields.require("repository", "owner/name");
  fields.text("repository", github.repository);
  const auto slash = github.repository.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == github.repository.size() ||
      github.repository.find_first_of(" :@", 0) != std::string::npos ||
      std::ranges::count(github.repository, '/') != 1) {
    fields.wrong("repository", "owner/name");
  }
  fields.text("api", github.api);
  if (!github.api.starts_with("https://") && !github.api.starts_with("http://")) fields.wrong("api", "a URL");
  fields.variable("token_env", github.token_env);
  fields.file("token_file", github.token_file, directory);
  fields.file("ca_file", github.ca_file, directory);
  if (fields.has("token_env") == fields.has("token_file"))
    fields.refuse("expected either \"token_env\" or \"token_file\"");
  return fields.status();
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Lower case, with %xx decoded as libpq does in a URI.
std::string plain_text(std::string_view store) {
  std::string text(store);
  std::ranges::transform(text, text.begin(), lower);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Does a libpq connection string, as URI or as "key = value" pairs, carry a password?
bool holds_password(std::string_view store) {
  const std::string text = plain_text(store);
  const auto scheme = text.find("://");
  if (scheme != std::string::npos && text.starts_with("postgres")) {
    const auto at = text.rfind('@');  // the last one: a password may hold '/', '?' or '@' although it should not
    const auto user = text.substr(scheme + 3, at == std::string::npos ? 0 : at - scheme - 3);
    if (user.find(':') != std::string::npos) return true;
  }
  for (auto at = text.find("password"); at != std::string::npos; at = text.find("password", at + 1)) {
    const auto after = text.find_first_not_of(" \t\r\n", at + std::string_view("password").size());
    if (after != std::string::npos && text[after] == '=') return true;
  }
  return false;
}

}  // namespace

Status load_rules(const JsonReader& root, Config& config) {
  Fields fields(root, "config");
  fields.with("night", [&](const JsonReader& field) { return load_night(field, config.night); });
  fields.with("gate", [&](const JsonReader& field) { return load_gate(field, config.gate); });
  fields.with("bisect", [&](const JsonReader& field) { return load_bisect(field, config.bisect); });
  fields.with("compare", [&](const JsonReader& field) { return load_compare(field, config.compare); });
  return fields.status();
}

Status load_report(const JsonReader& reader, Config& config) {
  Fields fields(reader, "report");
  fields.with("github", [&](const JsonReader& field) {
    return load_github(field, config.report.github.emplace(), config.directory);
  });
  fields.file("directory", config.report.directory, config.directory);
  fields.file("site", config.report.site, config.directory);
  fields.variable("webhook_env", config.report.webhook_env);
  fields.command("hook", config.report.hook);
  return fields.status();
}

Status load_store(const JsonReader& root, Config& config) {
  Fields fields(root, "config");
  if (fields.has("store") && fields.reader().value()["store"].is_string()) {
    const auto store = fields.reader().value()["store"].get<std::string>();
    if (holds_password(store)) {
      fields.refuse("store",
                    "no password may stand in the config; put it into an environment variable and name that "
                    "one in \"store_password_env\"");
    }
    if (store != "embedded" && store.find('=') == std::string::npos && !store.starts_with("postgres://") &&
        !store.starts_with("postgresql://")) {
      fields.wrong("store",
                   "\"embedded\", or a PostgreSQL connection string (\"host=... dbname=...\", \"postgresql://...\")");
    }
  }
  fields.text("store", config.store);
  fields.variable("store_password_env", config.store_password_env);
  if (config.store == "embedded" && fields.has("store_password_env")) {
    fields.refuse("store_password_env", "the embedded store has no password");
  }
  return fields.status();
}

}  // namespace nightgate::config
