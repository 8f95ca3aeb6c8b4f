// From a night, or from its absence, to what people are told outside the terminal (ci/github/notify.hpp).
#pragma once

#include <string>

#include "ci/github/notify.hpp"
#include "config/config.hpp"
#include "gate/nightly.hpp"

namespace nightgate::cli {

// Puts the news of the machine's trips into the outbox and delivers everything pending. What can't be delivered is
// logged and kept; errors are the store's only.
[[nodiscard]] Status tell_outside(store::Store& store, const config::Config& config, const nightly::Outcome& outcome);
// Delivers what is pending, one process at a time.
[[nodiscard]] Status deliver_pending(store::Store& store, const config::Config& config,
                                     const github::Channels& channels);

// Key of the outbox entry in which the nightly leaves its last sign of life on this machine ("night", sent already).
[[nodiscard]] std::string sign_key(const std::string& machine);

}  // namespace nightgate::cli
