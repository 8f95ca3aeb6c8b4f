// Who listens on a TCP port of this machine (our network namespace).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nightgate::measure {

struct Listener {
  unsigned long long inode = 0;
  pid_t pid = -1;                          // -1: it belongs to a process we may not look into
  std::string program;                     // its name; empty when unknown
  [[nodiscard]] std::string text() const;  // "process 123 (coraine)"
};

// Inodes of the sockets that listen on `port`, from the text of /proc/net/tcp or tcp6.
[[nodiscard]] std::vector<unsigned long long> listening_inodes(std::string_view proc_net_tcp, int port);
// The same for this machine now, IPv4 first. Cheap: two files.
[[nodiscard]] std::vector<unsigned long long> listening_inodes(int port);
// Everybody who listens on `port`, over IPv4 or IPv6. Several processes may share one socket: one of them is named.
[[nodiscard]] std::vector<Listener> listeners(int port);

}  // namespace nightgate::measure
