// Parameters and answers of a statement, as text in PostgreSQL's own forms.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "store/postgres_connection.hpp"

namespace nightgate::store {
namespace {

// Numbers of the built-in types (pg_type.dat); they never change.
constexpr Oid oid_bool = 16, oid_int8 = 20, oid_text = 25, oid_float8 = 701, oid_timestamptz = 1184, oid_jsonb = 3802;
constexpr Oid oid_bool_array = 1000, oid_text_array = 1009, oid_int8_array = 1016, oid_float8_array = 1022;

std::string number_text(double value) { return fmt::format("{:.17g}", value); }

// Length of the valid UTF-8 sequence at the front, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead == 0) return 0;
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool beyond = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

template <class Values, class Append>
std::string array_text(const Values& values, Append append) {
  std::string out = "{";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    append(out, values[i]);
  }
  return out + "}";
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

Params& Params::add(Oid type, std::optional<std::string> value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  return *this;
}
Params& Params::text(std::string_view value) { return add(oid_text, clean_utf8(value)); }
Params& Params::integer(std::int64_t value) { return add(oid_int8, std::to_string(value)); }
Params& Params::integer_or_null(const std::optional<std::int64_t>& value) {
  return value ? integer(*value) : add(oid_int8, std::nullopt);
}
Params& Params::number(double value) {
  return std::isfinite(value) ? add(oid_float8, number_text(value)) : add(oid_float8, std::nullopt);
}
Params& Params::boolean(bool value) { return add(oid_bool, value ? "t" : "f"); }
Params& Params::time(Instant value) { return add(oid_timestamptz, to_rfc3339(value)); }
Params& Params::time_or_null(const std::optional<Instant>& value) {
  return value ? time(*value) : add(oid_timestamptz, std::nullopt);
}
Params& Params::json(std::string_view document) {
  return document.empty() ? add(oid_jsonb, std::nullopt) : add(oid_jsonb, clean_utf8(document));
}
Params& Params::texts(const std::vector<std::string>& values) {
  return add(oid_text_array,
             array_text(values, [](std::string& out, const std::string& v) { append_quoted(out, clean_utf8(v)); }));
}
Params& Params::integers(const std::vector<std::int64_t>& values) {
  return add(oid_int8_array, array_text(values, [](std::string& out, std::int64_t v) { out += std::to_string(v); }));
}
Params& Params::numbers(const std::vector<double>& values) {
  return add(oid_float8_array,
             array_text(values, [](std::string& out, double v) { out += std::isfinite(v) ? number_text(v) : "NULL"; }));
}
Params& Params::booleans(const std::vector<bool>& values) {
  return add(oid_bool_array, array_text(values, [](std::string& out, bool v) { out += v ? 't' : 'f'; }));
}
std::vector<const char*> Params::pointers() const {
  std::vector<const char*> out;
  out.reserve(values_.size());
  for (const auto& value : values_) out.push_back(value ? value->c_str() : nullptr);
  return out;
}

std::string Rows::text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}
std::int64_t Rows::integer(int row, int column) const {
  const std::string value = text(row, column);
  std::int64_t out = 0;
  std::from_chars(value.data(), value.data() + value.size(), out);
  return out;
}
double Rows::number(int row, int column) const {
  if (is_null(row, column)) return unknown;
  const std::string value = text(row, column);
  double out = unknown;
  std::from_chars(value.data(), value.data() + value.size(), out);
  return out;
}
bool Rows::boolean(int row, int column) const { return text(row, column) == "t"; }
Instant Rows::time(int row, int column) const { return Instant(Micros(integer(row, column))); }
std::optional<Instant> Rows::time_or_null(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return time(row, column);
}
std::optional<std::int64_t> Rows::integer_or_null(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return integer(row, column);
}
std::int64_t Rows::affected() const {
  const std::string_view count = PQcmdTuples(result_.get());
  std::int64_t out = 0;
  std::from_chars(count.data(), count.data() + count.size(), out);
  return out;
}

std::string micros(std::string_view column) { return fmt::format("(extract(epoch FROM {})*1000000)::bigint", column); }

}  // namespace nightgate::store
