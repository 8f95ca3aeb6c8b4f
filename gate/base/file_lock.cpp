// FileLock: flock(2), so a killed holder frees it by itself.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "gate/base/files.hpp"

namespace nightgate {
namespace {

// A lock file is shared between users: one who may only read it can still lock it. In a sticky directory the kernel
// refuses O_CREAT on another user's file (fs.protected_regular), so that is tried without.
Fd open_lock(const fs::path& path) {
  for (const int flags : {O_RDWR | O_CREAT, O_RDWR, O_RDONLY}) {
    Fd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (fd || (errno != EACCES && errno != EPERM && errno != EROFS)) return fd;
  }
  return {};
}

// False when somebody deleted or replaced the file while we waited: our lock would then guard nothing.
bool still_there(int fd, const fs::path& path) {
  struct stat ours {};
  struct stat named {};
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
         ours.st_ino == named.st_ino;
}

std::string holder_of(int fd) {
  std::array<char, 300> buffer{};
  const auto n = ::pread(fd, buffer.data(), buffer.size(), 0);
  std::string text(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  text = text.substr(0, text.find('\n'));
  return text.empty() ? "somebody unnamed" : text;
}

void sign(int fd, std::string_view what) {
  const auto text = fmt::format("process {} ({})\n", ::getpid(), what.substr(0, 200));
  // A reader without write permission holds the lock all the same; its name is a courtesy.
  if (::ftruncate(fd, 0) == 0) {
    [[maybe_unused]] const auto written = ::pwrite(fd, text.data(), text.size(), 0);
  }
}

}  // namespace

Result<FileLock> FileLock::take(const fs::path& path, std::string_view what, std::chrono::seconds wait) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    Fd fd = open_lock(path);
    if (!fd) return fail(Code::io, fmt::format("cannot open lock file {}: {}", path.string(), errno_text(errno)));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      if (!still_there(fd.get(), path)) continue;
      sign(fd.get(), what);
      return FileLock(std::move(fd));
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(Code::io, fmt::format("cannot lock {}: {}", path.string(), errno_text(errno)));
    }
    if (std::chrono::steady_clock::now() - start >= wait) {
      return fail(Code::busy, fmt::format("{} is held by {}; waited {} s, try again when it is done", path.string(),
                                          holder_of(fd.get()), wait.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace nightgate
