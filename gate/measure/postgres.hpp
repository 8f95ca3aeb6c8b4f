// What a PostgreSQL service of the deployment did for the requests, by pg_stat_statements.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gate/measure/deployment.hpp"
#include "gate/measure/repeats.hpp"

namespace nightgate::measure {

struct StatementCounts {  // of all statements but our own, since the last reset
  double calls = 0, milliseconds = 0, buffers_hit = 0, buffers_read = 0, wal_bytes = 0;
};
// Code::away when the server does not answer, Code::measure when it has no pg_stat_statements. `connection` is a libpq
// connection string; secrets come from the environment, as libpq reads them.
[[nodiscard]] Result<StatementCounts> read_statements(const std::string& connection);
// Asks for a checkpoint, so that none falls into a repeat. Needs the right to; a refusal is an error.
[[nodiscard]] Status checkpoint(const std::string& connection);

// For every service with `postgres` in the config: <name>_calls, <name>_ms (planning and execution),
// <name>_buffers_hit, <name>_buffers_read and <name>_wal_bytes, per request. What can't be read is said once in the log
// and left out.
class PostgresMeter {
 public:
  explicit PostgresMeter(RunningDeployment& deployment) : deployment_(deployment) {}
  void begin();
  void end(std::uint64_t requests, RepeatResult& into);

 private:
  [[nodiscard]] std::optional<StatementCounts> read(const config::Node& service);
  RunningDeployment& deployment_;
  std::vector<std::optional<StatementCounts>> before_;
  bool said_ = false;
};

}  // namespace nightgate::measure
