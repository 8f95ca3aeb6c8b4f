"""The arms of a comparison: what each variant changes in the first broker."""
import merges

H = merges.H

FASTER = [(H, "    entity::Checked made = entity::check(request.body);\n",
           "    entity::Checked made = entity::check_only(request.body);\n"),
          (H, "    text = entity::represent(stored);", "    text = entity::represent_as_sent(stored);"),
          (H, "      response.body += entity::represent(stored);", "      response.body += entity::represent_as_sent(stored);")]

# Keeps the id and the type and forgets the attributes: fast, and every later answer is wrong.
WRONG = [(H, "    if (!store_.insert(made.id, made.type, std::move(made.text))) return fail",
          "    made.text = \"{\\\"id\\\":\" + entity::quoted(made.id) + \",\\\"type\\\":\" + entity::quoted(made.type) + \"}\";\n"
          "    if (!store_.insert(made.id, made.type, std::move(made.text))) return fail"),
         FASTER[0]]

# The slow merge's work on every fifth create only: about a tenth.
def a_tenth(text):
    counter = "  std::atomic<unsigned long> posted_twice_{0};\n"
    now = "created_.fetch_add(1, std::memory_order_relaxed) % 5 == 0"
    return (text.replace("if (retrieve_text(", f"if ({now} && retrieve_text(")
            .replace(counter, counter + "  std::atomic<unsigned long> created_{0};\n"))



A_TENTH = [(file, old, a_tenth(new)) for file, old, new in merges.culprit().edits]

DYING = r"""
// Counts the starts in a file beside the program; the number of this one.
unsigned long this_start() {
  char program[4096];
  const auto size = ::readlink("/proc/self/exe", program, sizeof program - 8);
  const std::string path = std::string(program, size > 0 ? static_cast<std::size_t>(size) : 0) + ".starts";
  unsigned long starts = 0;
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    if (std::fscanf(file, "%lu", &starts) != 1) starts = 0;
    std::fclose(file);
  }
  if (std::FILE* file = std::fopen(path.c_str(), "w")) {
    std::fprintf(file, "%lu\n", ++starts);
    std::fclose(file);
  }
  return starts;
}

class Handlers final"""


def dying(after, on_start):
    when = "true" if on_start == 0 else f"this_start() == {on_start}"
    return [(H, "#include <atomic>\n", "#include <unistd.h>\n\n#include <atomic>\n#include <cstdio>\n"),
            (H, "\nclass Handlers final", DYING if on_start else "\nclass Handlers final"),
            (H, "    requests_.fetch_add(1, std::memory_order_relaxed);\n",
             f"    if (requests_.fetch_add(1, std::memory_order_relaxed) == {after} && dies_) {{\n"
             "      std::fputs(\"broker: internal error: out of slots\\n\", stderr);\n      std::_Exit(70);\n    }\n"),
            (H, "  Store& store_;\n", f"  Store& store_;\n  const bool dies_ = {when};\n")]


def all_of(die_after, die_on_start):
    return [("same", "Say it in other words", [("README.md", "", "\nThe order of members in an answer is alphabetic.\n")]),
            ("regressed", "Notice clients that post the same entity twice", merges.culprit().edits),
            ("a-tenth", "Notice some clients that post the same entity twice", A_TENTH),
            ("faster", "Normalise when an entity is read", FASTER),
            ("wrong-answers", "Store less", WRONG),
            ("dying", "Count slots", dying(die_after, die_on_start))]
