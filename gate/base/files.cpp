#include "gate/base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

namespace nightgate {
namespace {

tl::unexpected<Error> io_error(std::string_view doing, const fs::path& path, int error) {
  return fail(error == ENOENT ? Code::not_found : Code::io,
              fmt::format("cannot {} {}: {}", doing, path.string(), errno_text(error)));
}

Status write_all(int fd, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// Makes a rename in `directory` survive a power cut; file systems that can't are let off.
void sync_directory(const fs::path& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

fs::path home_directory() {
  if (auto home = environment("HOME"); !home.empty() && home.front() == '/') return home;
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_dir;
  }
  return "/tmp";
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::size_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return io_error("open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return io_error("look at", path, errno);
  if (S_ISDIR(info.st_mode)) return io_error("read", path, EISDIR);

  // The size is only a hint: files under /proc say 0, and a file can grow while it is read.
  std::string text;
  const auto hint = static_cast<std::size_t>(info.st_size);
  std::size_t used = 0;
  text.resize(std::min(hint, max_bytes) + 1);
  while (true) {
    const auto n = ::read(fd.get(), text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("read", path, errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > max_bytes) {
      return fail(Code::bad_data, fmt::format("{} is larger than the {} bytes read at most", path.string(), max_bytes));
    }
    if (used == text.size()) text.resize(std::min(std::max<std::size_t>(used * 2, 4096), max_bytes + 1));
  }
  text.resize(used);
  return text;
}

namespace {
// A device, a pipe or a terminal is written into; only a file is replaced.
Status write_into(const fs::path& path, std::string_view text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return io_error("open", path, errno);
  return write_all(fd.get(), text, path);
}
}  // namespace

Status write_file(const fs::path& given, std::string_view text, unsigned mode, Durable durable) {
  // A symbolic link stays one: the file that it leads to is replaced.
  std::error_code none;
  const auto there = fs::canonical(given, none);
  const auto& path = none ? given : there;
  struct stat info {};
  if (!none && ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return write_into(path, text);
  }
  const auto directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  auto temporary = (directory / fmt::format(".{}.XXXXXX", path.filename().string())).string();
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return io_error("make a file beside", path, errno);
  Defer remove([&] { ::unlink(temporary.c_str()); });

  NG_CHECK(write_all(fd.get(), text, temporary));
  if (::fchmod(fd.get(), static_cast<mode_t>(mode)) != 0) return io_error("set the mode of", temporary, errno);
  if (durable == Durable::yes && ::fsync(fd.get()) != 0) return io_error("sync", temporary, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return io_error("replace", path, errno);
  remove.release();
  if (durable == Durable::yes) sync_directory(directory);
  return {};
}

Status make_directories(const fs::path& path, bool is_private) {
  fs::path sofar;
  for (const auto& part : path.lexically_normal()) {
    sofar /= part;
    if (part.empty() || ::mkdir(sofar.c_str(), is_private ? 0700 : 0755) == 0) continue;
    const int error = errno;
    struct stat info {};
    // EEXIST is not the only answer for an existing directory: a read-only parent says EROFS or EACCES.
    if (::stat(sofar.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) continue;
      return fail(Code::io,
                  fmt::format("cannot make directory {}: {} is not a directory", path.string(), sofar.string()));
    }
    return fail(Code::io, fmt::format("cannot make directory {}: {}", sofar.string(), errno_text(error)));
  }
  return {};
}

Result<fs::path> join_below(const fs::path& root, std::string_view below) {
  const fs::path given{std::string(below)};
  const auto normal = given.lexically_normal();
  if (given.is_absolute() || below.find('\0') != std::string_view::npos ||
      (!normal.empty() && *normal.begin() == "..")) {
    return fail(Code::bad_data, fmt::format("path '{}' leaves {}: give one relative to it, without going up",
                                            below.substr(0, 200), root.string()));
  }
  return normal.empty() || normal == "." ? root : root / normal;
}

Result<std::uintmax_t> free_bytes(const fs::path& path) {
  std::error_code ignored;
  auto existing = fs::absolute(path, ignored);
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) existing = existing.parent_path();
  struct statvfs info {};
  if (::statvfs(existing.c_str(), &info) != 0) return io_error("ask for free space at", existing, errno);
  return std::uintmax_t{info.f_bavail} * info.f_frsize;
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<TempDir> TempDir::make(std::string_view prefix, const fs::path& parent) {
  std::error_code error;
  const auto where = parent.empty() ? fs::temp_directory_path(error) : parent;
  if (error) return io_error("use the temporary directory", where, error.value());
  auto name = (where / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) return io_error("make a temporary directory in", where, errno);
  return TempDir(fs::path(name));
}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    TempDir old(std::exchange(path_, std::exchange(other.path_, {})));
  }
  return *this;
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

fs::path default_state_directory() {
  // systemd gives a colon-separated list when a unit has several.
  if (auto given = environment("STATE_DIRECTORY"); !given.empty()) return given.substr(0, given.find(':'));
  if (auto xdg = environment("XDG_STATE_HOME"); !xdg.empty() && xdg.front() == '/') return fs::path(xdg) / "nightgate";
  if (::geteuid() == 0) return "/var/lib/nightgate";
  // The package's user types `nightgate status` and sees what its unit's nights left in STATE_DIRECTORY.
  if (home_directory() == "/var/lib/nightgate") return "/var/lib/nightgate";
  return home_directory() / ".local/state/nightgate";
}

}  // namespace nightgate
