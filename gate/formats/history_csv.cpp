// Our own CSV. One pass over the text; a field is copied once, into its row.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "gate/formats/history_builder.hpp"

namespace nightgate::formats {
namespace {

constexpr std::string_view kHeader = "time,commit,machine,metric,unit,better,value";
constexpr std::size_t kFields = 8;

enum class Ended { line, file };

// Splits records as RFC 4180 says: a quoted field may hold commas, line ends and doubled quotes.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  struct Record {
    std::size_t line = 0;
    std::size_t count = 0;
    std::array<std::string, kFields> fields;
    Ended ended = Ended::line;
  };

  // False at the end of the text. Empty lines are passed over.
  [[nodiscard]] Result<bool> next(Record& record) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) line_ += text_[at_++] == '\n' ? 1U : 0U;
    if (at_ >= text_.size()) return false;
    record.line = line_;
    record.count = 0;
    for (;;) {
      if (record.count == kFields) {
        return fail(Code::bad_data, fmt::format("{}more than {} fields", at_line(record.line), kFields));
      }
      NG_CHECK(field(record.fields[record.count++]));
      if (at_ >= text_.size()) {
        record.ended = Ended::file;
        return true;
      }
      if (text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (text_[at_] == '\r') ++at_;  // field() stops there only before a line feed
      ++at_;
      ++line_;
      record.ended = Ended::line;
      return true;
    }
  }

 private:
  [[nodiscard]] bool at_end_of_field() const {
    if (at_ >= text_.size() || text_[at_] == ',' || text_[at_] == '\n') return true;
    return text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
  }

  [[nodiscard]] Status field(std::string& out) {
    if (at_ < text_.size() && text_[at_] == '"') return quoted_field(out);
    const auto from = at_;
    while (!at_end_of_field()) {
      if (text_[at_] == '"') {
        return fail(Code::bad_data, fmt::format("{}a quote in the middle of an unquoted field", at_line(line_)));
      }
      ++at_;
    }
    out.assign(text_.substr(from, at_ - from));
    return {};
  }

  [[nodiscard]] Status quoted_field(std::string& out) {
    const auto opened = line_;
    out.clear();
    for (++at_;;) {
      const auto end = text_.find('"', at_);
      if (end == std::string_view::npos) {
        return fail(Code::bad_data, fmt::format("{}the file ends inside a quoted field; it was cut off, or a quote is "
                                                "missing",
                                                at_line(opened)));
      }
      for (auto i = at_; i < end; ++i) line_ += text_[i] == '\n' ? 1U : 0U;
      out.append(text_.substr(at_, end - at_));
      at_ = end + 1;
      if (at_ >= text_.size() || text_[at_] != '"') break;
      out += '"';
      ++at_;
    }
    if (at_end_of_field()) return {};
    return fail(Code::bad_data, fmt::format("{}text after a closing quote", at_line(line_)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

Result<bool> check_header(const CsvReader::Record& record) {  // true: with class
  std::string line;
  for (std::size_t i = 0; i < record.count; ++i) line += (i == 0 ? "" : ",") + record.fields[i];
  if (line == kHeader) return false;
  if (line == std::string(kHeader) + ",class") return true;
  return fail(Code::bad_data,
              fmt::format("{}the header is {}, expected {}[,class]", at_line(record.line), in_quotes(line), kHeader));
}

bool is_non_finite(std::string_view text) {
  double value = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  return done.ec == std::errc() && done.ptr == text.data() + text.size() && !std::isfinite(value);
}

Result<HistoryRow> to_row(CsvReader::Record& record) {
  const auto time = parse_time(record.fields[0]);
  if (!time) return fail(Code::bad_data, at_line(record.line) + time.error().message);
  const auto better = parse_better(record.fields[5]);
  if (!better) {
    return fail(Code::bad_data, fmt::format("{}better is {}, expected higher or lower", at_line(record.line),
                                            in_quotes(record.fields[5])));
  }
  // Whether a number that is none (nan, inf) stops the import or is left out is the builder's to say.
  auto value = parse_number(record.fields[6]);
  if (!value && is_non_finite(record.fields[6])) value = std::numeric_limits<double>::quiet_NaN();
  if (!value) {
    return fail(Code::bad_data,
                fmt::format("{}value {} is not a finite number", at_line(record.line), in_quotes(record.fields[6])));
  }
  return HistoryRow{*time,
                    std::move(record.fields[1]),
                    std::move(record.fields[2]),
                    std::move(record.fields[3]),
                    std::move(record.fields[4]),
                    *better,
                    *value,
                    std::move(record.fields[7])};
}

void append_field(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

Result<History> parse_csv(std::string_view text, const HistoryOptions& options) {
  NG_CHECK(check_size(text, options.bytes));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  CsvReader reader(text);
  CsvReader::Record record;
  NG_TRY(bool more, reader.next(record));
  NG_TRY(const bool with_class, check_header(record));
  const std::size_t expected = with_class ? kFields : kFields - 1;

  HistoryBuilder builder(options);
  for (;;) {
    NG_TRY(more, reader.next(record));
    if (!more) break;
    if (record.count != expected) {
      return fail(Code::bad_data,
                  fmt::format("{}{} fields, expected {}{}", at_line(record.line), record.count, expected,
                              record.ended == Ended::file ? "; the file was cut off here" : ""));
    }
    if (!with_class) record.fields[7].clear();
    NG_TRY(auto row, to_row(record));
    NG_CHECK(builder.add(record.line, std::move(row)));
  }
  if (record.ended == Ended::file) {
    builder.note(record.line, "the last line has no line end: if the file was cut off, its value may be too");
  }
  return std::move(builder).finish();
}

std::string print_csv(const std::vector<HistoryRow>& rows) {
  bool with_class = false;
  for (const auto& row : rows) with_class = with_class || !row.machine_class.empty();
  std::string out(kHeader);
  out += with_class ? ",class\n" : "\n";
  for (const auto& row : rows) {
    out += to_rfc3339(row.time);
    for (const std::string_view field : {std::string_view(row.commit), std::string_view(row.machine),
                                         std::string_view(row.metric), std::string_view(row.unit)}) {
      out += ',';
      append_field(out, field);
    }
    out += ',';
    out += to_text(row.better);
    out += ',';
    out += number_text(row.value);
    if (with_class) {
      out += ',';
      append_field(out, row.machine_class);
    }
    out += '\n';
  }
  return out;
}

}  // namespace nightgate::formats
