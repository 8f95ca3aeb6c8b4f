// What an entity is: a JSON object with "id", "type" and attributes. Text in, text out, so that only entity.cpp needs
// the JSON library. The normal form has sorted keys, and every attribute is {"type": .., "value": ..}.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace broker::entity {

struct Checked {
  std::string error;  // empty when the entity is fine
  std::string id;
  std::string type;
  std::string text;  // the normal form
};

// Parses, checks names and sizes, and brings to the normal form.
Checked check(std::string_view body);
// As check(), but `text` stays the body as it was sent, for represent_as_sent().
Checked check_only(std::string_view body);
// An array of entities, or one Checked with an error when it is none.
std::vector<Checked> check_batch(std::string_view body);
// A stored text in the normal form, as it is answered.
std::string represent(std::string_view stored);
// The same for a text that was stored as it was sent.
std::string represent_as_sent(std::string_view stored);
// `stored` with the attributes of `patch` put in or replaced (null removes one).
Checked patched(std::string_view stored, std::string_view patch);
// Whether two entities say the same, whatever their ids are.
bool same_content(std::string_view a, std::string_view b);
// {"error": TEXT}
std::string error_text(std::string_view text);
// `text` as a JSON string with its quotes.
std::string quoted(std::string_view text);

}  // namespace broker::entity
