// Enumerations as the texts the database keeps. They are persistent: add, never rename.
#pragma once

#include <array>
#include <string_view>

#include "store/rows.hpp"

namespace nightgate::store {

template <class E>
struct Names;
template <>
struct Names<RunKind> {
  static constexpr std::array<std::string_view, 5> all = {"night", "compare", "bisect", "release", "single"};
};
template <>
struct Names<RunState> {
  static constexpr std::array<std::string_view, 3> all = {"running", "done", "failed"};
};
template <>
struct Names<Role> {
  static constexpr std::array<std::string_view, 4> all = {"target", "control", "arm", "probe"};
};
template <>
struct Names<Better> {
  static constexpr std::array<std::string_view, 2> all = {"higher", "lower"};
};
template <>
struct Names<NightState> {
  static constexpr std::array<std::string_view, 4> all = {"measuring", "measured", "judged", "no_verdict"};
};
template <>
struct Names<TripState> {
  static constexpr std::array<std::string_view, 4> all = {"open", "recovered", "accepted", "withdrawn"};
};
template <>
struct Names<DecisionKind> {
  static constexpr std::array<std::string_view, 5> all = {"accept", "void_night", "alias", "pin", "undo"};
};
template <>
struct Names<BisectState> {
  static constexpr std::array<std::string_view, 3> all = {"running", "finished", "abandoned"};
};
template <>
struct Names<search::Phase> {
  static constexpr std::array<std::string_view, 4> all = {"reproduce", "search", "confirm", "account"};
};
template <>
struct Names<Delivery> {
  static constexpr std::array<std::string_view, 3> all = {"pending", "sent", "dropped"};
};

template <class E>
[[nodiscard]] constexpr std::string_view name_of(E value) {
  return Names<E>::all.at(static_cast<std::size_t>(value));
}
// A text that isn't there can only come from a hand that edited the tables (the schema checks them): the first value.
template <class E>
[[nodiscard]] constexpr E value_of(std::string_view text) {
  for (std::size_t i = 0; i < Names<E>::all.size(); ++i) {
    if (Names<E>::all[i] == text) return static_cast<E>(i);
  }
  return static_cast<E>(0);
}

}  // namespace nightgate::store
