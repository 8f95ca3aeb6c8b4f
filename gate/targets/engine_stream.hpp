// What engines stream: frames of container output, and lines of JSON during a pull (private to gate/targets). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gate/base/result.hpp"

namespace nightgate::targets {

// Output of a container without a terminal comes in frames: stream number (0 to 2), three zeros, length (32 bits, most
// significant first), bytes. Both streams in the order of sending; a cut last frame gives what is there. Bytes that are
// no frames (a terminal's output) come back as they are.
[[nodiscard]] std::string demultiplex(std::string_view raw);

// Reads the lines of a pull while they come. A pull fails inside an answer of status 200.
class PullProgress {
 public:
  void feed(std::string_view bytes);
  // After the last byte: Code::not_found (no such image), Code::denied, or Code::away with what the engine said.
  [[nodiscard]] Status finish();

 private:
  void line(std::string_view text);
  std::string rest_;
  std::string error_;
};

// The same classes for a sentence of the engine.
[[nodiscard]] Code pull_code(std::string_view message);

}  // namespace nightgate::targets
