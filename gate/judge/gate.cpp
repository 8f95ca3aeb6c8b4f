// The state as others hold it: what it says, and what people decide.
#include "gate/judge/gate.hpp"

#include <algorithm>
#include <cmath>

#include "gate/judge/levels.hpp"
#include "gate/judge/state.hpp"

namespace nightgate::judge {

GateState::GateState() : impl_(std::make_unique<Impl>()) {}
GateState::~GateState() = default;
GateState::GateState(const GateState& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
GateState::GateState(GateState&&) noexcept = default;
GateState& GateState::operator=(GateState&&) noexcept = default;
GateState& GateState::operator=(const GateState& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}

std::size_t GateState::Impl::find(std::string_view metric, std::size_t position) const {
  if (position < order.size()) {
    const std::size_t guess = order[position];
    if (guess != none && series[guess].metric == metric) return guess;
  }
  const auto found = index.find(metric);
  return found == index.end() ? none : found->second;
}

std::size_t GateState::Impl::add(Series fresh) {
  const std::size_t place = series.size();
  index.emplace(fresh.metric, place);
  series.push_back(std::move(fresh));
  return place;
}

std::int64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return static_cast<std::int64_t>(hash >> 1U) | 1;
}

bool GateState::empty() const { return !impl_->any_night; }

std::vector<SeriesSummary> GateState::summary() const {
  std::vector<SeriesSummary> out;
  for (const Series& s : impl_->series) {
    SeriesSummary line;
    line.metric = s.metric;
    line.state = state_of(s);
    line.last_seen = s.last_seen;
    line.suspect_since = s.suspect_since;
    line.unfit_reason = s.unfit_reason;
    line.baseline = has_baseline(s) ? value_of(s, s.level.window.median()) : no_number;
    for (const OpenTrip& open : s.open) line.open_trips.push_back(open.trip);
    if (!s.warm) line.nights_left = std::max(1, s.warm_up - s.level.accepted);
    line.sigma = s.sigma;
    out.push_back(std::move(line));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.metric < b.metric; });
  return out;
}

bool GateState::accept(std::string_view metric) {
  const std::size_t found = impl_->find(metric, Impl::none);
  if (found == Impl::none) return false;
  Series& s = impl_->series[found];
  if (!s.open.empty()) {
    s.open.clear();
    return true;
  }
  if (!s.suspect_since) return false;
  accept_suspicion(s);
  return true;
}

bool GateState::rename(std::string_view from, std::string_view to) {
  const std::size_t found = impl_->find(from, Impl::none);
  if (found == Impl::none || impl_->find(to, Impl::none) != Impl::none) return false;
  Series& s = impl_->series[found];
  impl_->index.erase(s.metric);
  s.metric = to;
  for (OpenTrip& open : s.open) open.trip.metric = to;
  impl_->index.emplace(s.metric, found);
  return true;
}

void GateState::pin() {
  for (Series& s : impl_->series) {
    if (!has_baseline(s)) continue;
    s.level.pinned = s.level.window.median();
    s.level.pinned_hold = 0;
    s.level.first.clear();
  }
}

Rules replay_rules(Rules rules) {
  rules.min_gap_hours = 0;
  rules.recover_nights = 1;
  rules.forget_nights = 10;
  return rules;
}
}  // namespace nightgate::judge
