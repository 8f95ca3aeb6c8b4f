// Where an HTTP/1.1 answer ends and which status it has: all that a load generator needs to know. Bodies are passed
// over. Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nightgate::measure {

class AnswerParser {
 public:
  enum class State { reading, done, broken };
  // For the next answer. `to_head`: it answers a HEAD request and has no body.
  void begin(bool to_head);
  // Takes bytes up to the end of the answer and says how many; the rest belongs to nobody (we don't pipeline).
  std::size_t feed(std::string_view bytes);
  // The other side has closed: the end of an answer without a length.
  void closed();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] bool keeps_alive() const { return keep_alive_; }

 private:
  enum class Part { head, body, to_close, chunk_size, chunk, chunk_end, trailer };
  std::size_t feed_head(std::string_view bytes);
  std::size_t feed_line(std::string_view bytes);  // of a chunked body
  void head_is_complete();
  void header(std::string_view line);
  void line_is_complete();

  State state_ = State::reading;
  Part part_ = Part::head;
  std::string text_;  // the head, or a line of a chunked body
  std::uint64_t left_ = 0;
  int status_ = 0;
  bool to_head_ = false, keep_alive_ = true, chunked_ = false, has_length_ = false;
};

}  // namespace nightgate::measure
