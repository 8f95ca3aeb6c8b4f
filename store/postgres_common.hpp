// Steps that several parts of the PostgreSQL store share. All run inside the caller's transaction.
#pragma once

#include <string>
#include <vector>

#include "store/names.hpp"
#include "store/postgres_connection.hpp"
#include "store/rows.hpp"

namespace nightgate::store {

// Each makes what isn't there, and gives the row's number.
[[nodiscard]] Result<std::int64_t> project_id(Connection& connection, const std::string& name);
[[nodiscard]] Result<std::int64_t> machine_id(Connection& connection, const std::string& name,
                                              const std::string& machine_class);
[[nodiscard]] Result<std::int64_t> target_id(Connection& connection, std::int64_t project, const Target& target);
[[nodiscard]] Result<std::int64_t> definition_id(Connection& connection, const std::string& hash);
// New or changed ones are written, in the order of their names (two writers never wait for each other in a ring).
[[nodiscard]] Status put_metrics(Connection& connection, std::int64_t project, const std::vector<MetricInfo>& metrics);
// The row of a run, made when its uuid is new.
[[nodiscard]] Result<std::int64_t> put_run(Connection& connection, const Run& run);

struct NightRow {
  std::int64_t night = 0, project = 0, machine = 0;
  Sequence sequence = 0;
  NightState state = NightState::measuring;
  bool current = true;  // the run is the night's newest attempt
};
// The night a run belongs to. Code::not_found when it is no night's run.
[[nodiscard]] Result<NightRow> night_row(Connection& connection, const std::string& run);

// What the night's judgement did to trips: those that it opened are withdrawn, those that it closed open again. For a
// night that is judged again, or taken out.
[[nodiscard]] Status take_back_trips(Connection& connection, std::int64_t project, std::int64_t machine,
                                     Sequence night);

// Selects whole nights; put conditions and order behind it.
[[nodiscard]] const std::string& select_nights();
[[nodiscard]] Night night_from(const Rows& rows, int row);
[[nodiscard]] const std::string& select_runs();
[[nodiscard]] Run run_from(const Rows& rows, int row);

}  // namespace nightgate::store
