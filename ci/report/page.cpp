#include "ci/report/page.hpp"

#include <fmt/format.h>

#include "ci/report/style.hpp"
#include "ci/report/text.hpp"

namespace nightgate::report {

Html html(std::string_view plain) { return {escape_html(plain)}; }

Table::Table(std::string_view caption, std::vector<std::string> head, std::vector<bool> numeric, Filter filter)
    : numeric_(std::move(numeric)) {
  out_ = fmt::format(
      "<div class=\"box\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{0}\"{1}><table><caption>{0}</caption><thead><tr>",
      escape_html(caption), filter == Filter::offered ? " data-filter" : "");
  for (std::size_t i = 0; i < head.size(); ++i) {
    out_ += fmt::format("<th scope=\"col\"{}>{}</th>", i < numeric_.size() && numeric_[i] ? " class=\"n\"" : "",
                        escape_html(head[i]));
  }
  out_ += "</tr></thead><tbody>";
}

namespace {
// A sentence needs a column that is not one word wide; tags don't count.
bool is_long(std::string_view trusted_html) {
  std::size_t count = 0;
  bool in_tag = false;
  for (const char c : trusted_html) {
    in_tag = c == '<' || (in_tag && c != '>');
    count += in_tag || c == '>' ? 0 : 1;
  }
  return count > 45;
}
}  // namespace

Table& Table::row(const std::vector<Html>& cells, std::string_view style_name) {
  out_ += style_name.empty() ? std::string("<tr>") : fmt::format("<tr class=\"{}\">", style_name);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto* style_of = i < numeric_.size() && numeric_[i] ? " class=\"n\""
                           : is_long(cells[i].text)           ? " class=\"w\""
                                                              : "";
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

Page& Page::site(std::string_view root) {
  root_ = root;
  in_site_ = true;
  return *this;
}

std::string Page::str() const {
  const auto root = escape_html(root_);
  const auto style = in_site_ ? fmt::format(
                                    "<link rel=\"stylesheet\" href=\"{0}nightgate.css\">\n"
                                    "<script defer src=\"{0}nightgate.js\"></script>",
                                    root)
                              : fmt::format("<style>{}</style>", style_sheet());
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"nightgate\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n{}\n</head>\n<body>\n"
      "{}<main>\n<h1>{}</h1>\n<p class=\"lead {}\">{}</p>\n{}</main>\n</body>\n</html>\n",
      escape_html(title_), style, nav_, escape_html(title_), tone_, escape_html(lead_), body_);
}

Html link(std::string_view address, std::string_view text) {
  return {fmt::format("<a href=\"{}\">{}</a>", escape_html(address), escape_html(text))};
}

Html day(std::string_view date) { return {"<time>" + escape_html(date) + "</time>"}; }

std::string figure(std::string_view name, std::string_view trusted_svg, std::string_view caption, bool read_aloud) {
  return fmt::format(
      "<figure{}><p class=\"chart-title\">{}</p><div class=\"chart-box\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"Chart: {}\">{}</div><figcaption "
      "class=\"soft\">{}</figcaption></figure>\n",
      read_aloud ? " data-read" : "", escape_html(name), escape_html(name), trusted_svg, escape_html(caption));
}

Html badge(std::string_view verdict) {
  std::string_view tone = "plain", sign = "";
  if (verdict == "good" || verdict == "recovered" || verdict == "same") {
    tone = "good";
    sign = "✓ ";
  } else if (verdict == "gain" || verdict == "gain_pending" || verdict == "better" || verdict == "IMPROVES") {
    tone = "good";
    sign = "▲ ";
  } else if (verdict == "trip" || verdict == "red" || verdict == "price" || verdict == "unexplained" ||
             verdict == "worse" || verdict == "WORSENS") {
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
