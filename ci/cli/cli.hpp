// The program. The only room that wires the others together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate::cli {

// What was typed. One plain struct for all verbs; each verb reads its own fields.
struct Options {
  std::string verb;
  std::string config = "nightgate.json";
  std::string config_from;  // commit; empty: the config and its files as they lie there
  bool json = false;
  bool quiet = false;

  std::vector<std::string> positional;  // targets, files, metric, night ...
  std::string good, bad, metric, reason, label, note, format, output, machine, since, who, why, verdict, key, html;
  std::string strategy = "full", drift, action, host;
  std::vector<std::string> scenarios, reasons;
  std::int64_t trip = 0, resume = 0, attempt_of = 0, night = 0, id = 0;
  double max_minutes = 0;  // 0: from the config
  double error = 0, min_change = 0;
  int max_measurements = 0, pairs = 0, min_pairs = 0, limit = 60, starts = 0, rounds = 5;
  int days = 0;  // store fold --older-than; 0: not given
  bool dry_run = false;
  bool force = false, all = false, changes = false, noise = false, record = false, yes = false, strict = false;
  bool ladder = false, add = false;
  std::string explain;

  // publish, watch
  std::string fail_on = "no-verdict", comment_when = "on-change", head_sha, by = "09:00", comment_key = "gate";
  std::string failed_unit;  // of systemd, whose OnFailure= calls
  int exit_of = -1;         // exit code of the command whose document is published; -1: not told
  bool from_artifact = false;

  // simulate
  int merges = 64, runs = 200, culprits = 1, machines = 1, interior = 3;
  double effect = 0.3, noise_sd = 0, outliers = 0, image_effect = 0, missing = 0, slow_noise = 1;
  std::uint64_t seed = 1;

  std::vector<std::string> command_line;  // as typed, for records
};

// Parses, runs the verb, turns an error into text and an exit code (table in the README). Never throws.
int run(int argc, char** argv);

// What parsing ended in: options to run, or an exit code (help printed, usage error told).
struct Parsed {
  Options options;
  bool go = false;
  int exit_code = 0;
};
Parsed parse(int argc, char** argv);

// The command line as it is, for completions and the manual page: they are made from this and can't fall behind.
struct OptionHelp {
  std::vector<std::string> names;    // "--json"; empty: a positional, called `value`
  std::string value;                 // "TEXT", "FLOAT in [0.1 - 1440]"; empty: a flag
  std::vector<std::string> choices;  // where only these are allowed
  std::string help;
  bool required = false;
};
struct VerbHelp {
  std::string name, does, footer;
  std::vector<OptionHelp> options;
};
struct ProgramHelp {
  VerbHelp program;
  std::vector<VerbHelp> verbs;
};
[[nodiscard]] ProgramHelp describe();

// A verb: returns the exit code, or an error that run() turns into one.
using Verb = Result<int> (*)(const Options&);
struct VerbEntry {
  std::string_view name;
  Verb verb;
};

Result<int> verb_init(const Options&);
Result<int> verb_check(const Options&);
// check --noise: one target against itself over several starts.
Result<int> check_noise(const Options&);
Result<int> verb_status(const Options&);
Result<int> verb_measure(const Options&);
Result<int> verb_nightly(const Options&);
Result<int> verb_compare(const Options&);
Result<int> verb_bisect(const Options&);
Result<int> verb_history(const Options&);
Result<int> verb_replay(const Options&);
Result<int> verb_accept(const Options&);
Result<int> verb_void(const Options&);
Result<int> verb_undo(const Options&);
Result<int> verb_simulate(const Options&);
Result<int> verb_import(const Options&);
Result<int> verb_export(const Options&);
Result<int> verb_store(const Options&);
Result<int> verb_report(const Options&);
Result<int> verb_ledger(const Options&);
Result<int> verb_release(const Options&);
Result<int> verb_publish(const Options&);
Result<int> verb_watch(const Options&);
// Hidden: the text of a shell's completion, or the manual page, for packages.
Result<int> verb_completion(const Options&);

}  // namespace nightgate::cli
