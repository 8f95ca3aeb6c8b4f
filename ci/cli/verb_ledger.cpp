// ledger: what was tried, measured and decided, kept or dropped. Nothing in it is ever erased.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/report/ledger.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> verdicts = {"candidate",  "kept",         "dropped",
                                                      "superseded", "inconclusive", "never_run"};

using report::result_of;

bool wanted(const store::LedgerEntry& entry, const Options& options) {
  if (!options.verdict.empty() && entry.verdict != options.verdict) return false;
  return options.label.empty() || entry.label.find(options.label) != std::string::npos;
}

json to_json(const store::LedgerEntry& e) {
  return {{"id", e.id},
          {"label", e.label},
          {"note", e.note},
          {"at", to_rfc3339(e.at)},
          {"base", e.base},
          {"head", e.head},
          {"run", e.run},
          {"verdict", e.verdict},
          {"why", e.why},
          {"superseded_by", e.superseded_by},
          {"result", result_of(e)}};
}

// Two tables: what is decided or still open, and what was tried and dropped.
std::string markdown(const std::vector<store::LedgerEntry>& entries) {
  const auto table = [&](std::string_view title, bool dropped) {
    auto out = fmt::format(
        "## {}\n\n| id | what | base | head | result | verdict | why |\n|---:|---|---|---|---|---|---|\n", title);
    for (const auto& e : entries) {
      if ((e.verdict == "dropped" || e.verdict == "superseded") != dropped) continue;
      const auto verdict = report::words_of(e.verdict) + (e.superseded_by.empty() ? "" : " by " + e.superseded_by);
      out += fmt::format("| {} | {}{} | {} | {} | {} | {} | {} |\n", e.id, report::escape_markdown(e.label),
                         e.note.empty() ? "" : ": " + report::escape_markdown(e.note), report::escape_markdown(e.base),
                         report::escape_markdown(e.head), report::escape_markdown(result_of(e)),
                         report::escape_markdown(verdict), report::escape_markdown(e.why));
    }
    return out;
  };
  return table("Decisions", false) + "\n" + table("Tried and dropped", true);
}

std::string text(const std::vector<store::LedgerEntry>& entries) {
  if (entries.empty()) return "the ledger is empty; `nightgate compare BASE HEAD --label NAME` writes an entry\n";
  std::string out;
  for (const auto& e : entries) {
    out += clean(fmt::format("{:>4}  {:<12} {:<24} {} -> {}  {}{}", e.id, report::words_of(e.verdict), e.label, e.base,
                             e.head, result_of(e), e.why.empty() ? "" : "  (" + e.why + ")")) +
           "\n";
  }
  return out;
}

Result<int> decide(const Options& options, store::Store& store, const config::Config& config) {
  if (std::find(verdicts.begin(), verdicts.end(), options.verdict) == verdicts.end()) {
    return fail(Code::usage, "--verdict is candidate, kept, dropped, superseded, inconclusive or never_run; found '" +
                                 options.verdict + "'");
  }
  if (options.reason.empty()) return fail(Code::usage, "a verdict needs its reason: --reason TEXT");
  if ((options.verdict == "superseded") == options.who.empty()) {
    return fail(Code::usage,
                "--by names what supersedes an entry; it goes with --verdict superseded and with no other");
  }
  NG_TRY(const auto entries, store.ledger(config.project));
  if (std::none_of(entries.begin(), entries.end(), [&](const auto& e) { return e.id == options.id; })) {
    return fail(Code::usage, fmt::format("the ledger of {} has no entry {}", config.project, options.id));
  }
  store::LedgerChange change;
  change.entry = options.id;
  change.verdict = options.verdict;
  change.why = options.reason;
  change.superseded_by = options.who;
  const auto* user = getpwuid(getuid());
  change.who = user != nullptr ? user->pw_name : fmt::format("uid {}", getuid());
  change.at = system_clock().now();
  NG_CHECK(store.change_ledger(change));
  if (options.json) {
    print_json(options, {{"id", options.id}, {"verdict", options.verdict}, {"why", options.reason}});
  } else {
    print(fmt::format("entry {} is {} now\n", options.id, report::words_of(options.verdict)));
  }
  return 0;
}

}  // namespace

Result<int> verb_ledger(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto store, open_store(config));
  if (options.id != 0) return decide(options, *store, config);
  NG_TRY(auto entries, store->ledger(config.project));
  entries.erase(std::remove_if(entries.begin(), entries.end(), [&](const auto& e) { return !wanted(e, options); }),
                entries.end());
  if (options.json) {
    json document = {{"entries", json::array()}};
    for (const auto& e : entries) document["entries"].push_back(to_json(e));
    print_json(options, document);
  } else if (options.format == "markdown") {
    print(markdown(entries));
  } else if (options.format == "html") {
    print(report::ledger_page(entries, config.project));
  } else {
    print(text(entries));
  }
  return 0;
}

}  // namespace nightgate::cli
