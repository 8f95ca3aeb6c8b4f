// Log and progress: plain lines on stderr, stdout stays for results. Under systemd each line carries its priority.
// Thread-safe: one write(2) a line. Secrets are registered once and never appear in any line.
#pragma once

#include <string>
#include <string_view>

namespace nightgate::log {

enum class Level { error = 3, warning = 4, notice = 5, info = 6, debug = 7 };

// Lines above this level are dropped; the default is info.
void set_level(Level level);
// From now on `secret` is shown as "***" in every line (ignored when shorter than 4 characters).
void hide(std::string_view secret);
// `text` with every registered secret replaced.
[[nodiscard]] std::string redact(std::string_view text);

void write(Level level, std::string_view line);
inline void error(std::string_view line) { write(Level::error, line); }
inline void warning(std::string_view line) { write(Level::warning, line); }
inline void notice(std::string_view line) { write(Level::notice, line); }
inline void info(std::string_view line) { write(Level::info, line); }
inline void debug(std::string_view line) { write(Level::debug, line); }

}  // namespace nightgate::log
