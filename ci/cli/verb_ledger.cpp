// ledger: what was tried, measured and decided, kept or dropped. Nothing in it is ever erased.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/report/ledger.hpp"
#include "gate/base/json.hpp"

namespace nightgate::cli {
namespace {

using nlohmann::json;
using Entries = std::vector<store::LedgerEntry>;

constexpr std::array<std::string_view, 6> verdicts = {"candidate",  "kept",         "dropped",
                                                      "superseded", "inconclusive", "never_run"};

Status known_verdict(const std::string& verdict) {
  if (std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end()) return {};
  return fail(Code::usage,
              "--verdict is candidate, kept, dropped, superseded, inconclusive or never_run; found '" + verdict + "'");
}

bool wanted(const store::LedgerEntry& entry, const Options& options) {
  if (!options.verdict.empty() && entry.verdict != options.verdict) return false;
  return options.label.empty() || entry.label.find(options.label) != std::string::npos;
}

const store::LedgerEntry* entry_with(const Entries& entries, std::int64_t id) {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.id == id; });
  return at == entries.end() ? nullptr : &*at;
}

Status no_entry(const config::Config& config, std::int64_t id) {
  return fail(Code::usage, fmt::format("the ledger of {} has no entry {}", config.project, id));
}

json to_json(const store::LedgerEntry& e) {
  const auto facts = report::facts_of(e);
  return {{"id", e.id},
          {"label", e.label},
          {"note", e.note},
          {"at", to_rfc3339(e.at)},
          {"base", e.base},
          {"base_build", facts.base},
          {"head", e.head},
          {"head_build", facts.head},
          {"stands_on", facts.stands_on},
          {"pairs", facts.pairs},
          {"run", e.run},
          {"verdict", e.verdict},
          {"why", e.why},
          {"superseded_by", e.superseded_by},
          {"result", facts.result}};
}

std::string text(const Entries& entries, bool filtered) {
  if (entries.empty() && filtered) return "no entry of the ledger is like that\n";
  if (entries.empty()) return "the ledger is empty; `nightgate compare BASE HEAD --label NAME` writes an entry\n";
  std::string out;
  for (const auto& e : entries) {
    const auto facts = report::facts_of(e);
    const auto arms = e.head.empty() ? e.base : fmt::format("{} -> {}", e.base, e.head);
    out += clean(fmt::format("{:>4}  {:<12} {:<24} {}{}  {}{}", e.id, report::verdict_of(e), e.label, arms,
                             facts.stands_on.empty() ? "" : " on top of " + facts.stands_on, facts.result,
                             e.why.empty() ? "" : "  (" + e.why + ")")) +
           "\n";
  }
  return out;
}

// One entry whole, with every change of mind.
Result<int> show(const Options& options, store::Store& store, const store::LedgerEntry& e) {
  NG_TRY(const auto changes, store.ledger_changes(e.id));
  if (options.json) {
    auto document = to_json(e);
    document["changes"] = json::array();
    for (const auto& c : changes) {
      document["changes"].push_back({{"at", to_rfc3339(c.at)},
                                     {"verdict", c.verdict},
                                     {"why", c.why},
                                     {"superseded_by", c.superseded_by},
                                     {"who", c.who}});
    }
    print_json(options, {{"entries", json::array({document})}});
    return 0;
  }
  const auto facts = report::facts_of(e);
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format("{:<10} {}\n", name, clean(value));
  };
  line("entry", fmt::format("{}: {}", e.id, e.label));
  line("what", e.note);
  line("at", to_rfc3339(e.at));
  line("base", facts.base);
  line("head", facts.head);
  line("stands on", facts.stands_on);
  line("result", facts.result);
  line("verdict", report::verdict_of(e));
  line("why", e.why);
  line("run", e.run);
  for (const auto& c : changes)
    line("changed", fmt::format("{} to {} by {}: {}", to_rfc3339(c.at), report::words_of(c.verdict), c.who, c.why));
  print(out);
  return 0;
}

// --by names another entry by its number, or anything else in words.
Status check_by(const Options& options, const config::Config& config, const Entries& entries) {
  if ((options.verdict == "superseded") == options.who.empty())
    return fail(Code::usage,
                "--by names what supersedes an entry; it goes with --verdict superseded and with no other");
  std::int64_t other = 0;
  const auto* end = options.who.data() + options.who.size();
  const auto [stop, error] = std::from_chars(options.who.data(), end, other);
  if (error != std::errc() || stop != end) return {};
  if (other == options.id) return fail(Code::usage, "an entry can't supersede itself");
  return entry_with(entries, other) == nullptr ? no_entry(config, other) : Status{};
}

Result<int> decide(const Options& options, store::Store& store, const config::Config& config, const Entries& entries) {
  NG_CHECK(known_verdict(options.verdict));
  if (options.reason.find_first_not_of(" \t\n") == std::string::npos)
    return fail(Code::usage, "a verdict needs its reason: --reason TEXT");
  NG_CHECK(check_by(options, config, entries));
  store::LedgerChange change;
  change.entry = options.id;
  change.verdict = options.verdict;
  change.why = options.reason;
  change.superseded_by = options.who;
  change.who = user_name();
  change.at = system_clock().now();
  NG_CHECK(store.change_ledger(change));
  if (options.json) {
    print_json(options, {{"id", options.id}, {"verdict", options.verdict}, {"why", options.reason}});
  } else {
    print(fmt::format("entry {} is {} now\n", options.id, report::words_of(options.verdict)));
  }
  return 0;
}

// An idea that was never run, or something that was tried elsewhere.
Result<int> add(const Options& options, store::Store& store, const config::Config& config, const Entries& entries) {
  if (options.label.find_first_not_of(" \t\n") == std::string::npos)
    return fail(Code::usage, "--add needs its name: --label NAME");
  store::LedgerEntry entry;
  entry.project = config.project;
  entry.label = options.label;
  entry.note = options.note;
  entry.at = system_clock().now();
  entry.result = "{}";
  entry.verdict = options.verdict.empty() ? "never_run" : options.verdict;
  entry.why = options.reason;
  entry.superseded_by = options.who;
  NG_CHECK(known_verdict(entry.verdict));
  NG_CHECK(check_by(options, config, entries));
  if (entry.why.empty() && entry.verdict != "candidate")
    return fail(Code::usage, "a verdict needs its reason: --reason TEXT");
  for (const auto& e : entries) {
    if (e.run.empty() && e.label == entry.label)
      return fail(Code::usage, fmt::format("entry {} is called '{}' already", e.id, e.label));
  }
  NG_TRY(entry.id, store.put_ledger(entry));
  if (options.json) {
    print_json(options, {{"id", entry.id}, {"verdict", entry.verdict}, {"why", entry.why}});
  } else {
    print(fmt::format("entry {}: {}\n", entry.id, clean(entry.label)));
  }
  return 0;
}

// What goes with what; a decision that is half typed must not pass as a listing.
Status check_usage(const Options& options) {
  if (options.add && options.id != 0) return fail(Code::usage, "--add makes a new entry: it goes without a number");
  const bool about_one = options.add || options.id != 0;
  if (!about_one && !(options.reason.empty() && options.who.empty() && options.note.empty()))
    return fail(Code::usage,
                "--reason, --by and --note are about one entry: name its number, or --add one (see --help)");
  if (about_one && !options.format.empty()) return fail(Code::usage, "--format is for the whole ledger");
  if (options.id != 0 && !(options.label.empty() && options.note.empty()))
    return fail(Code::usage,
                "an entry's label and note stay as they are; its verdict changes by --verdict and --reason");
  return options.verdict.empty() ? Status{} : known_verdict(options.verdict);
}

}  // namespace

Result<int> verb_ledger(const Options& options) {
  NG_CHECK(check_usage(options));
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto store, open_store(config));
  NG_TRY(auto entries, store->ledger(config.project));
  if (options.add) return add(options, *store, config, entries);
  if (options.id != 0) {
    const auto* entry = entry_with(entries, options.id);
    if (entry == nullptr) return tl::unexpected<Error>(no_entry(config, options.id).error());
    const bool only_look = options.verdict.empty() && options.reason.empty() && options.who.empty();
    return only_look ? show(options, *store, *entry) : decide(options, *store, config, entries);
  }
  entries.erase(std::remove_if(entries.begin(), entries.end(), [&](const auto& e) { return !wanted(e, options); }),
                entries.end());
  if (options.json) {
    json document = {{"entries", json::array()}};
    for (const auto& e : entries) document["entries"].push_back(to_json(e));
    print_json(options, document);
  } else if (options.format == "markdown") {
    print(report::ledger_markdown(entries));
  } else if (options.format == "html") {
    print(report::ledger_page(entries, config.project));
  } else {
    print(text(entries, !options.verdict.empty() || !options.label.empty()));
  }
  return 0;
}

}  // namespace nightgate::cli
