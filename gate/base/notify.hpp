// Under systemd: is stderr the journal, and `systemctl status` says what is going on (sd_notify(3), spoken by
// ourselves).
#pragma once

#include <string_view>

namespace nightgate::notify {

// Does $JOURNAL_STREAM name the very file that stderr is? (systemd.exec(5): a redirected stderr is not the journal.)
[[nodiscard]] bool stderr_is_journal();

// Opens the socket named in NOTIFY_SOCKET (a path, or '@' and an abstract name) and takes the variable out of the
// environment, so that no child, the broker least of all, speaks in our name. Call once, before any thread.
void take_socket();
// One line as the unit's status, secrets hidden. Does nothing where there is no socket; never waits, never fails: a
// lost line is no fault.
void status(std::string_view line);

}  // namespace nightgate::notify
