// Regular expressions from a config over text from a program: PCRE2 syntax, line by line (^ and $ are the ends of a
// line), bytes. Backtracking is bounded by work proportional to the text, so hostile text cannot hang it: a match that
// would need more is an error, not a wait. (std::regex recurses and has no such bound.)
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "gate/base/result.hpp"

namespace nightgate::formats {

class Pattern {
 public:
  static constexpr std::size_t kMaxPattern = 4096;
  static constexpr std::size_t kMaxText = std::size_t{4} << 20U;   // per call
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10U;  // longer lines are an error

  // Code::usage with the place of the mistake.
  [[nodiscard]] static Result<Pattern> compile(std::string_view text);

  // The number in the first group (the whole match when there is no group) of each line that matches, in order. At most
  // one per line. Thousands separators are not numbers. Code::bad_data when a match is no number.
  [[nodiscard]] Result<std::vector<double>> numbers(std::string_view text) const;
  // How many lines match.
  [[nodiscard]] Result<std::size_t> count_lines(std::string_view text) const;

 private:
  struct Code;
  struct Free {
    void operator()(const Code* code) const;
  };
  explicit Pattern(std::unique_ptr<const Code, Free> code) : code_(std::move(code)) {}
  template <class Use>
  [[nodiscard]] Status for_each_match(std::string_view text, Use use) const;
  std::unique_ptr<const Code, Free> code_;
};

}  // namespace nightgate::formats
