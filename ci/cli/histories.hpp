// Recorded histories between the rooms: formats' rows, the judge's compact form, the store's nights.
#pragma once

#include <string>
#include <vector>

#include "ci/cli/cli.hpp"
#include "gate/formats/history.hpp"
#include "gate/judge/replay.hpp"

namespace nightgate::cli {

// Reads and parses a history file of any format that is known; odd but usable things are told on stderr.
[[nodiscard]] Result<formats::History> read_history(const Options& options, const std::string& path);
// Rows (ordered by time) as nights.
[[nodiscard]] judge::History to_judge(const std::vector<formats::HistoryRow>& rows);

}  // namespace nightgate::cli
