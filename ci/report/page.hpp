// A self-contained HTML page: no script needed, no outside file, dark and light, prints well.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nightgate::report {

// HTML that is already escaped. Made by html() from text, or by the writers of this room.
struct Html {
  std::string text;
};
[[nodiscard]] Html html(std::string_view plain);

// A link to a relative address, text escaped.
[[nodiscard]] Html link(std::string_view address, std::string_view text);
[[nodiscard]] Html day(std::string_view date);  // "2026-10-02", never broken over two lines
// A chart under its name, in a box that scrolls by itself on a narrow screen. `name` must be the page's only one of
// that name. read_aloud: of nights: a narrow box begins with the newest, and the site's script says what is
// under the cursor.
[[nodiscard]] std::string figure(std::string_view name, std::string_view trusted_svg, std::string_view caption,
                                 bool read_aloud = false);

enum class Filter { none, offered };  // offered: the site's script puts a field above the table that narrows its rows

// A table with a caption (the page's only one of these words); the first cell of each row is its header. Numbers are
// right-aligned where `numeric` says so.
class Table {
 public:
  Table(std::string_view caption, std::vector<std::string> head, std::vector<bool> numeric,
        Filter filter = Filter::none);
  Table& row(const std::vector<Html>& cells, std::string_view style = {});
  [[nodiscard]] std::string str()
      const;  // a scrolling box around the table, so that the page itself never scrolls sideways
  [[nodiscard]] bool empty() const { return rows_ == 0; }

 private:
  std::vector<bool> numeric_;
  std::string out_;
  int rows_ = 0;
};

class Page {
 public:
  // `lead`: the verdict in one sentence. `tone`: "good", "bad", "unsure" or "".
  Page(std::string_view title, std::string_view lead, std::string_view tone);
  Page& heading(std::string_view text);
  Page& paragraph(const Html& text);
  Page& raw(std::string_view trusted_html);  // a chart or table of this room
  Page& code(std::string_view text);         // commands to copy
  Page& fold(std::string_view summary, std::string_view trusted_html);
  Page& definitions(const std::vector<std::pair<std::string, std::string>>& rows);  // plain text
  // Links above the title: {text, relative address}.
  Page& links(const std::vector<std::pair<std::string, std::string>>& rows);
  // A page of a site: style and script are files at `root` ("../" from a folder below).
  Page& site(std::string_view root);
  [[nodiscard]] std::string str() const;

 private:
  std::string title_, lead_, tone_, nav_, body_, root_;
  bool in_site_ = false;
};

// A verdict as a small badge: a sign and a word, never colour alone.
[[nodiscard]] Html badge(std::string_view verdict);

}  // namespace nightgate::report
