#include "gate/formats/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/formats/load_internal.hpp"
#include "gate/formats/pattern.hpp"

namespace nightgate::formats {
namespace {

using Json = nlohmann::json;
using Readings = Result<std::vector<Reading>>;

constexpr JsonLimits kLimits{kMaxProgramOutput, 64, false};
constexpr int kMaxNesting = 4;

Reading plain_reading(std::string name, double value) {
  const auto hint = hint_from_name(name);
  const auto better = hint ? std::optional(hint->better) : better_of_name(name);
  return {std::move(name), value, hint ? hint->unit : "", better.value_or(Better::higher), better.has_value()};
}

// {"value": 3, "unit": "ms", "better": "lower"}
Result<Reading> described_reading(const JsonReader& reader, const std::string& name) {
  NG_CHECK(reader.only({"value", "unit", "better"}));
  NG_TRY(const auto value, reader.number("value", -1e300, 1e300));
  Reading out = plain_reading(name, value);
  if (reader.has("unit")) {
    NG_TRY(out.unit, reader.string("unit"));
    out.unit = clean_name(out.unit);
    const auto better = better_of_unit(out.unit);
    out.better = better.value_or(out.better);
    out.better_known |= better.has_value();
  }
  if (reader.has("better")) {
    NG_TRY(const auto better, reader.string("better"));
    const auto parsed = parse_better(better);
    if (!parsed) return reader.wrong("better", "\"higher\" or \"lower\"");
    out.better = *parsed;
    out.better_known = true;
  }
  return out;
}

Status flatten(const JsonReader& object, const std::string& prefix, int depth, std::vector<Reading>& out) {
  for (const auto& [key, member] : object.members()) {
    const std::string name = prefix + clean_name(key);
    if (member.value().is_number()) {
      out.push_back(plain_reading(name, member.value().get<double>()));
    } else if (member.value().is_object() && member.has("value")) {
      NG_TRY(auto reading, described_reading(member, name));
      out.push_back(std::move(reading));
    } else if (member.value().is_object() && depth < kMaxNesting) {
      NG_CHECK(flatten(member, name + ".", depth + 1, out));
    }
  }
  return {};
}

Result<double> number_at(const Json& json, const std::string& metric, const std::string& pointer) {
  const auto where = fmt::format("metric {}: JSON pointer {}", in_quotes(metric), in_quotes(pointer));
  // The library's own pointer throws for each of these; walking is as short.
  if (!pointer.empty() && pointer[0] != '/') return fail(Code::usage, where + " does not begin with '/'");
  const Json* at = &json;
  for (std::size_t from = 1; from <= pointer.size();) {
    const auto end = std::min(pointer.find('/', from), pointer.size());
    std::string token = pointer.substr(from, end - from);
    for (std::size_t i = 0; (i = token.find('~', i)) != std::string::npos; ++i) {
      if (i + 1 >= token.size() || (token[i + 1] != '0' && token[i + 1] != '1'))
        return fail(Code::usage, where + " has a lone '~'");
      token.replace(i, 2, token[i + 1] == '0' ? "~" : "/");
    }
    from = end + 1;
    const auto index = parse_number(token);
    const bool digits =
        !token.empty() && token.size() < 10 && token.find_first_not_of("0123456789") == std::string::npos;
    if (at->is_object() && at->contains(token)) {
      at = &(*at)[token];
    } else if (at->is_array() && digits && static_cast<std::size_t>(*index) < at->size()) {
      at = &(*at)[static_cast<std::size_t>(*index)];
    } else {
      return fail(Code::bad_data, where + " leads nowhere in the output (at " + in_quotes(token) + ")");
    }
  }
  if (!at->is_number()) return fail(Code::bad_data, where + " leads to " + at->type_name() + ", expected a number");
  return at->get<double>();
}

}  // namespace

tl::unexpected<Error> no_result(std::string_view program, std::string_view output) {
  return fail(Code::bad_data,
              fmt::format("found no result of {} in its output, which begins with {}", program, in_quotes(output)));
}

Result<Json> json_of_output(std::string_view output, std::string_view program) {
  if (output.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(Code::bad_data, fmt::format("{} printed nothing", program));
  auto whole = parse_json(output, kLimits);
  if (whole) return whole;
  for (auto rest = output; !rest.empty();) {
    const auto newline = rest.rfind('\n');
    const auto line = newline == std::string_view::npos ? rest : rest.substr(newline + 1);
    rest = newline == std::string_view::npos ? std::string_view() : rest.substr(0, newline);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    // Only the last line may be the result: what is printed after it, an error perhaps, must not go unseen.
    if (!line.starts_with('{') && !line.starts_with('[')) break;
    if (auto parsed = parse_json(line, kLimits)) return parsed;
    break;
  }
  return with_context(whole.error(), fmt::format("reading the output of {}", program));
}

void MedianOf::add(const std::string& name, double value, const std::string& unit, Better better) {
  const auto [place, fresh] = index_.try_emplace(name, order_.size());
  if (fresh) order_.push_back({{name, 0, unit, better}, {}});
  order_[place->second].values.push_back(value);
}

std::vector<Reading> MedianOf::take() const {
  std::vector<Reading> out;
  for (const auto& entry : order_) {
    out.push_back(entry.reading);
    out.back().value = median_of(entry.values);
  }
  return out;
}

Readings parse_metric_json(std::string_view output) {
  NG_TRY(const auto json, json_of_output(output, "the command"));
  const JsonReader root(json, "output: $");
  NG_CHECK(root.is_object());
  std::vector<Reading> out;
  NG_CHECK(flatten(root, "", 1, out));
  if (out.empty()) return no_result("the command", output);
  return out;
}

Readings parse_json_pointers(std::string_view output, const Picks& picks) {
  if (picks.empty()) return fail(Code::usage, "no JSON pointers are given (\"pick\")");
  NG_TRY(const auto json, json_of_output(output, "the command"));
  std::vector<Reading> out;
  for (const auto& [metric, pointer] : picks) {
    NG_TRY(const auto value, number_at(json, metric, pointer));
    out.push_back(plain_reading(metric, value));
  }
  return out;
}

Readings parse_patterns(std::string_view output, const Picks& picks) {
  if (picks.empty()) return fail(Code::usage, "no regular expressions are given (\"pick\")");
  std::vector<Reading> out;
  for (const auto& [metric, text] : picks) {
    const auto doing = fmt::format("looking for metric {}", in_quotes(metric));
    const auto pattern = Pattern::compile(text);
    if (!pattern) return with_context(pattern.error(), doing);
    const auto numbers = pattern->numbers(output);
    if (!numbers) return with_context(numbers.error(), doing);
    if (numbers->empty())
      return fail(Code::bad_data,
                  fmt::format("no line of the output matches {} of metric {}", in_quotes(text), in_quotes(metric)));
    out.push_back(plain_reading(metric, numbers->back()));
  }
  return out;
}

const std::vector<std::string>& program_formats() {
  static const std::vector<std::string> names = {
      "json",      "json-pointer", "regex",   "bencher",         "google-benchmark",
      "hyperfine", "k6",           "pgbench", "redis-benchmark", "go-benchmark"};
  return names;
}

Readings parse_program(std::string_view format, std::string_view output, const Picks& picks) {
  if (output.size() > kMaxProgramOutput) {
    return fail(Code::bad_data,
                fmt::format("the program printed {} bytes, at most {} are read", output.size(), kMaxProgramOutput));
  }
  if (format == "json") return picks.empty() ? parse_metric_json(output) : parse_json_pointers(output, picks);
  if (format == "json-pointer") return parse_json_pointers(output, picks);
  if (format == "regex") return parse_patterns(output, picks);
  if (format == "bencher") return parse_bencher(output);
  if (format == "google-benchmark") return parse_google_benchmark(output);
  if (format == "hyperfine") return parse_hyperfine(output);
  if (format == "k6") return parse_k6(output);
  if (format == "pgbench") return parse_pgbench(output);
  if (format == "redis-benchmark") return parse_redis_benchmark(output);
  if (format == "go-benchmark") return parse_go_benchmark(output);
  return fail(Code::usage, fmt::format("{} is no known format; known are {}", in_quotes(format),
                                       fmt::join(program_formats(), ", ")));
}

}  // namespace nightgate::formats
