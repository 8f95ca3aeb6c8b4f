#include "gate/formats/prometheus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "gate/formats/reading.hpp"

namespace nightgate::formats {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

std::string_view take_name(std::string_view& text) {
  const auto end = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_name_char) - text.begin());
  const auto name = text.substr(0, end);
  if (!name.empty() && name[0] >= '0' && name[0] <= '9') return {};
  text.remove_prefix(end);
  return name;
}

void skip_spaces(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size())); }

// A quoted label value; escapes \\ \" \n.
std::optional<std::string> take_label_value(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  std::string out;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return out;
    }
    if (text[i] == '\\') {
      if (++i == text.size()) break;
      out += text[i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return std::nullopt;
}

// {a="b",c="d"} with an optional comma at the end; true also when there are no braces.
bool take_labels(std::string_view& text, std::map<std::string, std::string>& out) {
  if (!text.starts_with('{')) return true;
  text.remove_prefix(1);
  for (;;) {
    skip_spaces(text);
    if (text.starts_with('}')) {
      text.remove_prefix(1);
      return true;
    }
    const std::string name(take_name(text));
    skip_spaces(text);
    if (name.empty() || !text.starts_with('=')) return false;
    text.remove_prefix(1);
    skip_spaces(text);
    auto value = take_label_value(text);
    if (!value || !out.try_emplace(name, std::move(*value)).second) return false;
    skip_spaces(text);
    if (text.starts_with(',')) {
      text.remove_prefix(1);
    } else if (!text.starts_with('}')) {
      return false;
    }
  }
}

std::optional<double> page_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;  // from_chars knows inf, Inf, NaN
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ptr != text.data() + text.size() || text.empty()) return std::nullopt;
  if (done.ec == std::errc::result_out_of_range) return std::nullopt;
  return done.ec == std::errc() ? std::optional<double>(value) : std::nullopt;
}

// name{labels} value [timestamp] [# exemplar]
std::optional<PrometheusSample> parse_sample(std::string_view line) {
  PrometheusSample out;
  out.name = take_name(line);
  skip_spaces(line);
  if (out.name.empty() || !take_labels(line, out.labels)) return std::nullopt;
  skip_spaces(line);
  const auto value = page_number(line.substr(0, line.find_first_of(" \t")));
  if (!value) return std::nullopt;
  out.value = *value;
  return out;
}

// use(line number, line) for each line that is no comment and not empty.
template <class Use>
Status for_each_sample_line(std::string_view page, Use use) {
  if (page.size() > kMaxPage) {
    return fail(Code::bad_data,
                fmt::format("a Prometheus page of {} bytes, at most {} are read", page.size(), kMaxPage));
  }
  for (std::size_t number = 1; !page.empty(); ++number) {
    const auto end = std::min(page.find('\n'), page.size());
    auto line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    skip_spaces(line);
    if (line.empty() || line[0] == '#') continue;
    NG_CHECK(use(number, line));
  }
  return {};
}

tl::unexpected<Error> no_sample(std::size_t number, std::string_view line) {
  return fail(Code::bad_data, fmt::format("Prometheus page, line {}: {} is no sample", number, in_quotes(line)));
}

bool fits(const PrometheusSample& sample, const PrometheusSelector& selector) {
  return std::all_of(selector.labels.begin(), selector.labels.end(), [&](const auto& label) {
    const auto found = sample.labels.find(label.first);
    return found == sample.labels.end() ? label.second.empty() : found->second == label.second;
  });
}

}  // namespace

Result<PrometheusSelector> parse_prometheus_selector(std::string_view text) {
  PrometheusSelector out;
  auto rest = text;
  skip_spaces(rest);
  out.name = take_name(rest);
  skip_spaces(rest);
  const bool read = !out.name.empty() && take_labels(rest, out.labels);
  skip_spaces(rest);
  if (!read || !rest.empty()) {
    return fail(Code::usage,
                fmt::format("{} is no selector such as http_requests_total{{method=\"POST\"}}", in_quotes(text)));
  }
  return out;
}

Result<std::vector<PrometheusSample>> parse_prometheus(std::string_view page) {
  std::vector<PrometheusSample> out;
  NG_CHECK(for_each_sample_line(page, [&](std::size_t number, std::string_view line) -> Status {
    auto sample = parse_sample(line);
    if (!sample) return no_sample(number, line);
    out.push_back(std::move(*sample));
    return {};
  }));
  return out;
}

Result<double> prometheus_value(std::string_view page, const PrometheusSelector& selector, SeveralSamples several) {
  double sum = 0;
  std::size_t count = 0;
  NG_CHECK(for_each_sample_line(page, [&](std::size_t number, std::string_view line) -> Status {
    if (!line.starts_with(selector.name) ||
        (line.size() > selector.name.size() && is_name_char(line[selector.name.size()])))
      return {};
    const auto sample = parse_sample(line);
    if (!sample) return no_sample(number, line);
    if (!fits(*sample, selector)) return {};
    sum += sample->value;
    ++count;
    return {};
  }));
  if (count == 0)
    return fail(Code::not_found,
                fmt::format("the Prometheus page has no sample of {} with these labels", in_quotes(selector.name)));
  if (count > 1 && several == SeveralSamples::refuse) {
    return fail(Code::bad_data, fmt::format("{} samples of {} fit; name more labels", count, in_quotes(selector.name)));
  }
  if (!std::isfinite(sum))
    return fail(Code::bad_data, fmt::format("the value of {} is not finite", in_quotes(selector.name)));
  return sum;
}

}  // namespace nightgate::formats
