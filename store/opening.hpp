// A connection to the store as open() makes it, for the other functions of the room.
#pragma once

#include <memory>

#include "store/cluster.hpp"
#include "store/postgres_connection.hpp"

namespace nightgate::store {

struct Opened {
  std::shared_ptr<Cluster> cluster;  // null for another server; outlives the connection
  std::unique_ptr<Connection> connection;
};
// No look at the schema.
[[nodiscard]] Result<Opened> open_connection(const OpenOptions& options);

}  // namespace nightgate::store
