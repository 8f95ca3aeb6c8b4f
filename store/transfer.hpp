// Recorded histories into the store and out of it: nights with medians and without samples.
#pragma once

#include "gate/formats/history.hpp"
#include "store/open.hpp"

namespace nightgate::store {

struct Imported {
  int nights = 0;         // added
  int already_there = 0;  // the same instant of the same machine was imported before
  int rows = 0;
  // Per machine the first night added: judge again from there.
  std::map<std::string, Sequence> first;
};
// Rows of one machine and time form one night (machine empty: "imported"). All or nothing. New nights must all be
// before or all after those that a machine has (numbers below the first one go down from -1): Code::usage otherwise,
// naming the night. A night that is there already must hold the same values, else Code::usage names the first that
// differs. `options.migrate` as in open().
[[nodiscard]] Result<Imported> import_history(const OpenOptions& options, const std::string& project,
                                              const formats::History& history);
// Every value of every night that isn't voided, in the order that parsing gives. machine empty: all of them.
[[nodiscard]] Result<formats::History> export_history(const OpenOptions& options, const std::string& project,
                                                      const std::string& machine);

}  // namespace nightgate::store
