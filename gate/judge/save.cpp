// The snapshot: versioned text, words and numbers with a space between, one line a series. Doubles by to_chars:
// shortest text that reads back as the same bits. Texts are length:bytes. The last line holds a checksum, so a cut-off
// snapshot is noticed.
#include <charconv>
#include <cmath>
#include <cstring>

#include "gate/judge/levels.hpp"
#include "gate/judge/state.hpp"

namespace nightgate::judge {
namespace {
constexpr std::string_view header = "nightgate-gate/2\n";
constexpr std::string_view before_shifts = "nightgate-gate/1\n";  // without Series::shifted
constexpr std::size_t most_items = 1000000;                       // of any list: a broken count must not eat the memory

class Writer {
 public:
  bool has_shifts() const { return true; }
  void number(std::int64_t x) { append(x); }
  void number(float x) { append(x); }
  void number(double x) {
    if (std::isnan(x)) {
      text_ += "n ";
    } else {
      append(x);
    }
  }
  void flag(bool x) { text_ += x ? "1 " : "0 "; }
  void word(std::string_view s) {
    append(static_cast<std::int64_t>(s.size()));
    text_.back() = ':';
    text_ += s;
    text_ += ' ';
  }
  void line() { text_.back() = '\n'; }
  std::string& text() { return text_; }

 private:
  template <typename T>
  void append(T x) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
    text_.append(buffer, end);
    text_ += ' ';
  }
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text, bool has_shifts = true) : has_shifts_(has_shifts), rest_(text) {}
  bool has_shifts() const { return has_shifts_; }
  void number(std::int64_t& x) { parse(x); }
  void number(float& x) { parse(x); }
  void number(double& x) {
    if (rest_.size() > 1 && rest_[0] == 'n') {
      x = no_number;
      rest_.remove_prefix(2);
    } else {
      parse(x);
    }
  }
  void flag(bool& x) {
    std::int64_t n = 0;
    parse(n);
    if (n != 0 && n != 1) good_ = false;
    x = n == 1;
  }
  void word(std::string& s) {
    std::int64_t size = 0;
    parse(size);
    if (!good_ || size < 0 || static_cast<std::size_t>(size) >= rest_.size()) return fail();
    s.assign(rest_.substr(0, static_cast<std::size_t>(size)));
    rest_.remove_prefix(static_cast<std::size_t>(size) + 1);
  }
  void line() {}
  std::size_t count() {
    std::int64_t n = 0;
    parse(n);
    if (n < 0 || static_cast<std::size_t>(n) > most_items || static_cast<std::size_t>(n) > rest_.size()) fail();
    return good_ ? static_cast<std::size_t>(n) : 0;
  }
  bool good() const { return good_; }
  bool at_end() const { return rest_.empty(); }

 private:
  void fail() {
    good_ = false;
    rest_ = {};
  }
  template <typename T>
  void parse(T& x) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), x);
    if (error != std::errc() || end == rest_.data() + rest_.size()) return fail();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()) + 1);
  }
  bool has_shifts_;
  std::string_view rest_;
  bool good_ = true;
};

// One description for both ways: put() visits every field in order; the same code writes with a Writer and reads with a
// Reader.
template <typename A>
constexpr bool writes = std::is_same_v<A, Writer>;

template <typename A, typename I>
void whole(A& a, I& x) {  // other integer types and enums
  auto wide = static_cast<std::int64_t>(x);
  a.number(wide);
  x = static_cast<I>(wide);
}

template <typename A, typename List, typename Each>
void list(A& a, List& items, Each each) {
  if constexpr (writes<A>) {
    a.number(static_cast<std::int64_t>(items.size()));
    for (auto& item : items) each(item);
  } else {
    const std::size_t n = a.count();
    items.clear();
    for (std::size_t i = 0; i < n && a.good(); ++i) each(items.emplace_back());
  }
}

template <typename A>
void put(A& a, SortedRing& ring) {
  std::vector<float> values = ring.values();
  auto capacity = static_cast<std::int64_t>(ring.capacity());
  a.number(capacity);
  list(a, values, [&](float& x) { a.number(x); });
  if constexpr (!writes<A>) {
    ring = SortedRing(capacity < 0 ? 0 : static_cast<std::size_t>(capacity));
    for (const float x : values) {
      if (!std::isnan(x)) ring.push(static_cast<double>(x));
    }
  }
}

template <typename A>
void put(A& a, NightRef& r) {
  a.number(r.sequence);
  a.number(r.instant);
}

template <typename A>
void put(A& a, Level& level) {
  put(a, level.window);
  list(a, level.nights, [&](std::int64_t& n) { a.number(n); });
  list(a, level.first, [&](double& x) { a.number(x); });
  a.number(level.pinned);
  whole(a, level.accepted);
  whole(a, level.pinned_hold);
  put(a, level.last_accepted);
}

template <typename A>
void put(A& a, Trip& t) {
  a.word(t.metric);
  whole(a, t.kind);
  put(a, t.first);
  put(a, t.last_good);
  put(a, t.tripped);
  a.number(t.change);
  a.number(t.baseline);
  a.number(t.level);
}

template <typename A>
void put(A& a, OpenTrip& o) {
  put(a, o.trip);
  put(a, o.old);
  a.number(o.size);
  whole(a, o.age);
  whole(a, o.good_run);
  put(a, o.last_good_run);
  list(a, o.good_x, [&](double& x) { a.number(x); });
}

template <typename A, typename T, typename Each>
void optional(A& a, std::optional<T>& x, Each each) {
  bool there = x.has_value();
  a.flag(there);
  if (!there) return x.reset();
  if (!x) x.emplace();
  each(*x);
}

template <typename A>
void put_memory(A& a, Series& s) {
  put(a, s.residuals);
  a.number(s.spread);
  put(a, s.steps);
  put(a, s.tail);
  put(a, s.recent);
  a.number(s.last_residual);
  a.number(s.last_x);
  list(a, s.evidence, [&](Evidence& e) {
    put(a, e.night);
    put(a, e.good_before);
    a.number(e.x);
    a.number(e.d);
    a.flag(e.held);
  });
  list(a, s.open, [&](OpenTrip& o) { put(a, o); });
  optional(a, s.gain, [&](RecentGain& g) {
    put(a, g.old);
    a.number(g.size);
    whole(a, g.age);
  });
  list(a, s.excursions, [&](Excursion& e) {
    a.number(e.night);
    a.number(e.amplitude);
  });
}

template <typename A>
void put(A& a, Series& s) {
  a.word(s.metric);
  whole(a, s.better);
  a.word(s.definition);
  a.number(s.reference);
  a.flag(s.warm);
  a.number(s.judged);
  whole(a, s.warm_up);
  a.number(s.sigma);
  put(a, s.last_seen);
  put(a, s.level);
  put_memory(a, s);
  if (a.has_shifts()) {
    list(a, s.shifted, [&](ShiftedNight& n) {
      put(a, n.night);
      a.number(n.number);
      a.number(n.x);
      a.number(n.d);
    });
  }
  whole(a, s.run.sign);
  whole(a, s.run.length);
  a.number(s.run.smallest);
  optional(a, s.suspect_since, [&](NightRef& r) { put(a, r); });
  a.word(s.unfit_reason);
  list(a, s.controls, [&](ControlLink& c) {
    a.word(c.digest);
    a.number(c.reference);
  });
  list(a, s.classes, [&](ClassOffset& c) {
    a.number(c.id);
    a.number(c.last);
    a.number(c.offset);
    a.flag(c.usable);
    a.flag(c.fixed);
    list(a, c.learning, [&](double& x) { a.number(x); });
  });
  a.line();
}

template <typename A>
void put(A& a, GateState::Impl& state) {
  a.number(state.number);
  a.flag(state.any_night);
  put(a, state.last);
  list(a, state.digests, [&](NumberedDigest& d) {
    a.number(d.number);
    a.word(d.digest);
  });
  list(a, state.classes, [&](SeenClass& c) {
    a.number(c.id);
    a.number(c.last);
    a.flag(c.anchored);
  });
  a.line();
  list(a, state.series, [&](Series& s) { put(a, s); });
  a.line();
}
}  // namespace

std::string GateState::save() const {
  Impl copy = *impl_;  // the visitor takes fields by reference
  Writer writer;
  writer.text() = header;
  put(writer, copy);
  writer.number(stable_hash(writer.text()));
  writer.line();
  return std::move(writer.text());
}

std::optional<GateState> GateState::load(std::string_view text) {
  const bool has_shifts = text.substr(0, header.size()) == header;
  static_assert(before_shifts.size() == header.size());
  if ((!has_shifts && text.substr(0, header.size()) != before_shifts) || text.back() != '\n') return std::nullopt;
  const std::size_t last = text.rfind('\n', text.size() - 2);
  if (last == std::string_view::npos || last + 1 < header.size()) return std::nullopt;
  std::int64_t checksum = 0;
  Reader(text.substr(last + 1)).number(checksum);
  if (checksum != stable_hash(text.substr(0, last + 1))) return std::nullopt;
  GateState state;
  Reader reader(text.substr(header.size(), last + 1 - header.size()), has_shifts);
  put(reader, *state.impl_);
  if (!reader.good() || !reader.at_end()) return std::nullopt;
  for (std::size_t i = 0; i < state.impl_->series.size(); ++i)
    state.impl_->index.emplace(state.impl_->series[i].metric, i);
  return state;
}
}  // namespace nightgate::judge
