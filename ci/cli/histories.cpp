#include "ci/cli/histories.hpp"

#include <fmt/format.h>

#include <map>

#include "gate/base/files.hpp"
#include "gate/base/log.hpp"

namespace nightgate::cli {

Result<formats::History> read_history(const Options& options, const std::string& path) {
  formats::HistoryOptions reading;
  auto text = read_file(path, reading.bytes);
  if (!text) return with_context(std::move(text).error(), "reading the history " + path);
  auto format =
      options.format.empty() ? formats::detect_format(path, *text) : formats::format_from_name(options.format);
  if (!format) {
    return fail(Code::bad_data, path +
                                    ": the format can't be told from name and content; name it by --format (csv, "
                                    "json-lines, data.js, bencher, google-benchmark, hyperfine, k6, yuneta)");
  }
  reading.night.machine = options.machine;
  if (std::error_code error; fs::exists(path, error)) {
    // Files that hold one run without a date get the time of the file.
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, error);
    reading.night.time = system_clock().now() - std::chrono::duration_cast<Micros>(age);
  }
  auto history = formats::parse_history(*format, *text, reading);
  if (!history) return with_context(std::move(history).error(), "reading the history " + path);
  for (const auto& note : history->notes) {
    log::warning(note.line > 0 ? fmt::format("{}: line {}: {}", path, note.line, note.text)
                               : fmt::format("{}: {}", path, note.text));
  }
  if (history->more_notes > 0) log::warning(fmt::format("{}: {} more notes", path, history->more_notes));
  return history;
}

judge::History to_judge(const std::vector<formats::HistoryRow>& rows) {
  judge::History out;
  std::map<std::string, std::uint32_t> metrics;
  std::map<std::pair<std::string, Instant>, std::size_t> nights;
  for (const auto& row : rows) {
    const auto [metric, is_new] = metrics.emplace(row.metric, static_cast<std::uint32_t>(out.metrics.size()));
    if (is_new) {
      out.metrics.push_back(
          {row.metric, row.unit, row.better == formats::Better::higher ? judge::Better::higher : judge::Better::lower});
    }
    const auto [night, new_night] = nights.emplace(std::pair(row.machine, row.time), out.nights.size());
    if (new_night) {
      judge::History::Night added;
      added.instant = row.time.time_since_epoch().count();
      added.machine = row.machine;
      added.machine_class = row.machine_class;
      added.commit = row.commit;
      out.nights.push_back(std::move(added));
    }
    out.nights[night->second].cells.push_back({metric->second, row.value});
  }
  return out;
}

}  // namespace nightgate::cli
