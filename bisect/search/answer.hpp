// From the state to what is told: answer, ladder, both ends over time, progress.
#pragma once
#include "bisect/search/plan.hpp"

namespace nightgate::search {

Answer make_answer(const State& state, const Plan& plan);
Progress make_progress(const State& state, const Answer& answer);

// Measurements a search is expected to need in all; bits = log2 of the merges still to be told apart.
double forecast(double bits, double shift_over_noise, double error);

}  // namespace nightgate::search
