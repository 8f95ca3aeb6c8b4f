// JSON from outside: parsed with caps on size and depth, read field by field with the path in every complaint.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate {

struct JsonLimits {
  std::size_t bytes = 16U << 20U;
  int depth = 64;
  bool comments = false;  // allow // and /* */
};

// Code::bad_data with line and column. Duplicate keys, invalid UTF-8, NaN and Infinity are refused too.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

// One line; invalid UTF-8 (outside text) is replaced, never thrown over. indent < 0: compact.
[[nodiscard]] std::string dump_json(const nlohmann::json& value, int indent = -1);

// A view of one object that remembers where it is, for typed decoding with errors like
// "config: $.scenarios.create.repeats: found \"three\", expected an integer from 1 to 1000".
// Borrowed: the json must outlive the reader.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool has(std::string_view key) const;
  // Object with no key beyond these; the error names the unknown key, near matches and what is allowed.
  [[nodiscard]] Status only(std::initializer_list<std::string_view> allowed) const;
  [[nodiscard]] Status is_object() const;

  // Required fields.
  [[nodiscard]] Result<JsonReader> child(std::string_view key) const;
  [[nodiscard]] Result<std::string> string(std::string_view key) const;
  [[nodiscard]] Result<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max) const;
  [[nodiscard]] Result<double> number(std::string_view key, double min, double max) const;
  [[nodiscard]] Result<bool> boolean(std::string_view key) const;
  [[nodiscard]] Result<std::vector<std::string>> strings(std::string_view key) const;  // array of strings

  // The same with a default when the key is absent (null counts as present and wrong).
  [[nodiscard]] Result<std::string> string_or(std::string_view key, std::string fallback) const;
  [[nodiscard]] Result<std::int64_t> integer_or(std::string_view key, std::int64_t min, std::int64_t max,
                                                std::int64_t fallback) const;
  [[nodiscard]] Result<double> number_or(std::string_view key, double min, double max, double fallback) const;
  [[nodiscard]] Result<bool> boolean_or(std::string_view key, bool fallback) const;
  [[nodiscard]] Result<std::vector<std::string>> strings_or_empty(std::string_view key) const;
  // One of `allowed`.
  [[nodiscard]] Result<std::string> choice_or(std::string_view key, std::initializer_list<std::string_view> allowed,
                                              std::string fallback) const;

  // Members of an object and elements of an array, each with its own path.
  [[nodiscard]] std::vector<std::pair<std::string, JsonReader>> members() const;
  [[nodiscard]] std::vector<JsonReader> elements() const;

  // Code::bad_data: "PATH: found X, expected Y".
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view expected) const;
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view key, std::string_view expected) const;

 private:
  [[nodiscard]] std::string path_of(std::string_view key) const;
  const nlohmann::json* value_;
  std::string path_;
};

// Up to three of `candidates` that look like `word` (edit distance), best first; for "did you mean".
[[nodiscard]] std::vector<std::string> near_matches(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace nightgate
