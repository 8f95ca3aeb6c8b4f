#include "gate/base/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "gate/base/notify.hpp"

namespace nightgate::log {
namespace {

std::atomic<int> max_level{static_cast<int>(Level::info)};

struct Secrets {
  std::mutex mutex;
  std::vector<std::string> values;
};
Secrets& secrets() {
  static Secrets instance;
  return instance;
}

bool in_journal() {
  static const bool journal = notify::stderr_is_journal();
  return journal;
}

}  // namespace

void set_level(Level level) { max_level = static_cast<int>(level); }

void hide(std::string_view secret) {
  if (secret.size() < 4) return;
  const std::lock_guard lock(secrets().mutex);
  auto& values = secrets().values;
  values.emplace_back(secret);
  // Longest first: a short secret must not cut a longer one that holds it in two and leave its end to be read.
  std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::string redact(std::string_view text) {
  std::string out(text);
  const std::lock_guard lock(secrets().mutex);
  for (const auto& secret : secrets().values) {
    for (auto at = out.find(secret); at != std::string::npos; at = out.find(secret, at + 3)) {
      out.replace(at, secret.size(), "***");
    }
  }
  return out;
}

void write(Level level, std::string_view line) {
  if (static_cast<int>(level) > max_level) return;
  std::string out;
  if (in_journal()) out = "<" + std::to_string(static_cast<int>(level)) + ">";
  out += redact(line);
  for (char& c : out) {
    if (c == '\n' || c == '\r' || c == '\x1b') c = ' ';  // one event, one line; no terminal escapes from outside text
  }
  out += '\n';
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace nightgate::log
