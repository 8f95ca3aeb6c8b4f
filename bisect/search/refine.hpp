// A second look before a merge is named: images may have offsets of their own (layout of the binary, a lucky hash) that
// all their runs share. The first look calls runs independent and would get too sure of a neighbour.
#pragma once
#include "bisect/search/state.hpp"

namespace nightgate::search {

// The belief with the classes around the most probable one weighed again, images scattering by 0 or by 0.2 of the
// shift; "no shift" and all other classes keep their mass.
Belief refine(const State& state);

}  // namespace nightgate::search
