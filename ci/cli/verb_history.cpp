#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"
#include "gate/judge/changes.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

// Columns to fill; a pipe or a file has none, and 100 is easy to read there.
std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<std::size_t>(20, size.ws_col);
  return 100;
}

// A line of text from outside, cut at the terminal's edge; whole in a pipe or file.
std::string fitted(const std::string& line) {
  const auto text = clean(line);
  return stdout_is_terminal() ? report::shorten(text, terminal_width() - 1) : text;
}

struct Change {
  judge::ChangePoint point;
  const store::SeriesPoint *first, *last, *before;  // it lies after `before`, at the latest in `last`
};
struct View {
  // The unit is chosen once, by the largest value.
  [[nodiscard]] report::Scaled scaled() const {
    double largest = 0;
    for (const auto& p : points) largest = std::isfinite(p.value) ? std::max(largest, p.value) : largest;
    return report::scale_for(largest, info.unit);
  }
  store::MetricInfo info;
  std::vector<store::SeriesPoint> points;  // oldest first
  // Change points in hindsight; borrowed from `points`.
  [[nodiscard]] std::vector<Change> changes() const;
};

std::vector<Change> View::changes() const {
  std::vector<double> values;
  std::vector<const store::SeriesPoint*> used;
  for (const auto& p : points) {
    if (p.voided || !(p.value > 0)) continue;
    values.push_back(p.value);
    used.push_back(&p);
  }
  const auto better = info.better == store::Better::higher ? judge::Better::higher : judge::Better::lower;
  std::vector<Change> out;
  for (const auto& c : judge::change_points(values, better)) {
    out.push_back({c, used[c.first], used[c.last], used[c.first == 0 ? 0 : c.first - 1]});
  }
  return out;
}

// One block character a night; bad nights in red, gaps as spaces.
std::string sparkline(const std::vector<store::SeriesPoint>& points, std::size_t width, bool colour) {
  static constexpr const char* blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  const auto first = points.size() > width ? points.size() - width : 0;
  for (auto i = first; i < points.size(); ++i) {
    if (!std::isfinite(points[i].value)) continue;
    low = std::min(low, points[i].value);
    high = std::max(high, points[i].value);
  }
  // Noise shall not look like mountains: the picture covers at least 10 % of the value.
  const double middle = (low + high) / 2, half = std::max({(high - low) / 2, std::abs(middle) * 0.05, 1e-300});
  std::string out;
  for (auto i = first; i < points.size(); ++i) {
    const auto& p = points[i];
    if (!std::isfinite(p.value)) {
      out += " ";
      continue;
    }
    const auto level =
        static_cast<std::size_t>(std::lround(std::clamp(3.5 + 3.5 * (p.value - middle) / half, 0.0, 7.0)));
    const bool bad = p.red || p.verdict == "suspect" || p.verdict == "trip";
    out += colour && bad ? std::string("\x1b[31m") + blocks[level] + "\x1b[0m" : blocks[level];
  }
  return out;
}

// Code points, near enough to columns for names of metrics.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string mark_of(const store::SeriesPoint& p) {
  if (p.voided) return "void";
  if (p.verdict.empty()) return "not judged";
  auto words = p.verdict;
  std::replace(words.begin(), words.end(), '_', ' ');
  return p.red && words != "trip" && words != "red" ? words + " (red)" : words;
}

std::string table(const View& view, const Options& options) {
  std::string out;
  const auto shown = std::min(view.points.size(), static_cast<std::size_t>(options.limit));
  const auto factor = view.scaled().factor;
  for (auto i = view.points.size() - shown; i < view.points.size(); ++i) {
    const auto& p = view.points[i];
    out += fitted(fmt::format("  {:>5} {:<20} {:<10} {:>12} {:>8}  {}{}", p.sequence, to_rfc3339(p.started),
                              p.commit.substr(0, 10), figure(p.value * factor),
                              std::isfinite(p.change) ? percent(p.change) : "", mark_of(p),
                              p.reason.empty() ? "" : ": " + p.reason)) +
           "\n";
  }
  return out;
}

std::string changes_text(const View& view) {
  std::string out;
  const auto factor = view.scaled().factor;
  for (const auto& c : view.changes()) {
    out += clean(fmt::format(
               "  change {:>8}  {} -> {}  after night {} ({}), at the latest in night {} ({}), confidence {}",
               percent(c.point.change), figure(c.point.before * factor), figure(c.point.after * factor),
               c.before->sequence, c.before->commit.substr(0, 10), c.last->sequence, c.last->commit.substr(0, 10),
               report::probability(c.point.confidence))) +
           "\n";
  }
  return out.empty() ? "  no change points\n" : out;
}

json changes_json(const View& view) {
  json out = json::array();
  for (const auto& c : view.changes()) {
    out.push_back({{"change", c.point.change},
                   {"before", c.point.before},
                   {"after", c.point.after},
                   {"confidence", c.point.confidence},
                   {"after_night", c.before->sequence},
                   {"after_commit", c.before->commit},
                   {"first_night", c.first->sequence},
                   {"last_night", c.last->sequence},
                   {"last_commit", c.last->commit}});
  }
  return out;
}

json to_json(const View& view) {
  json out = {{"metric", view.info.name},
              {"unit", view.info.unit},
              {"better", view.info.better == store::Better::higher ? "higher" : "lower"},
              {"gated", view.info.gated},
              {"nights", json::array()}};
  for (const auto& p : view.points) {
    out["nights"].push_back({{"night", p.sequence},
                             {"started", to_rfc3339(p.started)},
                             {"commit", p.commit},
                             {"value", number_or_null(p.value)},
                             {"baseline", number_or_null(p.baseline)},
                             {"change", number_or_null(p.change)},
                             {"verdict", p.verdict},
                             {"reason", p.reason},
                             {"red", p.red},
                             {"voided", p.voided}});
  }
  return out;
}

std::string last_figure(const View& view) {
  const auto scaled = view.scaled();
  const auto last = std::find_if(view.points.rbegin(), view.points.rend(), [](const auto& p) { return !p.voided; });
  const double value = last == view.points.rend() ? store::unknown : last->value;
  return fmt::format("{} {} ({})", figure(value * scaled.factor), scaled.unit,
                     view.info.better == store::Better::higher ? "up is better" : "down is better");
}

// One metric: its name and figure, and under them a picture as wide as the terminal.
std::string heading(const View& view) {
  return fitted(fmt::format("{}  {}", view.info.name, last_figure(view))) + "\n  " +
         sparkline(view.points, terminal_width() - 4, colour_wanted()) + "\n";
}

// One of many: name, picture, figure in a line that fits; the picture goes first where there is no room.
std::string line_of(const View& view, std::size_t name_width) {
  const auto figure_text = clean(last_figure(view));
  auto name = clean(view.info.name);
  if (stdout_is_terminal()) name = report::shorten(name, name_width - 1);
  const auto padding = std::string(name_width - std::min(name_width, characters(name)), ' ');
  const auto used = std::max(name_width, characters(name)) + characters(figure_text) + 4;
  const auto room = terminal_width() > used ? terminal_width() - used : 0;
  if (room < 8) return fitted(name + padding + " " + figure_text) + "\n";
  return name + padding + " " + sparkline(view.points, room, colour_wanted()) + "  " + figure_text + "\n";
}

Result<View> view_of(store::Store& store, const config::Config& config, const std::string& machine,
                     const store::MetricInfo& info) {
  std::vector<std::string> names{info.name};
  for (const auto& [old_name, new_name] : config.aliases) {
    if (new_name == info.name) names.push_back(old_name);
  }
  View view{info, {}};
  NG_TRY(view.points, store.series(config.project, machine, names, 0));
  return view;
}

// The numbers as they were stored with the verdict, in reading order; nights judged by an early version kept an object.
Result<std::vector<std::pair<std::string, std::string>>> explanation(const std::string& text) {
  NG_TRY(const auto stored, parse_json(text.empty() ? "[]" : text));
  std::vector<std::pair<std::string, std::string>> out;
  const auto word = [](const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); };
  for (const auto& [key, value] : stored.items()) {
    if (stored.is_object()) {
      out.emplace_back(key, word(value));
    } else if (value.is_object() && value.contains("name") && value.contains("value")) {
      out.emplace_back(word(value["name"]), word(value["value"]));
    }
  }
  return out;
}

Result<int> explain(const Options& options, store::Store& store, const config::Config& config,
                    const std::string& machine) {
  store::Sequence night = 0;
  const auto& text = options.explain;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), night);
  if (error != std::errc{} || end != text.data() + text.size() || night == 0) {
    return fail(
        Code::usage,
        "--explain takes a night's sequence number, as the first column of `nightgate history` shows it; found '" +
            text + "'");
  }
  if (options.positional.empty())
    return fail(Code::usage, "--explain needs a metric: nightgate history METRIC --explain NIGHT");
  NG_TRY(const auto verdicts, store.verdicts(config.project, machine, night));
  const auto row =
      std::find_if(verdicts.begin(), verdicts.end(), [&](const auto& v) { return v.metric == options.positional[0]; });
  if (row == verdicts.end())
    return fail(Code::usage, fmt::format("night {} of machine {} has no verdict about {}{}", night, machine,
                                         options.positional[0], other_machines(store, config, machine)));
  NG_TRY(const auto explained, explanation(row->explanation));
  if (options.json) {
    json numbers = json::object();
    for (const auto& [name, value] : explained) numbers[name] = value;
    print_json(options, {{"metric", row->metric},
                         {"night", night},
                         {"verdict", row->verdict},
                         {"reason", row->reason},
                         {"value", number_or_null(row->value)},
                         {"baseline", number_or_null(row->baseline)},
                         {"change", number_or_null(row->change)},
                         {"numbers", numbers}});
    return 0;
  }
  print(clean(fmt::format("{}, night {}: {}{}", row->metric, night, row->verdict,
                          row->reason.empty() ? "" : ": " + row->reason)) +
        "\n");
  for (const auto& [name, value] : explained) print(clean(fmt::format("  {:<46} {}", name, value)) + "\n");
  return 0;
}

}  // namespace

Result<int> verb_history(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto store, open_store(config));
  const auto machine = machine_name(options, config);
  NG_CHECK(known_machine(options, *store, config));
  if (!options.explain.empty()) return explain(options, *store, config, machine);
  NG_TRY(auto metrics, store->metrics(config.project));
  if (!options.positional.empty()) {
    const auto& wanted = options.positional[0];
    std::vector<std::string> names;
    for (const auto& m : metrics) names.push_back(m.name);
    metrics.erase(std::remove_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.name != wanted; }),
                  metrics.end());
    if (metrics.empty()) {
      std::string hint;
      for (const auto& name : near_matches(wanted, names)) hint += (hint.empty() ? "; did you mean " : ", ") + name;
      return fail(Code::usage, fmt::format("the store has no metric '{}'{}", wanted, hint));
    }
  }
  json document = {{"machine", machine}, {"metrics", json::array()}};
  const bool one = !options.positional.empty();
  std::size_t name_width = 0, measured = 0;
  for (const auto& info : metrics) name_width = std::max(name_width, characters(info.name));
  name_width = std::min(name_width, std::max<std::size_t>(12, terminal_width() * 2 / 5));
  for (const auto& info : metrics) {
    NG_TRY(const auto view, view_of(*store, config, machine, info));
    if (view.points.empty()) continue;
    ++measured;
    if (!one && !info.gated) continue;
    if (options.json) {
      document["metrics"].push_back(to_json(view));
      if (options.changes) document["metrics"].back()["changes"] = changes_json(view);
      continue;
    }
    print(one ? heading(view) : line_of(view, name_width));
    if (one) print(table(view, options));
    if (options.changes) print(changes_text(view));
  }
  if (measured == 0 && !metrics.empty()) {
    return fail(Code::usage, fmt::format("machine {} has no nights{}{}", machine, one ? " of " + metrics[0].name : "",
                                         other_machines(*store, config, machine)));
  }
  if (options.json) print_json(options, document);
  if (!options.json && metrics.empty())
    print("no metric was measured yet; `nightgate nightly` measures the first night\n");
  return 0;
}

}  // namespace nightgate::cli
