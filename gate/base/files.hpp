// Files, directories and locks. Everything that must be undone undoes itself.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gate/base/result.hpp"

namespace nightgate {

namespace fs = std::filesystem;

// Whole file; refuses more than max_bytes (Code::bad_data), Code::not_found when absent, Code::io otherwise.
[[nodiscard]] Result<std::string> read_file(const fs::path& path, std::size_t max_bytes = 64U << 20U);
// Durable::yes waits until the disk has it; no is for pages that can be made again.
enum class Durable { yes, no };
// Temp file in the same directory, fsync, rename: readers see the old or the new text, never half. A symbolic link
// stays one (the file that it leads to is replaced); a device, a pipe or a terminal is written into.
[[nodiscard]] Status write_file(const fs::path& path, std::string_view text, unsigned mode = 0644,
                                Durable durable = Durable::yes);
// Makes the directory and its parents; existing ones are fine. Private ones get 0700.
[[nodiscard]] Status make_directories(const fs::path& path, bool is_private = false);
// `below` joined to `root`, refused (Code::bad_data) when it is absolute or leaves root by "..".
[[nodiscard]] Result<fs::path> join_below(const fs::path& root, std::string_view below);
// Free bytes for us on the file system of `path`.
[[nodiscard]] Result<std::uintmax_t> free_bytes(const fs::path& path);

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }
  void reset();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// A directory under the system's temporary directory (or `parent`), removed with all in it at the end.
class TempDir {
 public:
  [[nodiscard]] static Result<TempDir> make(std::string_view prefix, const fs::path& parent = {});
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&& other) noexcept;
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  explicit TempDir(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// An exclusive flock(2) on a file, held while the object lives; the kernel frees it when the process dies.
// The holder's pid and `what` are written into the file so that the one who waits can say for whom.
class FileLock {
 public:
  // wait = 0: Code::busy at once when taken. The message names the holder.
  [[nodiscard]] static Result<FileLock> take(const fs::path& path, std::string_view what, std::chrono::seconds wait);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Runs `undo` at the end of the scope unless released.
class Defer {
 public:
  explicit Defer(std::function<void()> undo) : undo_(std::move(undo)) {}
  Defer(const Defer&) = delete;
  Defer& operator=(const Defer&) = delete;
  ~Defer() {
    if (undo_) undo_();
  }
  void release() { undo_ = nullptr; }

 private:
  std::function<void()> undo_;
};

// Where state lives unless configured: $STATE_DIRECTORY, else $XDG_STATE_HOME/nightgate, else ~/.local/state/nightgate;
// for root, and for a user whose home that is, /var/lib/nightgate.
[[nodiscard]] fs::path default_state_directory();

// Lower-case hex SHA-256 of `data`.
[[nodiscard]] std::string sha256_hex(std::string_view data);
// Random (version 4) uuid as text.
[[nodiscard]] std::string make_uuid();

}  // namespace nightgate
