#include "gate/measure/cgroup.hpp"

#include <fmt/format.h>

#include <charconv>

#include "gate/measure/processes.hpp"

namespace nightgate::measure {
namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;  // "max" is no number
}

std::optional<std::string> text_of(const fs::path& file) {
  auto text = read_file(file, 1U << 20U);
  if (!text) return std::nullopt;
  return *std::move(text);
}

std::optional<std::int64_t> number_of(const fs::path& file) {
  const auto text = text_of(file);
  return text ? number_in(*text) : std::nullopt;
}

// The sum of what follows `key` anywhere in the text: "8:0 rbytes=1 wbytes=2" lines, or "8:0 Write 123" ones.
std::optional<std::int64_t> sum_after(std::string_view text, std::string_view key) {
  std::optional<std::int64_t> sum;
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    sum = sum.value_or(0) + number_in(text.substr(at + key.size())).value_or(0);
  }
  return sum;
}

fs::path below(const fs::path& mount, const std::string& group) { return fs::path(mount.string() + group); }

void read_v1(std::string_view proc_cgroup, const fs::path& root, CgroupCounts& out) {
  if (const auto group = parse_cgroup(proc_cgroup, "cpuacct")) {
    if (const auto nanos = number_of(below(root / "cpuacct", *group) / "cpuacct.usage")) {
      out.cpu_seconds = static_cast<double>(*nanos) / 1e9;
    }
  }
  if (const auto group = parse_cgroup(proc_cgroup, "memory")) {
    out.memory_peak_bytes = number_of(below(root / "memory", *group) / "memory.max_usage_in_bytes");
  }
  if (const auto group = parse_cgroup(proc_cgroup, "cpu")) {
    if (const auto text = text_of(below(root / "cpu", *group) / "cpu.stat")) {
      out.throttled_periods = keyed_value(*text, "nr_throttled");
    }
  }
  if (const auto group = parse_cgroup(proc_cgroup, "blkio")) {
    const auto text = text_of(below(root / "blkio", *group) / "blkio.throttle.io_service_bytes");
    if (text) out.bytes_written = sum_after(*text, " Write ");
  }
}

void read_v2(std::string_view proc_cgroup, const fs::path& mount, CgroupCounts& out) {
  const auto group = parse_cgroup(proc_cgroup, "");
  if (!group) return;
  const auto dir = below(mount, *group);
  if (const auto text = text_of(dir / "cpu.stat")) {
    if (const auto micros = keyed_value(*text, "usage_usec"); micros && !out.cpu_seconds) {
      out.cpu_seconds = static_cast<double>(*micros) / 1e6;
    }
    if (!out.throttled_periods) out.throttled_periods = keyed_value(*text, "nr_throttled");
  }
  if (!out.memory_peak_bytes) out.memory_peak_bytes = number_of(dir / "memory.peak");  // kernel 5.19 and later
  if (const auto text = text_of(dir / "io.stat"); text && !out.bytes_written) {
    out.bytes_written = sum_after(*text, "wbytes=");
  }
}

}  // namespace

std::optional<std::int64_t> keyed_value(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      return number_in(line.substr(key.size() + 1));
    }
    at = end + 1;
  }
  return std::nullopt;
}

CgroupCounts cgroup_counts_of(std::string_view proc_cgroup, const fs::path& root) {
  CgroupCounts out;
  read_v1(proc_cgroup, root, out);
  std::error_code ignored;
  const bool hybrid = fs::is_directory(root / "unified", ignored);
  read_v2(proc_cgroup, hybrid ? root / "unified" : root, out);
  return out;
}

CgroupCounts cgroup_counts(pid_t pid, const fs::path& root) {
  const auto text = read_file(fmt::format("/proc/{}/cgroup", pid), 65536);
  return text ? cgroup_counts_of(*text, root) : CgroupCounts{};
}

}  // namespace nightgate::measure
