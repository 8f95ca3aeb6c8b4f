// Is it up, and is it what was asked for?
#pragma once

#include <string_view>

#include "gate/base/clock.hpp"
#include "gate/base/http.hpp"
#include "gate/base/result.hpp"
#include "gate/measure/calls.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/measure/node.hpp"
#include "gate/targets/engine.hpp"

namespace nightgate::measure {

// Base address and TLS options of requests to a node.
[[nodiscard]] CallOptions options_for(const config::Node& node);

// Waits until the node's probe succeeds. Every round asks the process first and the port second, and at the end who
// listens: another program's answer is not readiness. Code::measure with the last answer and the log's last lines when
// the deadline passes, the node ends, or `stop` says so.
[[nodiscard]] Status wait_ready(RunningNode& node, HttpClient& client, const Names& names, Clock& clock,
                                const StopFlag& stop);

// What the broker itself says, where the config asks it: another commit or a debug build is refused (Code::measure).
[[nodiscard]] Status check_identity(const config::Node& node, HttpClient& client, const Names& names,
                                    const targets::Target& target);
// The image's org.opencontainers.image.revision label where it has one.
[[nodiscard]] Status check_label(targets::Engine& engine, const targets::Target& target);

// One is a prefix of the other, at least 7 hex digits long; case does not matter.
[[nodiscard]] bool same_commit(std::string_view a, std::string_view b);
[[nodiscard]] bool is_debug_build(std::string_view build_type);  // "Debug", "debug+asserts" ...

}  // namespace nightgate::measure
