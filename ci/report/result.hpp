// The document of `compare|nightly|bisect --json`, read back as hostile text and shown as Markdown again. Only numbers,
// known words and shortened plain text are taken over; nothing that the document says is Markdown is believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate::report {

inline constexpr std::size_t result_bytes = 4U << 20U;  // larger documents are refused

enum class ResultKind { compare, nightly, bisect, error };
// What is said about the whole, and the exit code that goes with it (the table of exit codes).
enum class Overall { pass, improvement, regression, no_verdict, error };
[[nodiscard]] std::string_view name(Overall overall);  // "pass", "improvement", "regression", "no-verdict", "error"

struct ResultRow {  // a metric
  std::string metric, unit, verdict, reason;
  double change, low, high;  // NaN: not known; shares, negative is worse
  double before, after;      // base and head, or baseline and value
  double index;
  std::int64_t pairs = 0;
  bool red = false;  // worse, tripped or still red
};
struct ResultSection {  // a head of a compare; the night; the ladder of a bisect
  std::string title;    // plain text; may be empty
  std::string remark;
  std::vector<ResultRow> rows;  // worst first
};
struct Culprit {
  std::string commit;  // hexadecimal, or empty
  std::string title, author;
  std::int64_t pr = 0;
  double probability, change;
};

struct JobResult {
  ResultKind kind = ResultKind::error;
  Overall overall = Overall::error;
  int exit_code = 5;                 // what the document itself amounts to
  std::string sentence;              // plain text, one line
  std::vector<std::string> facts;    // base, head, machine, pairs, minutes ...
  std::vector<std::string> remarks;  // A/A complaint, void pairs, different answers, failures
  std::vector<ResultSection> sections;
  std::vector<Culprit> culprits;  // of a bisect, or of a night's open trips
  std::int64_t regressions = 0;   // metrics
};

// Code::bad_data for anything that is not such a document: too large, too deep, another schema, unknown words, texts
// where numbers belong. Long texts are shortened.
[[nodiscard]] Result<JobResult> read_result(std::string_view text);
// For a command that ended without a document: its exit code (not 0).
[[nodiscard]] JobResult result_of_exit(int exit_code);
// The exit code of the command and the document's together: the first of 2, 5, 1, 3, 4, 0 (others count as 5).
[[nodiscard]] int joined_exit_code(int command, int document);
// Brings `overall` in line with an exit code that is worse than the document.
void take_exit_code(JobResult& result, int command);

// At most `most_bytes` of Markdown: whole rows are dropped and counted, never half a table. `footer` is trusted
// Markdown put at the end.
[[nodiscard]] std::string result_markdown(const JobResult& result, std::size_t most_bytes,
                                          std::string_view footer = {});

// Text from outside inside Markdown: shortened and escaped.
[[nodiscard]] std::string outside(std::string_view text, std::size_t most = 200);

}  // namespace nightgate::report
