// JSON lines: one object per night and deployment. The fields are described in history.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gate/base/json.hpp"
#include "gate/formats/history_builder.hpp"

namespace nightgate::formats {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxLine = std::size_t{1} << 20U;
constexpr JsonLimits kLineLimits{kMaxLine, 8, false};

// Field names that are not metrics. The second row says more about the run than we keep.
constexpr std::array<std::string_view, 21> kFields = {
    "db",    "date",      "time", "sha",    "commit",     "machine", "class", "machine_class",
    "cpu",   "cpu_model", "run",  "run_id", "run_number", "attempt", "cores", "cpus",
    "nproc", "threads",   "unit", "better", "values"};

bool is_field(std::string_view name) { return std::find(kFields.begin(), kFields.end(), name) != kFields.end(); }

// The text of the first of `names` that is there; nullptr when none is. Another type than text is an error.
Result<const std::string*> text_field(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) continue;
    if (found->is_string()) return &found->get_ref<const std::string&>();
    return fail(Code::bad_data, fmt::format("\"{}\" is {}, expected a text", name, found->type_name()));
  }
  return nullptr;
}

// One text for all metrics of the object, or an object by metric name.
class PerMetric {
 public:
  static Result<PerMetric> read(const Json& object, const char* field) {
    PerMetric out;
    const auto found = object.find(field);
    if (found == object.end() || found->is_null()) return out;
    if (!found->is_string() && !found->is_object()) {
      return fail(Code::bad_data, fmt::format("\"{}\" is {}, expected a text or an object", field, found->type_name()));
    }
    if (found->is_object()) {
      for (const auto& [name, value] : found->items()) {
        if (!value.is_string()) {
          return fail(Code::bad_data,
                      fmt::format("\"{}\" of {} is {}, expected a text", field, in_quotes(name), value.type_name()));
        }
      }
    }
    out.value_ = &*found;
    return out;
  }
  [[nodiscard]] const std::string* of(const std::string& metric) const {
    if (value_ == nullptr) return nullptr;
    if (value_->is_string()) return &value_->get_ref<const std::string&>();
    const auto found = value_->find(metric);
    return found == value_->end() ? nullptr : &found->get_ref<const std::string&>();
  }

 private:
  const Json* value_ = nullptr;
};

class LinesParser {
 public:
  explicit LinesParser(const HistoryOptions& options) : options_(options), builder_(options) {}

  [[nodiscard]] Status line(std::size_t number, std::string_view text) {
    auto parsed = parse_json(text, kLineLimits);
    if (!parsed) {
      std::string message = parsed.error().message;  // its own line number is always 1 here
      if (const auto at = message.find("line 1, "); at != std::string::npos) message.erase(at, 8);
      return fail(Code::bad_data, at_line(number) + message);
    }
    if (!parsed->is_object()) {
      return fail(Code::bad_data,
                  fmt::format("{}found {}, expected one object per line", at_line(number), parsed->type_name()));
    }
    return object(number, *parsed);
  }
  [[nodiscard]] Result<History> finish() && { return std::move(builder_).finish(); }

 private:
  struct Night {
    HistoryRow stamp;    // all but metric, unit, direction and value
    std::string prefix;  // "db." or nothing
    PerMetric unit, better;
  };

  [[nodiscard]] Status object(std::size_t number, const Json& object) {
    auto night = read_night(number, object);
    if (!night) return fail(Code::bad_data, at_line(number) + night.error().message);
    for (const auto& [name, value] : object.items()) {
      if (is_field(name)) continue;
      NG_CHECK(metric(number, *night, name, value));
    }
    const auto values = object.find("values");
    if (values == object.end()) return {};
    if (!values->is_object()) return fail(Code::bad_data, at_line(number) + "\"values\" is not an object");
    for (const auto& [name, value] : values->items()) {
      NG_CHECK(metric(number, *night, name, value));
    }
    return {};
  }

  [[nodiscard]] Result<Night> read_night(std::size_t number, const Json& object) {
    Night night;
    NG_TRY(const auto* date, text_field(object, {"date", "time"}));
    if (date == nullptr) return fail(Code::bad_data, "no \"date\"");
    NG_TRY(night.stamp.time, parse_time(*date, DateOnly::yes));
    NG_TRY(const auto* sha, text_field(object, {"sha", "commit"}));
    night.stamp.commit = sha != nullptr ? *sha : options_.night.commit;
    NG_TRY(const auto* machine, text_field(object, {"machine"}));
    night.stamp.machine = machine != nullptr ? *machine : options_.night.machine;
    NG_TRY(const auto* machine_class, text_field(object, {"class", "machine_class", "cpu", "cpu_model"}));
    night.stamp.machine_class = machine_class != nullptr ? *machine_class : options_.night.machine_class;
    NG_TRY(const auto* db, text_field(object, {"db"}));
    if (db != nullptr && !db->empty()) night.prefix = *db + ".";
    NG_TRY(night.unit, PerMetric::read(object, "unit"));
    NG_TRY(night.better, PerMetric::read(object, "better"));
    if (const auto run = object.find("run"); run != object.end() && !run->is_null()) {
      move_further_run(number, night.stamp, run->is_string() ? run->get<std::string>() : dump_json(*run));
    }
    return night;
  }

  // Several runs under one date: the n-th one is moved on by n - 1 minutes, the same for all its lines.
  void move_further_run(std::size_t number, HistoryRow& stamp, const std::string& run) {
    auto& runs = runs_[{stamp.machine, stamp.time}];
    const auto index = std::find(runs.begin(), runs.end(), run) - runs.begin();
    if (index == std::ssize(runs)) {
      runs.push_back(run);
      if (index > 0) {
        builder_.note(number, fmt::format("run {} carries the date of run {}; moved on by {} min", in_quotes(run),
                                          in_quotes(runs.front()), index));
      }
    }
    stamp.time += std::chrono::minutes{index};
  }

  [[nodiscard]] Status metric(std::size_t number, const Night& night, const std::string& name, const Json& value) {
    if (!value.is_number()) {
      if (ignored_.insert(name).second) {
        builder_.note(number, fmt::format("field {} is {}, not a number; ignored", in_quotes(name), value.type_name()));
      }
      return {};
    }
    HistoryRow row = night.stamp;
    row.metric = night.prefix + name;
    row.value = value.get<double>();
    const std::string* unit = night.unit.of(name);
    const std::string* better = night.better.of(name);
    const auto hint = unit != nullptr ? std::nullopt : hint_from_name(name);
    row.unit = unit != nullptr ? *unit : hint ? hint->unit : options_.default_unit;
    row.better = hint ? hint->better : options_.default_better;
    if (unit != nullptr) row.better = better_of_unit(*unit).value_or(options_.default_better);
    if (better != nullptr) {
      const auto parsed = parse_better(*better);
      if (!parsed) {
        return fail(Code::bad_data, fmt::format("{}better of {} is {}, expected higher or lower", at_line(number),
                                                in_quotes(name), in_quotes(*better)));
      }
      row.better = *parsed;
    }
    return builder_.add(number, std::move(row));
  }

  const HistoryOptions& options_;
  HistoryBuilder builder_;
  std::map<std::pair<std::string, Instant>, std::vector<std::string>> runs_;
  std::set<std::string> ignored_;
};

// "db" and NAME of a metric: split at the first dot, unless one side would be empty.
std::pair<std::string_view, std::string_view> split_metric(std::string_view metric) {
  const auto dot = metric.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == metric.size()) return {{}, metric};
  return {metric.substr(0, dot), metric.substr(dot + 1)};
}

bool same_object(const HistoryRow& a, const HistoryRow& b) {
  return a.time == b.time && a.machine == b.machine && a.commit == b.commit && a.machine_class == b.machine_class &&
         split_metric(a.metric).first == split_metric(b.metric).first;
}

std::string json_text(std::string_view text) { return dump_json(Json(std::string(text))); }

// "unit":"ms" when all rows agree, else "unit":{"NAME":"ms",...}.
template <class Field>
void append_per_metric(std::string& out, std::string_view name, const HistoryRow* from, const HistoryRow* to,
                       Field field) {
  out += fmt::format(",\"{}\":", name);
  if (std::all_of(from, to, [&](const HistoryRow& row) { return field(row) == field(*from); })) {
    out += json_text(field(*from));
    return;
  }
  const char* comma = "{";
  for (const HistoryRow* row = from; row != to; ++row) {
    out += comma + json_text(split_metric(row->metric).second) + ':' + json_text(field(*row));
    comma = ",";
  }
  out += '}';
}

void append_object(std::string& out, const HistoryRow* from, const HistoryRow* to) {
  const auto db = split_metric(from->metric).first;
  out += '{';
  if (!db.empty()) out += "\"db\":" + json_text(db) + ',';
  out += "\"date\":" + json_text(to_rfc3339(from->time)) + ",\"sha\":" + json_text(from->commit) +
         ",\"machine\":" + json_text(from->machine);
  if (!from->machine_class.empty()) out += ",\"class\":" + json_text(from->machine_class);
  append_per_metric(out, "unit", from, to, [](const HistoryRow& row) { return std::string_view(row.unit); });
  append_per_metric(out, "better", from, to, [](const HistoryRow& row) { return to_text(row.better); });
  std::string values;
  for (const HistoryRow* row = from; row != to; ++row) {
    const auto name = split_metric(row->metric).second;
    const std::string member = json_text(name) + ':' + number_text(row->value);
    if (is_field(name)) {
      values += (values.empty() ? "" : ",") + member;
    } else {
      out += ',' + member;
    }
  }
  if (!values.empty()) out += ",\"values\":{" + values + '}';
  out += "}\n";
}

}  // namespace

Result<History> parse_json_lines(std::string_view text, const HistoryOptions& options) {
  NG_CHECK(check_size(text, options.bytes));
  LinesParser parser(options);
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    NG_CHECK(parser.line(number, line));
  }
  return std::move(parser).finish();
}

std::string print_json_lines(const std::vector<HistoryRow>& rows) {
  std::string out;
  for (std::size_t from = 0; from < rows.size();) {
    std::size_t to = from + 1;
    while (to < rows.size() && same_object(rows[from], rows[to])) ++to;
    append_object(out, rows.data() + from, rows.data() + to);
    from = to;
  }
  return out;
}

}  // namespace nightgate::formats
