// The words around processes: CPU lists, endings, programs in PATH, what /proc and log files say.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "gate/base/process.hpp"

namespace nightgate {
namespace {

constexpr int most_cpus = 4096;

std::optional<int> cpu_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.front() == '-' || error != std::errc{} || end != text.data() + text.size()) return {};
  return value < most_cpus ? std::optional(value) : std::nullopt;
}

bool is_program(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<CpuSet> parse_cpus(std::string_view text) {
  CpuSet cpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    const auto part = text.substr(begin, comma - begin);
    const auto dash = part.find('-');
    const auto first = cpu_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : cpu_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return fail(Code::bad_data, fmt::format("'{}' is not a list of CPUs such as 0-3,8", text.substr(0, 100)));
    }
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    begin = comma + 1;
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpus(const CpuSet& cpus) {
  auto sorted = cpus;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? fmt::format("{}", sorted[i]) : fmt::format("{}-{}", sorted[i], sorted[last]);
    i = last + 1;
  }
  return out;
}

std::string ending_text(const Ending& ending) {
  if (const auto* exited = std::get_if<Exited>(&ending)) return fmt::format("exit code {}", exited->code);
  if (const auto* signalled = std::get_if<Signalled>(&ending)) {
    const char* name = ::sigdescr_np(signalled->signal);
    return fmt::format("killed by signal {} ({})", signalled->signal, name == nullptr ? "unknown" : name);
  }
  return "did not end in time and was killed";
}

std::optional<unsigned long long> process_start_ticks(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), 8192);
  if (!stat) return std::nullopt;
  // Field 22 (proc(5)); the second is the name in parentheses and may hold spaces, so count from its end.
  auto at = stat->rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat->find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  unsigned long long ticks = 0;
  const auto [end, error] = std::from_chars(stat->data() + at + 1, stat->data() + stat->size(), ticks);
  return error == std::errc{} ? std::optional(ticks) : std::nullopt;
}

std::optional<fs::path> find_program(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string_view::npos) {
    const fs::path given{std::string(name)};
    return is_program(given) ? std::optional(fs::absolute(given)) : std::nullopt;
  }
  const char* value = std::getenv("PATH");
  const std::string_view path = value == nullptr ? "/usr/local/bin:/usr/bin:/bin" : value;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto colon = std::min(path.find(':', begin), path.size());
    const auto directory = path.substr(begin, colon - begin);
    // Relative entries would run whatever lies in the working directory.
    if (directory.starts_with('/')) {
      auto candidate = fs::path(std::string(directory)) / std::string(name);
      if (is_program(candidate)) return candidate;
    }
    begin = colon + 1;
  }
  return std::nullopt;
}

std::string tail_of(const fs::path& path, int lines) {
  constexpr std::size_t most = 8192;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || lines <= 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text(most, '\0');
  const auto from = std::max<off_t>(0, info.st_size - static_cast<off_t>(most));
  const auto n = ::pread(fd.get(), text.data(), most, from);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  auto begin = text.size();
  for (int i = 0; i < lines && begin != std::string::npos && begin > 0; ++i) begin = text.rfind('\n', begin - 1);
  return begin == std::string::npos || begin == 0 ? text : text.substr(begin + 1);
}

}  // namespace nightgate
