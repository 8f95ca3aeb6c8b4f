#include "ci/report/page.hpp"

#include <fmt/format.h>

#include "ci/report/text.hpp"

namespace nightgate::report {
namespace {

// Colours: blue and orange of Okabe and Ito (2008), told apart by colour-blind readers too; contrast at least 4.5 : 1.
constexpr std::string_view style = R"css(
:root{--bg:#fff;--fg:#1b1f24;--soft:#57606a;--edge:#d0d7de;--box:#f6f8fa;--good:#0b5cad;--bad:#a33b00;--unsure:#5d4a00;--band:#cfe3f7;--line:#0b5cad;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9da7b3;--edge:#3d444d;--box:#161b22;--good:#6cb6ff;--bad:#ffa657;--unsure:#e3c04f;--band:#173654;--line:#6cb6ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:72rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}
a{color:var(--good)}nav{font-size:.9rem}nav a{margin-right:1rem}
.lead{font-size:1.1rem;padding:.8rem 1rem;border-left:.4rem solid var(--edge);background:var(--box);margin:1rem 0}
.lead.good{border-color:var(--good)}.lead.bad{border-color:var(--bad)}.lead.unsure{border-color:var(--unsure)}
.box{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.2rem 0 .4rem}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--edge);text-align:left;vertical-align:top;overflow-wrap:normal}
th{font-weight:600}td.n,th.n{text-align:right;white-space:nowrap}tr.bad th,tr.bad td{background:var(--box)}
.badge{white-space:nowrap;font-weight:600}.badge.good{color:var(--good)}.badge.bad{color:var(--bad)}.badge.unsure{color:var(--unsure)}.badge.plain{color:var(--soft)}
pre{background:var(--box);border:1px solid var(--edge);padding:.7rem 1rem;overflow-x:auto;font-size:.9rem}
dl{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.2rem 1rem;margin:.6rem 0}dt{color:var(--soft)}dd{margin:0}
details{margin:.6rem 0}summary{cursor:pointer}
.soft{color:var(--soft)}
svg.chart{width:100%;height:auto;max-width:60rem;display:block;margin:.6rem 0}
svg text{fill:var(--fg);font:12px system-ui,-apple-system,"Segoe UI",sans-serif}svg .soft{fill:var(--soft)}svg .strong{font-weight:600}
svg .axis{stroke:var(--soft);stroke-width:1}svg .grid{stroke:var(--edge);stroke-width:1}
svg .band{fill:var(--band)}svg .line{fill:none;stroke:var(--line);stroke-width:1.6}svg .level{stroke:var(--soft);stroke-dasharray:5 4}
svg .dot{fill:var(--line)}svg .hollow{fill:var(--bg);stroke:var(--line);stroke-width:1.6}svg .cross{fill:none;stroke:var(--bad);stroke-width:2.2}
svg .bar{fill:var(--line)}svg .barbad{fill:var(--bad)}svg .mark{stroke:var(--bad);stroke-width:1.4;stroke-dasharray:3 3}svg .gap{fill:var(--edge)}
svg .good{fill:var(--good)}svg .bad{fill:var(--bad)}svg .whisker{stroke:var(--line);stroke-width:2}
@media print{body{max-width:none;font-size:11pt}details>*{display:block}nav{display:none}svg.chart{break-inside:avoid}}
)css";

}  // namespace

Html html(std::string_view plain) { return {escape_html(plain)}; }

Table::Table(std::string_view caption, std::vector<std::string> head, std::vector<bool> numeric)
    : numeric_(std::move(numeric)) {
  out_ = fmt::format(
      "<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption><thead><tr>",
      escape_html(caption));
  for (std::size_t i = 0; i < head.size(); ++i) {
    out_ += fmt::format("<th scope=\"col\"{}>{}</th>", i < numeric_.size() && numeric_[i] ? " class=\"n\"" : "",
                        escape_html(head[i]));
  }
  out_ += "</tr></thead><tbody>";
}

Table& Table::row(const std::vector<Html>& cells, std::string_view style_name) {
  out_ += style_name.empty() ? std::string("<tr>") : fmt::format("<tr class=\"{}\">", style_name);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto* style_of = i < numeric_.size() && numeric_[i] ? " class=\"n\"" : "";
    out_ += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", style_of, cells[i].text)
                   : fmt::format("<td{}>{}</td>", style_of, cells[i].text);
  }
  out_ += "</tr>";
  ++rows_;
  return *this;
}

std::string Table::str() const { return out_ + "</tbody></table></div>\n"; }

Page::Page(std::string_view title, std::string_view lead, std::string_view tone)
    : title_(title), lead_(lead), tone_(tone) {}

Page& Page::heading(std::string_view text) {
  body_ += fmt::format("<h2>{}</h2>\n", escape_html(text));
  return *this;
}
Page& Page::paragraph(const Html& text) {
  body_ += "<p>" + text.text + "</p>\n";
  return *this;
}
Page& Page::raw(std::string_view trusted_html) {
  body_ += trusted_html;
  body_ += "\n";
  return *this;
}
Page& Page::code(std::string_view text) {
  body_ += "<pre tabindex=\"0\"><code>" + escape_html(text) + "</code></pre>\n";
  return *this;
}
Page& Page::fold(std::string_view summary, std::string_view trusted_html) {
  body_ += fmt::format("<details><summary>{}</summary>{}</details>\n", escape_html(summary), trusted_html);
  return *this;
}
Page& Page::definitions(const std::vector<std::pair<std::string, std::string>>& rows) {
  body_ += "<dl>";
  for (const auto& [name, value] : rows)
    body_ += "<dt>" + escape_html(name) + "</dt><dd>" + escape_html(value) + "</dd>";
  body_ += "</dl>\n";
  return *this;
}
Page& Page::links(const std::vector<std::pair<std::string, std::string>>& rows) {
  nav_ = "<nav aria-label=\"Pages\">";
  for (const auto& [text, address] : rows)
    nav_ += fmt::format("<a href=\"{}\">{}</a>", escape_html(address), escape_html(text));
  nav_ += "</nav>\n";
  return *this;
}

std::string Page::str() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"nightgate\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "{}<main>\n<h1>{}</h1>\n<p class=\"lead {}\">{}</p>\n{}</main>\n</body>\n</html>\n",
      escape_html(title_), style, nav_, escape_html(title_), tone_, escape_html(lead_), body_);
}

Html badge(std::string_view verdict) {
  std::string_view tone = "plain", sign = "";
  if (verdict == "good" || verdict == "recovered" || verdict == "same") {
    tone = "good";
    sign = "✓ ";
  } else if (verdict == "gain" || verdict == "gain_pending" || verdict == "better" || verdict == "IMPROVES") {
    tone = "good";
    sign = "▲ ";
  } else if (verdict == "trip" || verdict == "red" || verdict == "worse" || verdict == "WORSENS") {
    tone = "bad";
    sign = "▼ ";
  } else if (verdict == "suspect" || verdict == "gain_lost" || verdict == "recovery_pending") {
    tone = "bad";
    sign = "? ";
  } else if (verdict == "no_verdict" || verdict == "no verdict" || verdict == "environment_suspect" ||
             verdict == "unfit") {
    tone = "unsure";
    sign = "○ ";
  }
  std::string word(verdict);
  for (char& c : word) c = c == '_' ? ' ' : c;
  return {fmt::format("<span class=\"badge {}\">{}{}</span>", tone, sign, escape_html(word))};
}

}  // namespace nightgate::report
