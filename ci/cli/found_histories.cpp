#include "ci/cli/found_histories.hpp"

#include <algorithm>
#include <set>

#include "gate/formats/history.hpp"

namespace nightgate::cli {
namespace {

constexpr int kDeepest = 3;
constexpr int kMostEntries = 5000;
constexpr std::size_t kMostFound = 20;
constexpr std::size_t kMostBytes = std::size_t{32} << 20U;

bool may_hold_a_history(const fs::path& file) {
  const auto ending = file.extension();
  return ending == ".jsonl" || ending == ".ndjson" || ending == ".csv" || ending == ".json" ||
         file.filename() == "data.js";
}

// The formats that hold nights with their dates. A single run's result (hyperfine, k6) is no history.
bool is_history(formats::HistoryFormat format) {
  using Format = formats::HistoryFormat;
  return format == Format::csv || format == Format::json_lines || format == Format::data_js || format == Format::yuneta;
}

std::vector<fs::path> candidates(const fs::path& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && at != fs::recursive_directory_iterator() && seen < kMostEntries; ++seen) {
    const auto name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (name.starts_with('.') || name == "node_modules" || at.depth() >= kDeepest) at.disable_recursion_pending();
    } else if (at->is_regular_file(ignored) && may_hold_a_history(at->path())) {
      out.push_back(at->path());
    }
    at.increment(error);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool read_one(const fs::path& file, FoundHistory& found) {
  const auto text = read_file(file, kMostBytes);
  if (!text) return false;
  const auto format = formats::detect_format(file.string(), *text);
  if (!format || !is_history(*format)) return false;
  const auto history = formats::parse_history(*format, *text);
  if (!history) return false;
  std::set<std::pair<std::string, Instant>> nights;
  std::set<std::string> metrics;
  for (const auto& row : history->rows) {
    nights.emplace(row.machine, row.time);
    metrics.insert(row.metric);
  }
  found.format = formats::format_name(*format);
  found.machine = history->rows.back().machine;
  found.metric = *metrics.begin();
  found.nights = nights.size();
  found.metrics = metrics.size();
  return true;
}

// For a shell, where a name needs it.
std::string argument(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:@,").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::vector<FoundHistory> find_histories(const fs::path& directory) {
  std::vector<FoundHistory> out;
  for (const auto& file : candidates(directory)) {
    FoundHistory found;
    if (!read_one(file, found)) continue;
    found.path = file.lexically_relative(directory).string();
    if (found.path.starts_with('-')) found.path = "./" + found.path;
    out.push_back(std::move(found));
    if (out.size() == kMostFound) break;
  }
  return out;
}

std::string import_command(const FoundHistory& found, const std::string& host) {
  std::string out = "nightgate import " + argument(found.path);
  if (found.machine.empty()) out += " --machine " + argument(host);
  return out;
}

}  // namespace nightgate::cli
