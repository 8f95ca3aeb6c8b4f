#include "gate/measure/ports.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "gate/base/files.hpp"
#include "gate/measure/processes.hpp"

namespace nightgate::measure {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;) {
    const auto end = std::min(line.find(' ', at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return out;
}

template <class Number>
Number number_of(std::string_view text, int base) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// The inode of the socket behind a descriptor's link in /proc/PID/fd; 0 when it is no socket.
unsigned long long socket_inode(const fs::path& link) {
  std::array<char, 64> buffer{};
  const auto n = ::readlink(link.c_str(), buffer.data(), buffer.size());
  const std::string_view text(buffer.data(), n < 0 ? 0 : static_cast<std::size_t>(n));
  return text.starts_with("socket:[") ? number_of<unsigned long long>(text.substr(8), 10) : 0;
}

void find_owner(Listener& listener) {
  for (const pid_t pid : all_pids()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), ignored)) {
      if (socket_inode(entry.path()) != listener.inode) continue;
      listener.pid = pid;
      listener.program = program_name(pid);
      return;
    }
  }
}

}  // namespace

std::string Listener::text() const {
  return pid < 0 ? "a process of another user" : fmt::format("process {} ({})", pid, program);
}

std::vector<unsigned long long> listening_inodes(std::string_view proc_net_tcp, int port) {
  std::vector<unsigned long long> out;
  for (std::size_t at = 0; at < proc_net_tcp.size();) {
    const auto end = std::min(proc_net_tcp.find('\n', at), proc_net_tcp.size());
    const auto fields = fields_of(proc_net_tcp.substr(at, end - at));
    at = end + 1;
    if (fields.size() < 10 || fields[3] != "0A") continue;  // 0A: TCP_LISTEN
    const auto colon = fields[1].rfind(':');
    if (colon == std::string_view::npos || number_of<int>(fields[1].substr(colon + 1), 16) != port) continue;
    out.push_back(number_of<unsigned long long>(fields[9], 10));
  }
  return out;
}

std::vector<unsigned long long> listening_inodes(int port) {
  std::vector<unsigned long long> out;
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto text = read_file(file);
    if (!text) continue;
    const auto found = listening_inodes(*text, port);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

std::vector<Listener> listeners(int port) {
  std::vector<Listener> out;
  for (const auto inode : listening_inodes(port)) {
    auto& listener = out.emplace_back();
    listener.inode = inode;
    find_owner(listener);
  }
  return out;
}

}  // namespace nightgate::measure
