// Reading trip groups, for the parts of the store that need them.
#pragma once

#include <string>
#include <vector>

#include "store/postgres_connection.hpp"
#include "store/rows.hpp"

namespace nightgate::store {

// `where` and `order` speak of trip_group g, project p and machine m; `params` are theirs.
[[nodiscard]] Result<std::vector<TripGroup>> read_trips(Connection& connection, const std::string& where,
                                                        const Params& params, const std::string& order);

}  // namespace nightgate::store
