// Inside the judge: everything one machine's gate remembers.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gate/judge/series.hpp"

namespace nightgate::judge {

struct NumberedDigest {
  std::int64_t number = 0;  // of the machine's nights
  std::string digest;
};

// A machine class that was seen. Anchored: its first night could be compared through the other series, so that a
// series' offset is only what is special to it; else the offset is the whole difference of the class.
struct SeenClass {
  std::int64_t id = 0;
  std::int64_t last = 0;  // number of the last night on it
  bool anchored = false;
};

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};

struct GateState::Impl {
  std::int64_t number = 0;  // nights judged, environment nights too
  bool any_night = false;
  NightRef last;
  std::vector<Series> series;
  std::deque<NumberedDigest> digests;
  std::vector<SeenClass> classes;

  // Not saved: found again from `series`.
  std::unordered_map<std::string, std::size_t, NameHash, std::equal_to<>> index;
  std::vector<std::size_t> order;  // series of the last night's readings: tonight's mostly come the same way

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t find(std::string_view metric, std::size_t position) const;  // none when unknown
  std::size_t add(Series series);
};

// 64-bit FNV-1a: the same on every machine, unlike std::hash.
std::int64_t stable_hash(std::string_view text);

}  // namespace nightgate::judge
