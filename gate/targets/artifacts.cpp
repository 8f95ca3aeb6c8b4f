#include "gate/targets/artifacts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "config/names.hpp"

namespace nightgate::targets {
namespace {

constexpr std::size_t max_files = 100000;

struct Entry {
  std::string name;  // relative, with '/'
  fs::path path;
  struct stat info {};
};

Result<std::vector<Entry>> list(const fs::path& directory) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    Entry entry{at->path().lexically_relative(directory).generic_string(), at->path(), {}};
    if (::lstat(entry.path.c_str(), &entry.info) != 0)
      return fail(Code::io, "could not look at " + entry.path.string() + ": " + errno_text(errno));
    if (S_ISDIR(entry.info.st_mode)) continue;
    if (!S_ISREG(entry.info.st_mode) && !S_ISLNK(entry.info.st_mode)) {
      return fail(Code::bad_data, entry.path.string() + " is neither a file nor a link; an artifact holds only these");
    }
    entries.push_back(std::move(entry));
    if (entries.size() > max_files)
      return fail(Code::bad_data, fmt::format("{} holds more than {} files; is it the right directory?",
                                              directory.string(), max_files));
  }
  if (error) return fail(Code::io, "could not read " + directory.string() + ": " + error.message());
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

Result<std::string> hash_file(const Entry& entry) {
  const Fd file(::open(entry.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return fail(Code::io, "could not read " + entry.path.string() + ": " + errno_text(errno));
  const auto size = static_cast<std::size_t>(entry.info.st_size);
  if (size == 0) return sha256_hex({});
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return fail(Code::io, "could not read " + entry.path.string() + ": " + errno_text(errno));
  const std::string hash = sha256_hex({static_cast<const char*>(bytes), size});
  ::munmap(bytes, size);
  return hash;
}

// One line an entry; names are length-prefixed, so no name can imitate another line.
Result<std::string> describe(const Entry& entry) {
  const std::string head = fmt::format("{}:{} ", entry.name.size(), entry.name);
  if (S_ISLNK(entry.info.st_mode)) {
    std::error_code error;
    const auto target = fs::read_symlink(entry.path, error);
    if (error) return fail(Code::io, "could not read " + entry.path.string() + ": " + error.message());
    return head + "link " + sha256_hex(target.string()) + "\n";
  }
  NG_TRY(const std::string hash, hash_file(entry));
  return head + ((entry.info.st_mode & S_IXUSR) != 0 ? "program " : "file ") + hash + "\n";
}

std::string listing_of(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) {
    text += fmt::format("{} {} {} {}.{} {}.{} {}\n", entry.name, entry.info.st_mode, entry.info.st_size,
                        entry.info.st_mtim.tv_sec, entry.info.st_mtim.tv_nsec, entry.info.st_ctim.tv_sec,
                        entry.info.st_ctim.tv_nsec, entry.info.st_ino);
  }
  return sha256_hex(text);
}

}  // namespace

Result<std::string> ContentDigests::of(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) return fail(Code::not_found, "there is no directory " + directory.string());
  const fs::path path = fs::weakly_canonical(directory, error);
  NG_TRY(const auto entries, list(path));
  if (entries.empty()) return fail(Code::bad_data, directory.string() + " is empty");
  std::string listing = listing_of(entries);
  if (const auto found = known_.find(path); found != known_.end() && found->second.listing == listing)
    return found->second.digest;
  std::string text;
  for (const Entry& entry : entries) {
    NG_TRY(const std::string line, describe(entry));
    text += line;
  }
  std::string digest = "sha256:" + sha256_hex(text);
  known_[path] = {std::move(listing), digest};
  return digest;
}

Result<std::string> expand_for(std::string_view text, const Merge& merge, History* history,
                               const std::map<std::string, std::string>& extra) {
  std::string n;
  const auto names = config::names_in(text);
  if (std::ranges::find(names, "n") != names.end()) {
    if (history == nullptr) return fail(Code::usage, "{n} needs the project's \"repository\"");
    NG_TRY(const int place, history->place(merge.commit));
    n = std::to_string(place);
  }
  if (std::ranges::find(names, "pr") != names.end() && !merge.pr) {
    return fail(Code::not_found,
                "its commit message names no pull request, and \"" + std::string(text) + "\" wants the number");
  }
  return config::expand_names(text, [&](std::string_view name) -> std::optional<std::string> {
    if (name == "sha") return merge.commit;
    if (name == "short") return merge.commit.substr(0, 7);
    if (name == "pr") return std::to_string(*merge.pr);
    if (name == "n") return n;
    const auto found = extra.find(std::string(name));
    return found == extra.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string label_of(const Merge& merge) {
  const std::string sha = merge.commit.substr(0, 7);
  return merge.pr ? fmt::format("#{} {}", *merge.pr, sha) : sha;
}

}  // namespace nightgate::targets
