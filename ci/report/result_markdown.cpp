// Markdown of a result, for a step summary or a comment. Text from outside only through outside().
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/report/result.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

std::string_view sign(Overall overall) {
  switch (overall) {
    case Overall::pass:
      return "\u2705 pass";
    case Overall::improvement:
      return "\u2705 improvement";
    case Overall::regression:
      return "\u274c regression";
    case Overall::no_verdict:
      return "\u2754 no verdict";
    case Overall::error:
      break;
  }
  return "\u26a0\ufe0f error";
}

std::string_view heading(ResultKind kind) {
  switch (kind) {
    case ResultKind::compare:
      return "nightgate compare";
    case ResultKind::nightly:
      return "nightgate nightly";
    case ResultKind::bisect:
      return "nightgate bisect";
    case ResultKind::error:
      break;
  }
  return "nightgate";
}

std::string_view compare_word(const std::string& verdict) {
  if (verdict == "better") return "IMPROVES";
  if (verdict == "worse") return "**WORSENS**";
  return verdict == "same" ? "same" : "no verdict";
}

std::string verdict_cell(ResultKind kind, const ResultRow& row) {
  if (kind == ResultKind::compare) return std::string(compare_word(row.verdict));
  auto plain = row.verdict;
  std::replace(plain.begin(), plain.end(), '_', ' ');
  return row.red || row.verdict == "culprit" ? "**" + plain + "**" : plain;
}

std::string change_cell(const ResultRow& row) {
  auto out = percent(row.change);
  if (std::isfinite(row.low) && std::isfinite(row.high)) out += " (" + percent_range(row.low, row.high) + ")";
  return out;
}

std::string figures(double value, const std::string& unit) {
  const auto scaled = scale_for(value, unit);
  const auto shown = number(value * scaled.factor);
  return scaled.unit.empty() || !std::isfinite(value) ? shown : shown + " " + outside(scaled.unit, 20);
}

// Ten blocks are base; at most twenty.
std::string bar(double index) {
  if (!std::isfinite(index)) return "";
  std::string out;
  for (auto blocks = std::clamp(std::lround(index / 10), 0L, 20L); blocks > 0; --blocks) out += "\u2588";
  return index >= 205 ? out + "\u2026" : out;
}

std::string_view table_head(ResultKind kind) {
  switch (kind) {
    case ResultKind::compare:
      return "| metric | verdict | change (95 % interval) | index | base = 100 | pairs | why |\n"
             "|---|---|---:|---:|---|---:|---|\n";
    case ResultKind::nightly:
      return "| metric | verdict | change | baseline | tonight | why |\n|---|---|---:|---:|---:|---|\n";
    default:
      return "| merge | | change (95 % interval) | starts |\n|---|---|---:|---:|\n";
  }
}

std::string table_row(ResultKind kind, const ResultRow& row) {
  const auto first = fmt::format("| {} | {} | {} |", outside(row.metric), verdict_cell(kind, row), change_cell(row));
  const auto why = outside(row.reason, 160);
  switch (kind) {
    case ResultKind::compare:
      return fmt::format("{} {} | {} | {} | {} |\n", first, number(row.index), bar(row.index), row.pairs, why);
    case ResultKind::nightly:
      return fmt::format("{} {} | {} | {} |\n", first, figures(row.before, row.unit), figures(row.after, row.unit),
                         why);
    default:
      return fmt::format("{} {} |\n", first, row.pairs);
  }
}

// Text that grows up to a limit; what does not fit is not begun.
class Budget {
 public:
  explicit Budget(std::size_t most) : most_(most) {}
  [[nodiscard]] bool fits(std::size_t bytes) const { return out_.size() + bytes <= most_; }
  bool add(std::string_view text) {
    if (!fits(text.size())) return false;
    out_ += text;
    return true;
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::size_t most_;
  std::string out_;
};

constexpr std::size_t room_for_counts = 80;  // "N more rows are in the full report."

void add_section(Budget& out, ResultKind kind, const ResultSection& section, std::size_t& dropped) {
  std::string head;
  if (!section.title.empty()) head += "\n#### " + outside(section.title) + "\n";
  if (!section.remark.empty()) head += "\n" + outside(section.remark, 300) + "\n";
  head += "\n" + std::string(table_head(kind));
  bool open = false, full = false;
  for (const auto& row : section.rows) {
    auto text = table_row(kind, row);
    if (!open) text = head + text;
    if (full || !out.fits(text.size() + room_for_counts)) {
      full = true;  // the rows behind it are less important: none of them instead
      ++dropped;
    } else {
      open = out.add(text);
    }
  }
}

// The figures behind a compare's indexes, folded; as many rows as there is room for, and the end of the fold.
std::string absolute_values(const JobResult& result, std::size_t most) {
  constexpr std::string_view begin = "\n<details><summary>Absolute values</summary>\n", end = "\n</details>\n";
  Budget out(most > end.size() ? most - end.size() : 0);
  bool any = false;
  out.add(begin);
  for (const auto& section : result.sections) {
    std::string head = section.title.empty() ? "" : "\n" + outside(section.title) + "\n";
    head += "\n| metric | base | head |\n|---|---:|---:|\n";
    bool open = false;
    for (const auto& row : section.rows) {
      const auto text = fmt::format("| {} | {} | {} |\n", outside(row.metric), figures(row.before, row.unit),
                                    figures(row.after, row.unit));
      if (!out.add(open ? text : head + text)) break;
      open = any = true;
    }
  }
  return any ? out.take() + std::string(end) : std::string();
}

}  // namespace

std::string outside(std::string_view text, std::size_t most) { return escape_markdown(shorten(text, most)); }

std::string result_markdown(const JobResult& result, std::size_t most_bytes, std::string_view footer) {
  const auto end = footer.empty() ? std::string() : "\n" + std::string(footer) + "\n";
  Budget out(most_bytes > end.size() ? most_bytes - end.size() : 0);
  out.add(
      fmt::format("### {}: {}\n\n**{}**\n", heading(result.kind), sign(result.overall), outside(result.sentence, 700)));
  std::string facts;
  for (const auto& fact : result.facts) facts += (facts.empty() ? "" : " \u00b7 ") + outside(fact);
  if (!facts.empty()) out.add("\n" + facts + "\n");
  // Remarks stand below the tables, and their room is kept free first.
  std::string remarks;
  for (const auto& remark : result.remarks) {
    const auto line = "\n- " + outside(remark, 500);
    if (remarks.size() + line.size() > most_bytes / 8) break;
    remarks += line;
  }
  if (!remarks.empty()) remarks += "\n";
  std::size_t dropped = 0;
  Budget tables(most_bytes > end.size() + remarks.size() ? most_bytes - end.size() - remarks.size() : 0);
  tables.add(out.take());
  for (const auto& section : result.sections) add_section(tables, result.kind, section, dropped);
  if (dropped > 0) tables.add(fmt::format("\n{} more rows are in the full report.\n", dropped));
  auto text = tables.take();
  if (result.kind != ResultKind::error && !result.sections.empty()) {
    // Said once, because every number above relies on it.
    const std::string_view scale = "\n<sub>change: negative is worse, whatever the metric.</sub>\n";
    if (text.size() + remarks.size() + scale.size() + end.size() <= most_bytes) text += scale;
  }
  const auto used = text.size() + remarks.size() + end.size();
  if (result.kind == ResultKind::compare && used < most_bytes) remarks += absolute_values(result, most_bytes - used);
  return text + remarks + end;
}

}  // namespace nightgate::report
