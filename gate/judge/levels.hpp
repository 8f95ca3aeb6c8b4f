// Inside the judge: how a series moves from one level to another. A level is never mixed with another one.
#pragma once
#include <span>

#include "gate/judge/series.hpp"

namespace nightgate::judge {

// Takes x as an accepted night of the level.
void take_into(Level& level, double x, NightRef night, std::int64_t number, const Rules& rules);
// The counted evidence becomes the working level; the old one waits in the trip.
void open_trip(Series& series, const Trip& trip, double size, std::span<const std::size_t> counted, std::int64_t number,
               const Rules& rules);
// Closes open[i] and all after it: its old level is in force again and takes the trip's good nights.
void close_trips(Series& series, std::size_t i, NightRef night, std::int64_t number, const Rules& rules);
// The counted evidence becomes the level after a gain of `size` (log, > 0); open trips stay open, from their old level.
void move_to_gain(Series& series, double size, std::span<const std::size_t> counted, std::int64_t number,
                  const Rules& rules);
// A gain that went away again: its old level is in force, with the counted nights.
void lose_gain(Series& series, std::span<const std::size_t> counted, NightRef night, std::int64_t number,
               const Rules& rules);
// The counted evidence becomes the level without a word (a series that is set aside follows, but judges nothing).
void replace_level(Series& series, std::span<const std::size_t> counted, std::int64_t number, const Rules& rules);
// A person takes the open suspicion as the level from now on.
// The nights that measured an unchanged target elsewhere become the level.
void move_to_shifted(Series& s, const Rules& rules);
void accept_suspicion(Series& series);
// Sets or clears unfit_reason.
void update_fitness(Series& series, const Thresholds& limits, const Rules& rules);
// x on this series' scale -> the metric's unit.
double value_of(const Series& series, double x);

}  // namespace nightgate::judge
