#include "ci/cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "ci/report/text.hpp"
#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "gate/base/notify.hpp"

namespace nightgate::cli {
void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void print_json(const Options& options, const nlohmann::json& document) {
  nlohmann::ordered_json out;
  out["schema"] = "nightgate-" + options.verb + "/1";
  for (const auto& [key, value] : document.items()) out[key] = value;
  print(out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

int tell_error(const Options& options, const Error& error) {
  const int code = exit_code(error.code);
  log::error("nightgate " + options.verb + ": " + error.text());
  if (options.json) {
    const nlohmann::json document = {{"schema", "nightgate-error/1"},
                                     {"verb", options.verb},
                                     {"error", log::redact(error.text())},
                                     {"exit_code", code}};
    print(dump_json(document) + "\n");
  }
  return code;
}

std::string figure(double value) { return std::isfinite(value) ? report::number(value) : "unknown"; }

std::string percent(double share) { return std::isfinite(share) ? report::percent(share) : "unknown"; }

nlohmann::json number_or_null(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

std::string clean(std::string_view text) { return report::plain(text); }

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }
bool colour_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return stdout_is_terminal() && !dumb && (no_color == nullptr || *no_color == '\0');
}

LiveProgress::LiveProgress(bool quiet) : terminal_(isatty(STDERR_FILENO) == 1), quiet_(quiet) {}
LiveProgress::~LiveProgress() { clear(); }

void LiveProgress::clear() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void LiveProgress::step(std::string_view what) {
  what_ = what;
  notify::status(what_);
  if (quiet_ || !terminal_) return;
  std::fprintf(stderr, "\r\x1b[K%s", clean(what_).c_str());
  shown_ = true;
}

void LiveProgress::rate(double value, std::chrono::seconds left) {
  const auto line = fmt::format("{}: {}, {} s left", clean(what_), figure(value), left.count());
  if (const auto now = std::chrono::steady_clock::now(); now - told_ >= std::chrono::seconds(1)) {
    notify::status(line);
    told_ = now;
  }
  if (quiet_ || !terminal_) return;
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  shown_ = true;
}

void LiveProgress::done(const measure::Measurement& m) {
  clear();
  if (quiet_) return;
  std::string line = fmt::format("  {}.{} start {}: ", m.deployment, m.scenario, m.start + 1);
  if (!m.no_verdict.empty()) {
    line += "no verdict: " + m.no_verdict;
  } else {
    // Medians over the repeats: what is judged.
    bool first = true;
    for (const auto& [name, info] : m.metrics) {
      const auto value = m.value(name);
      if (!info.gated || !value) continue;
      const auto scaled = report::scale_for(*value, info.unit);
      line += fmt::format("{}{} {} {}", first ? "" : "; ", name, figure(*value * scaled.factor), scaled.unit);
      if (const double spread = m.spread(name); spread > 0) line += fmt::format(" (spread {:.1f} %)", 100 * spread);
      const auto baseline = baselines_.find(fmt::format("{}.{}.{}", m.deployment, m.scenario, name));
      if (baseline != baselines_.end()) line += fmt::format(", baseline {}", figure(baseline->second * scaled.factor));
      first = false;
    }
  }
  log::info(line);
}

}  // namespace nightgate::cli
