#include "gate/measure/http_answer.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace nightgate::measure {
namespace {

constexpr std::size_t most_head = 65536;
constexpr std::size_t most_line = 8192;

bool same_word(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// Digits and nothing else.
bool whole_number(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void AnswerParser::begin(bool to_head) {
  text_.clear();
  state_ = State::reading;
  part_ = Part::head;
  to_head_ = to_head;
  left_ = 0;
  status_ = 0;
  keep_alive_ = true;
  chunked_ = has_length_ = false;
}

std::size_t AnswerParser::feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (state_ == State::reading && taken < bytes.size()) {
    const auto rest = bytes.substr(taken);
    switch (part_) {
      case Part::head:
        taken += feed_head(rest);
        break;
      case Part::to_close:
        taken += rest.size();
        break;
      case Part::body:
      case Part::chunk: {
        const auto n = std::min<std::uint64_t>(left_, rest.size());
        left_ -= n;
        taken += static_cast<std::size_t>(n);
        if (left_ != 0) break;
        if (part_ == Part::body) {
          state_ = State::done;
        } else {
          part_ = Part::chunk_end;
        }
        break;
      }
      case Part::chunk_size:
      case Part::chunk_end:
      case Part::trailer:
        taken += feed_line(rest);
        break;
    }
  }
  return taken;
}

void AnswerParser::closed() {
  if (state_ != State::reading) return;
  state_ = part_ == Part::to_close ? State::done : State::broken;
}

std::size_t AnswerParser::feed_head(std::string_view bytes) {
  const auto before = text_.size();
  // The common case: the whole head in one piece.
  text_.append(bytes.substr(0, std::min(bytes.size(), most_head + 4 - std::min(before, most_head))));
  const auto end = text_.find("\r\n\r\n", before < 3 ? 0 : before - 3);
  if (end == std::string::npos) {
    if (text_.size() >= most_head) state_ = State::broken;
    return text_.size() - before;
  }
  text_.resize(end + 2);
  head_is_complete();
  return end + 4 - before;
}

void AnswerParser::head_is_complete() {
  const std::string_view head(text_);
  std::uint64_t status = 0;
  const bool is_answer = head.starts_with("HTTP/1.") && head.size() >= 12 && head[8] == ' ';
  if (!is_answer || !whole_number(head.substr(9, 3), 10, status) || status < 100) {
    state_ = State::broken;
    return;
  }
  status_ = static_cast<int>(status);
  keep_alive_ = head[7] != '0';
  for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
    const auto end = head.find("\r\n", at);
    header(head.substr(at, end - at));
    at = end + 2;
  }
  text_.clear();
  if (state_ == State::broken) return;
  if (status_ >= 100 && status_ < 200) return begin(to_head_);  // an interim answer; the real one follows
  if (to_head_ || status_ == 204 || status_ == 304 || (has_length_ && left_ == 0 && !chunked_)) {
    state_ = State::done;
  } else if (chunked_) {
    part_ = Part::chunk_size;
  } else if (has_length_) {
    part_ = Part::body;
  } else {
    part_ = Part::to_close;
    keep_alive_ = false;
  }
}

void AnswerParser::header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const auto name = line.substr(0, colon);
  const auto value = trimmed(line.substr(colon + 1));
  if (same_word(name, "content-length")) {
    has_length_ = true;
    if (!whole_number(value, 10, left_)) state_ = State::broken;
  } else if (same_word(name, "transfer-encoding")) {
    chunked_ = value.size() >= 7 && same_word(value.substr(value.size() - 7), "chunked");
  } else if (same_word(name, "connection")) {
    if (same_word(value, "close")) keep_alive_ = false;
    if (same_word(value, "keep-alive")) keep_alive_ = true;
  }
}

std::size_t AnswerParser::feed_line(std::string_view bytes) {
  const auto end = bytes.find('\n');
  const auto taken = end == std::string_view::npos ? bytes.size() : end + 1;
  text_.append(bytes.substr(0, taken));
  if (text_.size() > most_line) {
    state_ = State::broken;
  } else if (end != std::string_view::npos) {
    line_is_complete();
    text_.clear();
  }
  return taken;
}

void AnswerParser::line_is_complete() {
  const auto line = trimmed(std::string_view(text_).substr(0, text_.size() - 1));
  if (part_ == Part::chunk_end) {
    part_ = Part::chunk_size;
    if (!line.empty()) state_ = State::broken;
  } else if (part_ == Part::trailer) {
    if (line.empty()) state_ = State::done;
  } else if (!whole_number(trimmed(line.substr(0, line.find(';'))), 16, left_)) {
    state_ = State::broken;
  } else {
    part_ = left_ == 0 ? Part::trailer : Part::chunk;
  }
}

}  // namespace nightgate::measure
