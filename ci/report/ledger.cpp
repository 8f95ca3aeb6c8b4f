#include "ci/report/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ci/report/page.hpp"
#include "ci/report/text.hpp"
#include "gate/base/json.hpp"

namespace nightgate::report {

std::string words_of(std::string_view verdict) {
  std::string out(verdict);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string verdict_of(const store::LedgerEntry& entry) {
  if (entry.superseded_by.empty()) return words_of(entry.verdict);
  const bool number = entry.superseded_by.find_first_not_of("0123456789") == std::string::npos;
  return words_of(entry.verdict) + " by " + (number ? "entry " : "") + entry.superseded_by;
}

bool given_up(const store::LedgerEntry& entry) { return entry.verdict == "dropped" || entry.verdict == "superseded"; }

namespace {

using nlohmann::json;

// "" for anything that is not there, or no text.
std::string text_in(const json& at, const char* key) {
  return at.is_object() && at.contains(key) && at[key].is_string() ? at[key].get<std::string>() : "";
}

std::string metrics_text(const json& comparison) {
  if (!comparison.is_object() || !comparison.contains("metrics") || !comparison["metrics"].is_array()) return {};
  std::string out;
  for (const auto& m : comparison["metrics"]) {
    const auto name = text_in(m, "metric"), verdict = text_in(m, "verdict");
    if (name.empty()) continue;
    const auto change = m.contains("change") && m["change"].is_number() ? m["change"].get<double>() : store::unknown;
    const auto said = verdict == "same" ? "same" : verdict == "no_verdict" ? "no verdict" : percent(change);
    out += (out.empty() ? "" : ", ") + name + " " + said;
  }
  return out;
}

// Which commit, and which build of it. A label often holds the commit already.
std::string arm_text(const json& arm, const std::string& fallback) {
  const auto commit = text_in(arm, "commit").substr(0, 10), label = text_in(arm, "label");
  auto digest = text_in(arm, "digest");
  if (const auto colon = digest.find(':'); colon != std::string::npos) digest.erase(0, colon + 1);
  std::string more;
  if (!commit.empty() && label.find(commit.substr(0, 7)) == std::string::npos) more = "commit " + commit;
  if (!digest.empty()) more += (more.empty() ? "build " : ", build ") + digest.substr(0, 12);
  const auto name = fallback.empty() ? label : fallback;
  return more.empty() ? name : fmt::format("{} ({})", name, more);
}

const json* first_of(const json& document, const char* list) {
  const auto at = document.find(list);
  return at == document.end() || !at->is_array() || at->empty() ? nullptr : &at->front();
}

std::string what_of(const store::LedgerEntry& e) { return e.note.empty() ? e.label : e.label + ": " + e.note; }

}  // namespace

LedgerFacts facts_of(const store::LedgerEntry& entry) {
  LedgerFacts out{entry.base, entry.head, {}, "no measurement", 0};
  const auto document = parse_json(entry.result.empty() ? "{}" : entry.result);
  if (!document || !document->is_object() || !document->contains("metrics")) return out;
  if (const auto* base = first_of(*document, "arms")) out.base = arm_text(*base, entry.base);
  if (document->contains("candidate")) out.head = arm_text((*document)["candidate"], entry.head);
  if (document->contains("stands_on")) out.stands_on = text_in((*document)["stands_on"], "label");
  if (document->contains("pairs") && (*document)["pairs"].is_number_integer())
    out.pairs = static_cast<int>(std::clamp<std::int64_t>((*document)["pairs"].get<std::int64_t>(), 0, 1000000));
  const auto* head = first_of(*document, "heads");
  out.result = metrics_text(*document);
  if (out.result.empty()) {
    const auto why = head == nullptr ? std::string() : text_in(*head, "reason");
    out.result = why.empty() ? "no metric" : shorten(why, 200);
    return out;
  }
  if (out.pairs > 0) out.result += fmt::format(", {} pairs", out.pairs);
  if (const auto* rung = first_of(*document, "rungs"); rung != nullptr && !metrics_text(*rung).empty())
    out.result += fmt::format("; on top of {}: {}", out.stands_on, metrics_text(*rung));
  return out;
}

std::string ledger_markdown(const std::vector<store::LedgerEntry>& entries) {
  std::string out;
  for (const bool dropped : {false, true}) {
    out += fmt::format(
        "{}## {}\n\n| id | what | base | head | stands on | result | verdict | why "
        "|\n|---:|---|---|---|---|---|---|---|\n",
        dropped ? "\n" : "", dropped ? "Tried and dropped" : "Decisions");
    for (const auto& e : entries) {
      if (given_up(e) != dropped) continue;
      const auto facts = facts_of(e);
      out += fmt::format("| {} |", e.id);
      for (const auto& cell : {what_of(e), facts.base, facts.head, facts.stands_on, facts.result, verdict_of(e), e.why})
        out += " " + escape_markdown(cell) + " |";
      out += "\n";
    }
  }
  return out;
}

std::string ledger_page(const std::vector<store::LedgerEntry>& entries, const std::string& project,
                        const SiteLinks* links) {
  Page out(project + ": ledger",
           entries.empty() ? "Nothing was tried yet."
                           : counted(static_cast<std::int64_t>(entries.size()), "thing") + " tried and decided about.",
           "");
  if (links != nullptr) out.site(links->root).links({{"Overview", links->root + "index.html"}});
  for (const bool dropped : {false, true}) {
    out.heading(dropped ? "Tried and dropped" : "Decisions");
    Table table(dropped ? "What was measured and not kept" : "What is kept, open or inconclusive",
                {"id", "what", "base", "head", "stands on", "result", "verdict", "why"},
                {true, false, false, false, false, false, false, false}, Filter::offered);
    for (const auto& e : entries) {
      if (given_up(e) != dropped) continue;
      const auto facts = facts_of(e);
      table.row({html(fmt::format("{}", e.id)), html(what_of(e)), html(facts.base), html(facts.head),
                 html(facts.stands_on), html(facts.result), html(verdict_of(e)), html(e.why)});
    }
    out.raw(table.empty() ? "<p>Nothing.</p>" : table.str());
  }
  return out.str();
}

}  // namespace nightgate::report
