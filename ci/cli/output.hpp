// How the verbs speak: one JSON document on stdout with --json, text otherwise; errors on stderr.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "ci/cli/cli.hpp"
#include "gate/measure/measurement.hpp"

namespace nightgate::cli {

// Writes to stdout; a closed pipe ends the program quietly.
void print(std::string_view text);
// The document with `schema` first ("nightgate-VERB/1"), one line.
void print_json(const Options& options, const nlohmann::json& document);
// Text on stderr (and {"schema":"nightgate-error/1",...} on stdout with --json); the exit code.
int tell_error(const Options& options, const Error& error);

// "12,345", "0.0123": three significant digits at least, thousands separated.
std::string figure(double value);
// "-34.1 %" for -0.341; "unknown" for NaN.
std::string percent(double share);
// JSON has no NaN: null then.
nlohmann::json number_or_null(double value);

// Text that came from outside (titles, authors, logs) without control characters or terminal escapes.
std::string clean(std::string_view text);
bool stdout_is_terminal();
bool colour_wanted();  // a terminal, and NO_COLOR is not set

// Live lines while measuring: one that changes on a terminal, plain ones in a pipe or journal; systemd's status too.
class LiveProgress final : public measure::Progress {
 public:
  explicit LiveProgress(bool quiet);
  ~LiveProgress() override;
  void step(std::string_view what) override;
  void rate(double value, std::chrono::seconds left) override;
  void done(const measure::Measurement& measurement) override;
  void clear();
  // What is expected, by full metric name: a finished start is shown beside it.
  void expect(std::map<std::string, double> baselines) { baselines_ = std::move(baselines); }

 private:
  bool terminal_, quiet_, shown_ = false;
  std::string what_;
  std::map<std::string, double> baselines_;
  std::chrono::steady_clock::time_point told_;  // when systemd was last told a rate
};

}  // namespace nightgate::cli
