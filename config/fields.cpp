#include "config/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/keys.hpp"
#include "gate/base/process.hpp"

namespace nightgate::config {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

Status only_known(const JsonReader& reader, std::string_view object) {
  NG_CHECK(reader.is_object());
  const auto& allowed = known_keys(object);
  for (const auto& [key, value] : reader.members()) {
    if (std::ranges::find(allowed, key) != allowed.end()) continue;
    const auto near = near_matches(key, allowed);
    const std::string hint = near.empty() ? "" : fmt::format("did you mean {}? ", fmt::join(near, ", "));
    return fail(Code::usage,
                fmt::format("{}: unknown key; {}allowed here: {}", value.path(), hint, fmt::join(allowed, ", ")));
  }
  return {};
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, is_name_char) && name.front() != '-';
}

Fields::Fields(const JsonReader& reader, std::string_view object) : reader_(reader) {
  status_ = only_known(reader_, object);
}

void Fields::take(Status status) {
  if (ok() && !status) status_ = std::move(status);
}

template <class T, class U>
void Fields::store(Result<T> found, U& out) {
  if (found) {
    out = static_cast<U>(std::move(*found));
  } else {
    take(tl::unexpected<Error>(std::move(found).error()));
  }
}

void Fields::text(std::string_view key, std::string& out) {
  if (!ok() || !has(key)) return;
  store(reader_.string(key), out);
  if (ok() && out.empty()) wrong(key, "a string that is not empty");
}

void Fields::integer(std::string_view key, int& out, int min, int max) {
  if (ok() && has(key)) store(reader_.integer(key, min, max), out);
}

void Fields::integer(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max) {
  if (ok() && has(key)) store(reader_.integer(key, min, max), out);
}

void Fields::number(std::string_view key, double& out, double min, double max) {
  if (ok() && has(key)) store(reader_.number(key, min, max), out);
}

void Fields::flag(std::string_view key, bool& out) {
  if (ok() && has(key)) store(reader_.boolean(key), out);
}

void Fields::texts(std::string_view key, std::vector<std::string>& out) {
  if (ok() && has(key)) store(reader_.strings(key), out);
}

void Fields::command(std::string_view key, std::vector<std::string>& out) {
  with(key, [&](const JsonReader& field) -> Status {
    if (field.value().is_string()) {
      return field.wrong(
          "a command as an array of strings, [\"program\", \"argument\"]; nightgate runs no shell by itself "
          "(name one where you want it: [\"sh\", \"-c\", ...])");
    }
    if (!field.value().is_array() || field.value().empty()) {
      return field.wrong("a command: an array of strings (program, then arguments)");
    }
    NG_TRY(out, reader_.strings(key));
    if (out.front().empty()) return field.wrong("a program's name first");
    return {};
  });
}

void Fields::file(std::string_view key, fs::path& out, const fs::path& directory) {
  std::string found;
  text(key, found);
  if (!ok() || found.empty()) return;
  out = (directory / found).lexically_normal();
  if (!out.has_filename() && out.has_relative_path()) out = out.parent_path();  // no '/' at the end
}

void Fields::file(std::string_view key, std::string& out, const fs::path& directory) {
  fs::path path;
  file(key, path, directory);
  if (!path.empty()) out = path.string();
}

void Fields::variable(std::string_view key, std::string& out) {
  std::string found;
  if (!ok() || !has(key)) return;
  const auto text = reader_.string(key);
  if (text) found = *text;
  const bool plain = std::ranges::all_of(found, [](char c) { return is_name_char(c) && c != '-'; });
  const bool token = found.starts_with("ghp_") || found.starts_with("ghs_") || found.starts_with("github_pat_");
  if (found.empty() || !plain || token || (found.front() >= '0' && found.front() <= '9')) {
    return refuse(key,
                  "expected the name of an environment variable that holds the secret, such as GITHUB_TOKEN "
                  "(never the secret itself)");
  }
  out = found;
}

void Fields::text_map(std::string_view key, std::map<std::string, std::string>& out) {
  with(key, [&](const JsonReader& field) -> Status {
    NG_CHECK(field.is_object());
    for (const auto& [name, value] : field.members()) {
      if (!value.value().is_string()) return value.wrong("a string");
      out[name] = value.value().get<std::string>();
    }
    return {};
  });
}

void Fields::cpus(std::string_view key, std::string& out) {
  std::string found = out;
  text(key, found);
  if (!ok() || !has(key)) return;
  if (!parse_cpus(found)) return wrong(key, "CPU numbers such as \"0-3\" or \"0,2,4-7\"");
  out = found;
}

void Fields::statuses(std::string_view key, std::vector<int>& out) {
  with(key, [&](const JsonReader& field) -> Status {
    const auto add = [&](const JsonReader& one) -> Status {
      const auto& value = one.value();
      if (!value.is_number_integer() || value < 100 || value > 599) return one.wrong("an HTTP status (100 to 599)");
      out.push_back(value.get<int>());
      return {};
    };
    if (!field.value().is_array()) return add(field);
    for (const auto& one : field.elements()) {
      NG_CHECK(add(one));
    }
    return {};
  });
}

void Fields::with(std::string_view key, const std::function<Status(const JsonReader&)>& decode) {
  if (!ok() || !has(key)) return;
  const auto field = reader_.child(key);
  take(field ? decode(*field) : Status(tl::unexpected<Error>(field.error())));
}

void Fields::each_member(std::string_view key,
                         const std::function<Status(const std::string&, const JsonReader&)>& decode) {
  with(key, [&](const JsonReader& field) -> Status {
    NG_CHECK(field.is_object());
    for (const auto& [name, value] : field.members()) {
      if (name.empty() || name.size() > 200) return field.wrong("names of 1 to 200 characters");
      NG_CHECK(decode(name, value));
    }
    return {};
  });
}

void Fields::each_element(std::string_view key, const std::function<Status(const JsonReader&)>& decode) {
  with(key, [&](const JsonReader& field) -> Status {
    if (!field.value().is_array()) return field.wrong("an array");
    for (const auto& element : field.elements()) {
      NG_CHECK(decode(element));
    }
    return {};
  });
}

void Fields::require(std::string_view key, std::string_view expected) {
  if (!has(key)) wrong(key, expected);
}

void Fields::wrong(std::string_view key, std::string_view expected) {
  if (ok()) status_ = reader_.wrong(key, expected);
}

void Fields::refuse(std::string message) {
  if (ok()) status_ = fail(Code::usage, reader_.path() + ": " + std::move(message));
}

void Fields::refuse(std::string_view key, std::string_view message) {
  if (ok()) status_ = fail(Code::usage, path_of(key) + ": " + std::string(message));
}

}  // namespace nightgate::config
