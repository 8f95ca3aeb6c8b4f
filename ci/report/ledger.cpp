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

std::string result_of(const store::LedgerEntry& entry) {
  const auto parsed = parse_json(entry.result.empty() ? "{}" : entry.result);
  if (!parsed || !parsed->is_object() || !parsed->contains("metrics") || !(*parsed)["metrics"].is_array())
    return "no measurement";
  std::string out;
  for (const auto& m : (*parsed)["metrics"]) {
    if (!m.is_object() || !m.contains("metric") || !m["metric"].is_string()) continue;
    const auto verdict = m.contains("verdict") && m["verdict"].is_string() ? m["verdict"].get<std::string>() : "";
    const auto change = m.contains("change") && m["change"].is_number() ? m["change"].get<double>() : store::unknown;
    const auto said = verdict == "same" ? "same" : verdict == "no_verdict" ? "no verdict" : percent(change);
    out += (out.empty() ? "" : ", ") + m["metric"].get<std::string>() + " " + said;
  }
  return out.empty() ? "no metric" : out;
}

std::string ledger_page(const std::vector<store::LedgerEntry>& entries, const std::string& project,
                        const SiteLinks* links) {
  Page out(
      project + ": ledger",
      entries.empty() ? "Nothing was tried yet." : fmt::format("{} things were tried and measured.", entries.size()),
      "");
  if (links != nullptr) out.site(links->root).links({{"Overview", links->root + "index.html"}});
  for (const bool dropped : {false, true}) {
    out.heading(dropped ? "Tried and dropped" : "Decisions");
    Table table(dropped ? "What was measured and not kept" : "What is kept, open or inconclusive",
                {"id", "what", "base", "head", "result", "verdict", "why"},
                {true, false, false, false, false, false, false}, Filter::offered);
    for (const auto& e : entries) {
      if ((e.verdict == "dropped" || e.verdict == "superseded") != dropped) continue;
      table.row({html(fmt::format("{}", e.id)), html(e.note.empty() ? e.label : e.label + ": " + e.note), html(e.base),
                 html(e.head), html(result_of(e)),
                 html(words_of(e.verdict) + (e.superseded_by.empty() ? "" : " by " + e.superseded_by)), html(e.why)});
    }
    out.raw(table.empty() ? "<p>Nothing.</p>" : table.str());
  }
  return out.str();
}

}  // namespace nightgate::report
