#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/measure/measurement.hpp"

namespace nightgate::measure {
namespace {

bool everybody_writes(const fs::path& path, mode_t kind) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == kind && (info.st_mode & S_IWOTH) != 0;
}

// A place that every user of the host shares, so that all meet at the same file: chosen by who may write there in
// general, not by whether we may. The file stays for ever; only the lock on it comes and goes. Where /run/lock is
// root's alone (Debian 13) the package's tmpfiles.d makes the file at boot.
fs::path lock_file() {
  const fs::path made_at_boot = "/run/lock/nightgate.lock";
  if (everybody_writes(made_at_boot, S_IFREG)) return made_at_boot;
  for (const char* directory : {"/run/lock", "/tmp"}) {
    if (everybody_writes(directory, S_IFDIR)) return fs::path(directory) / "nightgate.lock";
  }
  return fs::temp_directory_path() / "nightgate.lock";
}

// World-usable whoever makes it first, whatever the umask. O_NOFOLLOW and no O_CREAT on an existing one: in a sticky
// directory the kernel refuses to "create" what belongs to somebody else (fs.protected_regular).
void make_for_all(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (fd) (void)::fchmod(fd.get(), 0666);
}

}  // namespace

Result<FileLock> lock_host(std::string_view what, std::chrono::seconds wait) {
  const auto path = lock_file();
  make_for_all(path);
  return FileLock::take(path, what, wait);
}

}  // namespace nightgate::measure
