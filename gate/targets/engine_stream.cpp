#include "gate/targets/engine_stream.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/targets/base64.hpp"

namespace nightgate::targets {
namespace {

constexpr std::size_t max_line = 1U << 20U;

unsigned byte(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

bool is_frame(std::string_view head) {
  return byte(head, 0) <= 2 && byte(head, 1) == 0 && byte(head, 2) == 0 && byte(head, 3) == 0;
}

}  // namespace

std::string base64(std::string_view bytes, Base64 alphabet) {
  std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  letters += alphabet == Base64::url ? "-_" : "+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = (word << 8U) | (k < count ? byte(bytes, i + k) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? letters[(word >> (18U - 6U * k)) & 63U] : '=';
  }
  return out;
}

std::string demultiplex(std::string_view raw) {
  constexpr std::size_t head = 8;
  std::string out;
  while (!raw.empty()) {
    if (raw.size() < head || !is_frame(raw)) return out + std::string(raw);
    const std::size_t length = (std::size_t{byte(raw, 4)} << 24U) | (std::size_t{byte(raw, 5)} << 16U) |
                               (std::size_t{byte(raw, 6)} << 8U) | std::size_t{byte(raw, 7)};
    raw.remove_prefix(head);
    out += raw.substr(0, length);
    raw.remove_prefix(std::min(length, raw.size()));
  }
  return out;
}

void PullProgress::feed(std::string_view bytes) {
  rest_ += bytes;
  std::size_t begin = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    line(std::string_view(rest_).substr(begin, end - begin));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  if (rest_.size() > max_line) rest_.clear();
}

void PullProgress::line(std::string_view text) {
  const auto json = parse_json(text);
  if (!json || !json->is_object() || !error_.empty()) return;
  if (const auto found = json->find("error"); found != json->end() && found->is_string())
    error_ = found->get<std::string>();
}

Status PullProgress::finish() {
  line(rest_);
  if (error_.empty()) return {};
  return fail(pull_code(error_), error_);
}

Code pull_code(std::string_view message) {
  const auto says = [&](std::string_view words) { return message.find(words) != std::string_view::npos; };
  if (says("manifest unknown") || says("not found") || says("name unknown") || says("No such image"))
    return Code::not_found;
  if (says("unauthorized") || says("denied") || says("no basic auth") || says("authentication required"))
    return Code::denied;
  return Code::away;
}

}  // namespace nightgate::targets
