// Strict parsing and writing of JSON. The reader is in json_reader.cpp.
#include "gate/base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

namespace nightgate {
namespace {

using Json = nlohmann::json;

// Walks the text and remembers how far the parser has read, so that our own complaints have a position too.
class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator() = default;
  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_ = nullptr;
  const char** furthest_ = nullptr;
};

// Builds the value, and refuses what the library would take silently: depth without end and duplicate keys.
class StrictBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit StrictBuilder(int max_depth) : max_depth_(static_cast<std::size_t>(std::max(max_depth, 0))) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t /*count*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*count*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [place, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(name, nullptr);
    if (!is_new) return refuse(fmt::format("the key \"{}\" appears twice in one object", name.substr(0, 60)));
    member_ = &place->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*last*/,
                   const nlohmann::detail::exception& error) override {
    position_ = position;
    return refuse(plain(error.what()));
  }

  [[nodiscard]] Json take() { return std::move(root_); }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] std::optional<std::size_t> position() const { return position_; }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (open_.size() >= max_depth_) return refuse(fmt::format("nested deeper than {} levels", max_depth_));
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  // Elements of open arrays stay where they are: only the innermost open array grows.
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& elements = open_.back()->get_ref<Json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  bool refuse(std::string why) {
    complaint_ = std::move(why);
    return false;
  }

  // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while ..." without its head (we
  // say the place ourselves), short, and without bytes that may not be text.
  static std::string plain(std::string_view what) {
    if (const auto end = what.find("] "); what.starts_with('[') && end != std::string_view::npos) {
      what.remove_prefix(end + 2);
    }
    if (const auto colon = what.find(": "); what.starts_with("parse error at") && colon != std::string_view::npos) {
      what.remove_prefix(colon + 2);
    }
    std::string out(what.substr(0, 200));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return static_cast<signed char>(c) < ' ' || c == '\x7f'; }, '?');
    return what.size() > out.size() ? out + "..." : out;
  }

  std::size_t max_depth_;
  Json root_;
  std::vector<Json*> open_;
  Json* member_ = nullptr;
  std::string complaint_;
  std::optional<std::size_t> position_;
};

// "line 3, column 7" of the byte just before `consumed` bytes were read; columns count bytes from 1.
std::string place_of(std::string_view text, std::size_t consumed) {
  const auto at = std::min(consumed == 0 ? 0 : consumed - 1, text.size());
  const auto before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto newline = before.rfind('\n');
  return fmt::format("line {}, column {}", line, newline == std::string_view::npos ? at + 1 : at - newline);
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return fail(Code::bad_data, fmt::format("JSON of {} bytes, at most {} are taken", text.size(), limits.bytes));
  }
  const char* furthest = text.data();
  const CountingIterator begin(text.data(), &furthest);
  const CountingIterator end(text.data() + text.size(), &furthest);
  StrictBuilder builder(limits.depth);
  if (!Json::sax_parse(begin, end, &builder, nlohmann::detail::input_format_t::json, true, limits.comments)) {
    const auto consumed = builder.position().value_or(static_cast<std::size_t>(furthest - text.data()));
    return fail(Code::bad_data, fmt::format("JSON, {}: {}", place_of(text, consumed), builder.complaint()));
  }
  return builder.take();
}

std::string dump_json(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nightgate
