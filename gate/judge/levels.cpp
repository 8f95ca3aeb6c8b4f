#include "gate/judge/levels.hpp"

#include <algorithm>
#include <cmath>

namespace nightgate::judge {
namespace {
// Clears the evidence. Held nights that were not counted stay in the memory of this series' worst nights.
void consume(Series& s, std::span<const std::size_t> counted) {
  for (std::size_t i = 0; i < s.evidence.size(); ++i) {
    const bool used = std::find(counted.begin(), counted.end(), i) != counted.end();
    if (!s.evidence[i].held || used) continue;
    s.tail.push(s.evidence[i].d);
    s.residuals.push(s.evidence[i].d);
    s.spread = no_number;
  }
  s.evidence.clear();
  s.run = {};
  s.suspect_since.reset();
}

Level level_of(const Series& s, std::span<const std::size_t> counted, std::int64_t number, const Rules& rules) {
  Level level = make_level(rules);
  for (const std::size_t i : counted) {
    const std::int64_t ago = static_cast<std::int64_t>(s.evidence.size() - 1 - i);
    take_into(level, s.evidence[i].x, s.evidence[i].night, number - ago, rules);
  }
  return level;
}
}  // namespace

Level make_level(const Rules& rules) {
  Level level;
  level.window = SortedRing(static_cast<std::size_t>(std::max(rules.window, 1)));
  return level;
}

Series make_series(const Reading& reading, const Rules& rules) {
  Series s;
  s.metric = reading.metric;
  s.better = reading.better;
  s.definition = reading.definition;
  s.level = make_level(rules);
  s.warm_up = rules.expert.warm_up;
  fit_memory(s, rules);
  return s;
}

void fit_memory(Series& s, const Rules& rules) {
  const auto fit = [](SortedRing& ring, int wanted) {
    const auto size = static_cast<std::size_t>(std::max(wanted, 1));
    if (ring.capacity() == size) return;
    SortedRing other(size);
    for (const float x : ring.values()) other.push(static_cast<double>(x));
    ring = std::move(other);
  };
  fit(s.level.window, rules.window);
  if (s.residuals.capacity() != static_cast<std::size_t>(std::max(rules.expert.residual_memory, 2)))
    s.spread = no_number;
  fit(s.residuals, std::max(rules.expert.residual_memory, 2));
  fit(s.steps, std::max(rules.expert.residual_memory, 2) - 1);
  fit(s.tail, rules.expert.tail_memory);
  fit(s.recent, rules.expert.modes_memory);
}

void restart_level(Series& s, const Rules& rules) {
  consume(s, {});
  s.level = make_level(rules);
  s.warm = false;
  s.open.clear();
  s.gain.reset();
  s.recent.clear();
  s.shifted.clear();
  s.last_x = no_number;
}

void take_into(Level& level, double x, NightRef night, std::int64_t number, const Rules& rules) {
  level.window.push(x);
  level.nights.push_back(number);
  while (level.nights.size() > level.window.size()) level.nights.pop_front();
  level.last_accepted = night;
  level.accepted = std::min(level.accepted + 1, 1000000);
  const auto pinned_nights = static_cast<std::size_t>(std::max(rules.expert.pinned_nights, 1));
  if (!std::isnan(level.pinned)) return;
  level.first.push_back(x);
  if (level.first.size() < pinned_nights) return;
  level.pinned = median(level.first);
  level.first.clear();
}

void open_trip(Series& s, const Trip& trip, double size, std::span<const std::size_t> counted, std::int64_t number,
               const Rules& rules) {
  constexpr std::size_t most = 4;  // nested trips kept apart; beyond that the newest old level is given up
  Level level = level_of(s, counted, number, rules);
  consume(s, counted);
  if (s.open.size() == most) s.open.pop_back();
  OpenTrip open;
  open.trip = trip;
  open.old = std::move(s.level);
  open.old.pinned_hold = 0;
  open.size = size;
  s.open.push_back(std::move(open));
  s.level = std::move(level);
  s.gain.reset();
}

void close_trips(Series& s, std::size_t i, NightRef night, std::int64_t number, const Rules& rules) {
  const std::vector<double> good = std::move(s.open[i].good_x);
  consume(s, {});
  s.level = std::move(s.open[i].old);
  s.open.resize(i);
  s.gain.reset();
  for (std::size_t k = 0; k < good.size(); ++k) {
    take_into(s.level, good[k], night, number - static_cast<std::int64_t>(good.size() - 1 - k), rules);
  }
}

void move_to_gain(Series& s, double size, std::span<const std::size_t> counted, std::int64_t number,
                  const Rules& rules) {
  Level level = level_of(s, counted, number, rules);
  consume(s, counted);
  RecentGain gain{std::move(s.level), size, 0};
  gain.old.pinned_hold = 0;
  s.level = std::move(level);
  if (s.open.empty()) {
    s.gain = std::move(gain);
    return;
  }
  OpenTrip& last = s.open.back();  // partly repaired: less is left of the trip
  last.size = std::max(s.level.window.median() - last.old.window.median(), 0.5 * rules.min_change);
}

void lose_gain(Series& s, std::span<const std::size_t> counted, NightRef night, std::int64_t number,
               const Rules& rules) {
  std::vector<double> xs;
  for (const std::size_t i : counted) xs.push_back(s.evidence[i].x);
  consume(s, counted);
  s.level = std::move(s.gain->old);
  s.gain.reset();
  for (const double x : xs) take_into(s.level, x, night, number, rules);
}

void replace_level(Series& s, std::span<const std::size_t> counted, std::int64_t number, const Rules& rules) {
  Level level = level_of(s, counted, number, rules);
  consume(s, counted);
  s.level = std::move(level);
}

void move_to_shifted(Series& s, const Rules& rules) {
  Level level = make_level(rules);
  for (const ShiftedNight& n : s.shifted) take_into(level, n.x, n.night, n.number, rules);
  consume(s, {});
  s.shifted.clear();
  s.level = std::move(level);
  s.gain.reset();
}

void accept_suspicion(Series& s) {
  std::vector<std::size_t> held;
  for (std::size_t i = 0; i < s.evidence.size(); ++i) {
    if (s.evidence[i].held && s.evidence[i].d > 0) held.push_back(i);
  }
  Rules rules;  // only the window's size is needed, and the level in force knows it
  rules.window = static_cast<int>(s.level.window.capacity());
  const std::int64_t number = s.level.nights.empty() ? 0 : s.level.nights.back();
  Level level = level_of(s, held, number, rules);
  consume(s, held);
  s.level = std::move(level);
  s.gain.reset();
}

double value_of(const Series& s, double x) {
  const double y = x + s.reference;
  return std::exp(s.better == Better::higher ? -y : y);
}
}  // namespace nightgate::judge
