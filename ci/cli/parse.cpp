// The command line. CLI11 is heavy and has exit codes of its own: it stays in this file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ci/cli/cli.hpp"
#include "ci/cli/output.hpp"
#include "gate/base/json.hpp"

namespace nightgate::cli {
namespace {

constexpr int usage_error = 2;
constexpr std::int64_t most = 1'000'000'000;  // of any number of a night, trip, bisect or ledger entry

std::string not_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos ? "say why: an empty reason helps nobody" : "";
}

class Builder {
 public:
  Builder(CLI::App& app, Options& options) : app_(app), o_(options) {}

  void build() {
    measuring();
    judging();
    keeping();
    publishing();
  }

 private:
  CLI::App* verb(const char* name, const char* does, const char* example, bool config = true) {
    auto* sub = app_.add_subcommand(name, does);
    if (config) {
      sub->add_option("--config", o_.config, "configuration file (default nightgate.json)");
      sub->add_option("--config-from", o_.config_from,
                      "commit to read the configuration and the files it names from (for code of strangers)");
    }
    sub->add_flag("--json", o_.json, "one JSON document on stdout, nothing else there");
    sub->add_flag("--quiet", o_.quiet, "no progress on stderr, warnings and errors only");
    sub->footer(std::string("Example:\n  ") + example);
    sub->callback([&options = o_, name] { options.verb = name; });  // outlives this Builder
    return sub;
  }

  void measuring() {
    auto* init = verb("init", "write a commented starting config from what is found here", "nightgate init");
    init->add_flag("--force", o_.force, "replace an existing file");

    auto* check =
        verb("check", "say whether config, engine, repository, store and machine are ready", "nightgate check");
    check->add_flag("--noise", o_.noise, "measure one target against itself: what can this machine see?");
    check->add_option("--minutes", o_.max_minutes, "time for --noise (default 10)")->check(CLI::Range(0.1, 1440.0));

    auto* measure = verb("measure", "measure one target once, as JSON for other programs; needs no store",
                         "nightgate measure builds/5d2f01c --scenario create --json");
    measure->add_option("target", o_.positional, "commit, image reference, directory, merge-base or last-release")
        ->required()
        ->expected(1);
    measure->add_option("--scenario", o_.scenarios, "only this scenario (may be repeated)");
    measure->add_option("--starts", o_.starts, "fresh starts of each (default 1)")->check(CLI::Range(1, 1000));

    auto* night =
        verb("nightly", "the night: measure the newest target, judge it, bisect what tripped", "nightgate nightly");
    night->add_flag("--force", o_.force, "measure although nothing is new");
    night->add_option("--attempt-of", o_.attempt_of, "measure that night once more")
        ->check(CLI::Range(std::int64_t{1}, most));

    auto* compare = verb("compare", "did this change make it slower? base against head in interleaved pairs",
                         "nightgate compare merge-base HEAD");
    compare->add_option("targets", o_.positional, "BASE HEAD [MORE...]")->required()->expected(2, 9);
    compare->add_option("--pairs", o_.pairs, "at most this many pairs")->check(CLI::Range(1, 10000));
    compare->add_option("--max-minutes", o_.max_minutes, "stop after this time")->check(CLI::Range(0.01, 100000.0));
    compare->add_option("--scenario", o_.scenarios, "only this scenario (may be repeated)");
    compare->add_flag("--ladder", o_.ladder,
                      "BASE C1 C2 ... are a stack: each is judged against base and against the one below it");
    compare->add_option("--label", o_.label, "name of what was tried, for the ledger");
    compare->add_option("--note", o_.note, "what was tried, in words");
    compare->add_option("--html", o_.html, "also write the result as a page into this file");
    compare->add_flag("--record", o_.record, "keep an entry in the ledger (needs the store)");

    auto* release = verb("release", "what a release changed against the last one, and its absolute figures",
                         "nightgate release v1.4 v1.5 --reason 'default.create.rate=checks every write now'");
    release->add_option("targets", o_.positional, "FROM TO: the last release and the new one")->required()->expected(2);
    release->add_option("--rounds", o_.rounds, "fresh starts behind each absolute figure (default 5)")
        ->check(CLI::Range(1, 1000));
    release->add_option("--pairs", o_.pairs, "at most this many pairs")->check(CLI::Range(1, 10000));
    release->add_option("--max-minutes", o_.max_minutes, "of the pairs")->check(CLI::Range(0.01, 100000.0));
    release->add_option("--scenario", o_.scenarios, "only this scenario (may be repeated)");
    release->add_option("--reason", o_.reasons, "why a price is paid: METRIC=TEXT, or TEXT for all (may be repeated)");
    release->add_flag("--strict", o_.strict, "exit code 1 when a price has no reason");
    release->add_option("--html", o_.html, "also write the result as a page into this file");

    auto* bisect = verb("bisect", "name the merge that made a metric slower",
                        "nightgate bisect --good v1.4 --bad main --metric default.create.rate");
    bisect->add_option("--good", o_.good, "commit, tag, date or night:N that was fast, or last-good");
    bisect->add_option("--bad", o_.bad, "commit, tag, date or night:N that is slow");
    bisect->add_option("--metric", o_.metric, "deployment.scenario.metric");
    bisect->add_option("--trip", o_.trip, "bisect this trip")->check(CLI::Range(std::int64_t{1}, most));
    bisect->add_option("--resume", o_.resume, "go on with this bisect")->check(CLI::Range(std::int64_t{1}, most));
    bisect->add_option("--max-minutes", o_.max_minutes, "stop after this time; --resume goes on")
        ->check(CLI::Range(0.01, 100000.0));
    bisect->add_option("--max-measurements", o_.max_measurements, "stop after this many fresh starts")
        ->check(CLI::Range(1, 1000000));
    bisect->add_option("--error", o_.error, "probability of a wrong name that is allowed (default 0.01)")
        ->check(CLI::Range(0.0001, 0.5));
    bisect->add_flag("--force-search", o_.force,
                     "skip measuring whether the ends still differ; the answer is marked unverified");
    bisect->add_flag("--all", o_.all, "go on to further culprits when the first explains only part");

    auto* simulate = verb("simulate", "how many measurements a bisect needs, and how often it is right",
                          "nightgate simulate --merges 64 --effect 0.3 --noise 0.1 --runs 500");
    simulate->add_option("--merges", o_.merges, "merges in the range")->check(CLI::Range(1, 4096));
    simulate->add_option("--effect", o_.effect, "shift of the log at the culprit")->check(CLI::Range(0.0, 10.0));
    simulate->add_option("--noise", o_.noise_sd, "sd of the log of one measurement (default 0.05, or see --metric)")
        ->check(CLI::Range(0.0001, 10.0));
    simulate->add_option(
        "--metric", o_.metric,
        "take the noise of this metric on this machine from the store: check --noise, else the nights");
    simulate->add_option("--machine", o_.machine, "with --metric: another machine");
    simulate->add_option("--drift", o_.drift, "walk, jump or trend")->check(CLI::IsMember({"walk", "jump", "trend"}));
    simulate->add_option("--outliers", o_.outliers, "share of measurements that are wild")->check(CLI::Range(0.0, 1.0));
    simulate->add_option("--image-effect", o_.image_effect, "every image's own offset, as a share of the effect")
        ->check(CLI::Range(0.0, 10.0));
    simulate->add_option("--slow-noise", o_.slow_noise, "noise of slow targets relative to fast ones")
        ->check(CLI::Range(0.1, 10.0));
    simulate->add_option("--missing", o_.missing, "share of merges without a target")->check(CLI::Range(0.0, 0.95));
    simulate->add_option("--culprits", o_.culprits, "0, 1 or 2")->check(CLI::Range(0, 2));
    simulate->add_option("--machines", o_.machines, "machines that measure side by side")->check(CLI::Range(1, 64));
    simulate->add_option("--interior", o_.interior, "interior merges a block")->check(CLI::Range(1, 15));
    simulate->add_option("--error", o_.error, "probability of a wrong name that is allowed (default 0.01)")
        ->check(CLI::Range(0.0001, 0.5));
    simulate->add_option("--max-measurements", o_.max_measurements, "budget of one bisect")
        ->check(CLI::Range(1, 1000000));
    simulate->add_option("--strategy", o_.strategy, "full (the shipped search), halving1, halving3 or halving5")
        ->check(CLI::IsMember({"full", "halving1", "halving3", "halving5"}));
    simulate->add_option("--runs", o_.runs, "simulated bisects")->check(CLI::Range(1, 1000000));
    simulate->add_option("--seed", o_.seed, "the same seed gives the same figures");
  }

  void judging() {
    auto* status = verb("status", "what is red, suspected or without verdict now, since when, and the next step",
                        "nightgate status");
    status->add_option("--machine", o_.machine, "another machine's nights");

    auto* history = verb("history", "the series in the terminal, with nights, verdicts and change points",
                         "nightgate history default.create.rate --explain 41");
    history->add_option("metric", o_.positional, "deployment.scenario.metric; none: all of them")->expected(0, 1);
    history->add_option("--explain", o_.explain, "the numbers behind this night's verdict (sequence number)");
    history->add_flag("--changes", o_.changes, "change points over the whole series, in hindsight");
    history->add_option("--limit", o_.limit, "nights shown (default 60)")->check(CLI::Range(1, 100000));
    history->add_option("--machine", o_.machine, "another machine's nights");

    auto* replay = verb(
        "replay",
        "run the gate's rules over a recorded history as if night by night (nobody decides there: of a file, the first "
        "good night recovers, where a real night waits for the second)",
        "nightgate replay history.csv --json");
    replay
        ->add_option("file", o_.positional,
                     "history in any format that import reads; none: the store, by the config's rules")
        ->expected(0, 1);
    replay->add_option("--format", o_.format, "of the file, when its name and content don't tell");
    replay
        ->add_option("--min-change", o_.min_change,
                     "smallest change that matters (default: 0.05 for a file, the config's for the store)")
        ->check(CLI::Range(0.001, 0.9));
    replay->add_option("--machine", o_.machine, "this machine of the store");

    auto* accept = verb("accept", "keep a slower figure by decision: the level it has now becomes the level",
                        "nightgate accept default.create.rate --reason 'checks every write now'");
    accept->add_option("metric", o_.positional, "deployment.scenario.metric")->required()->expected(1);
    accept->add_option("--reason", o_.reason, "why, for everybody who reads the report")->required()->check(not_blank);
    accept->add_option("--machine", o_.machine, "another machine's nights");
    auto* void_night =
        verb("void", "take a night out: it is kept, shown and not judged", "nightgate void 41 --reason 'backup ran'");
    void_night->add_option("night", o_.night, "its sequence number")->required()->check(CLI::Range(-most, most));
    void_night->add_option("--reason", o_.reason, "why")->required()->check(not_blank);
    void_night->add_option("--machine", o_.machine, "another machine's nights");
    auto* undo = verb("undo", "take back the last accept or void", "nightgate undo");
    undo->add_option("--reason", o_.reason, "why");
    undo->add_option("--machine", o_.machine, "another machine's nights");
  }

  void keeping() {
    auto* import =
        verb("import", "read a recorded history into the store; all of it or nothing", "nightgate import history.csv");
    import->add_option("file", o_.positional, "CSV, JSON lines, data.js, Google Benchmark, hyperfine, k6, ...")
        ->required()
        ->expected(1);
    import->add_option("--format", o_.format, "of the file, when its name and content don't tell");
    import->add_option("--machine", o_.machine, "machine name for rows that have none");
    auto* exporting = verb("export", "write the store's history as CSV or JSON lines", "nightgate export history.csv");
    exporting->add_option("file", o_.positional, "file to write; - for stdout")->required()->expected(1);
    exporting->add_option("--format", o_.format, "csv or jsonl (default: by the file's name)");
    exporting->add_option("--machine", o_.machine, "only this machine's nights");
    auto* store = verb("store", "the database: status, migrate, backup, restore, fold", "nightgate store status");
    store->add_option("action", o_.action, "status, migrate, backup, restore, or fold old samples into their medians")
        ->required()
        ->check(CLI::IsMember({"status", "migrate", "backup", "restore", "fold"}));
    store->add_option("--older-than", o_.days, "fold: days; medians and verdicts stay, single samples go")
        ->check(CLI::Range(1, 100000));
    store->add_flag("--dry-run", o_.dry_run, "fold: only count");
    store->add_option("file", o_.positional, "file of backup and restore")->expected(0, 1);
    auto* ledger = verb("ledger", "what was tried, measured and decided, kept or dropped",
                        "nightgate ledger 7 --verdict dropped --reason 'no gain at 200 connections'");
    ledger->add_option("id", o_.id, "entry to show, or with --verdict to decide about; none: list them")
        ->check(CLI::Range(std::int64_t{1}, most));
    ledger->add_flag("--add", o_.add, "a new entry, --label NAME, for what was never run or was tried elsewhere");
    ledger->add_option("--verdict", o_.verdict,
                       "candidate, kept, dropped, superseded, inconclusive or never_run (listing: only these)");
    ledger->add_option("--reason", o_.reason, "why");
    ledger->add_option("--by", o_.who, "what supersedes it: an entry's number, or words");
    ledger->add_option("--label", o_.label, "listing: only labels that contain this; with --add: its name");
    ledger->add_option("--note", o_.note, "with --add: what it is, in words");
    ledger->add_option("--format", o_.format, "text (default), markdown or html")
        ->check(CLI::IsMember({"text", "markdown", "html"}));
    auto* report = verb("report", "a page about a night, a trip or a compare, or the whole site: HTML, JSON, Markdown",
                        "nightgate report trip 1 --output trip.html");
    report->add_option("what", o_.action, "night, trip, bisect, compare, release or site")
        ->required()
        ->check(CLI::IsMember({"night", "trip", "bisect", "compare", "release", "site"}));
    report
        ->add_option("which", o_.positional,
                     "number of the night, trip or bisect; file of `compare --json`; a release as it was typed, or a "
                     "file; directory "
                     "of the site (none: report.site of the config)")
        ->expected(0, 1);
    report->add_option("--format", o_.format, "html (default), json or markdown; a release also yuneta")
        ->check(CLI::IsMember({"html", "json", "markdown", "md", "yuneta"}));
    report->add_flag("--all", o_.all, "site: write every page again");
    report->add_option("--output", o_.output, "file to write; default stdout");
    report->add_option("--machine", o_.machine, "another machine's nights");
  }

  void publishing() {
    auto* watch =
        verb("watch", "the dead man's switch: alarms when there was no night with a verdict by the stated hour",
             "nightgate watch --by 09:00");
    watch->add_option("--by", o_.by, "hour of the day in UTC (default 09:00)");
    watch->add_option("--machine", o_.machine, "another machine's nights");
    watch->add_option("--failed-unit", o_.failed_unit,
                      "tell now that this unit of systemd failed, unless there is a night with a verdict since");

    auto* publish = verb("publish", "say a result in a workflow: summary, outputs, annotations, comment, exit code",
                         "nightgate publish result.json --exit-code 1 --fail-on regression", false);
    publish->add_option("result", o_.positional, "document of compare, nightly or bisect --json")
        ->required()
        ->expected(1);
    publish->add_option("--exit-code", o_.exit_of, "with which the command ended")->check(CLI::Range(0, 255));
    publish->add_option("--fail-on", o_.fail_on, "regression, no-verdict (default) or never")
        ->check(CLI::IsMember({"regression", "no-verdict", "never"}));
    publish->add_option("--comment", o_.comment_when, "always, on-change (default) or never")
        ->check(CLI::IsMember({"always", "on-change", "never"}));
    publish->add_option("--key", o_.comment_key,
                        "names the comment, where one workflow has several gates (default gate)");
    publish->add_option("--output", o_.output, "directory for report.md and summary.md (default: beside the result)");
    publish->add_flag("--from-artifact", o_.from_artifact,
                      "the result comes from another workflow's artifact: only the comment is made");
    publish->add_option("--head-sha", o_.head_sha, "with --from-artifact: head of the pull request it is about");

    auto* completion = verb("completion", "print the completion of a shell, or the manual page",
                            "nightgate completion bash > /etc/bash_completion.d/nightgate", false);
    completion->add_option("what", o_.action, "bash, zsh, fish or man")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish", "man"}));
    completion->group("");  // not in the list of verbs
  }

  CLI::App& app_;
  Options& o_;
};

// One line of help, without CLI11's own layout (which differs between its versions).
OptionHelp describe(const CLI::Option& option) {
  OptionHelp out;
  for (const auto& name : option.get_lnames()) out.names.push_back("--" + name);
  for (const auto& name : option.get_snames()) out.names.insert(out.names.begin(), "-" + name);
  out.help = option.get_description();
  out.required = option.get_required();
  if (out.names.empty()) out.value = option.get_name();
  if (option.get_items_expected_max() == 0) return out;  // a flag
  const std::string type = option.get_type_name();
  if (out.value.empty()) out.value = type.substr(0, type.find(':'));
  const auto open = type.find('{');
  const auto close = type.find('}');
  for (auto at = open; at != std::string::npos && at < close;) {
    const auto end = std::min(type.find(',', at + 1), close);
    out.choices.push_back(type.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

VerbHelp describe(const CLI::App& app) {
  VerbHelp out{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const auto* option : app.get_options({})) out.options.push_back(describe(*option));
  return out;
}

void suggest_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const auto* sub : app.get_subcommands({})) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  std::string hint;
  for (const auto& name : near_matches(argv[1], names)) hint += (hint.empty() ? "" : ", ") + name;
  if (!hint.empty()) std::fprintf(stderr, "did you mean: %s?\n", hint.c_str());
}

void set_up(CLI::App& app, Options& options) {
  app.name("nightgate");
  app.description("nightgate: a performance-regression gate for servers");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("nightgate ") + NIGHTGATE_VERSION);
  app.footer(
      "Exit codes: 0 nothing red, 1 confirmed regression, 2 wrong usage or config, 3 could not measure,\n"
      "4 no verdict, 5 internal error. Each verb has --help with an example.");
  Builder(app, options).build();
}

// CLI11's ranges let "nan" pass.
void refuse_nan(const Options& o) {
  for (const double value : {o.max_minutes, o.error, o.min_change, o.effect, o.noise_sd, o.outliers, o.image_effect,
                             o.missing, o.slow_noise}) {
    if (std::isnan(value)) throw CLI::ValidationError("\"nan\" is no number");
  }
}

}  // namespace

ProgramHelp describe() {
  CLI::App app;
  Options options;
  set_up(app, options);
  ProgramHelp out{describe(app), {}};
  for (const auto* sub : app.get_subcommands({})) {
    if (!sub->get_group().empty()) out.verbs.push_back(describe(*sub));
  }
  return out;
}

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  CLI::App app;
  set_up(app, parsed.options);
  parsed.options.command_line.assign(argv + 1, argv + argc);
  try {
    app.parse(argc, argv);
    refuse_nan(parsed.options);
    parsed.go = true;
  } catch (const CLI::ParseError& e) {
    const bool help = e.get_exit_code() == 0;
    parsed.exit_code = usage_error;
    app.exit(e, help ? std::cout : std::cerr, std::cerr);
    if (!help) suggest_verb(app, argc, argv);
    const auto& typed = parsed.options.command_line;
    if (!help && std::find(typed.begin(), typed.end(), "--json") != typed.end()) {
      parsed.options.json = true;
      parsed.options.verb = typed.empty() ? "" : typed.front();
      parsed.exit_code = tell_error(parsed.options, Error{Code::usage, e.what(), {}});
    }
    if (help) parsed.exit_code = 0;
  }
  return parsed;
}

}  // namespace nightgate::cli
