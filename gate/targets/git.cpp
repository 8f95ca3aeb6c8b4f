#include "gate/targets/git.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gate/base/files.hpp"

namespace nightgate::targets::git {

void start() {
  static const int count = git_libgit2_init();
  static_cast<void>(count);
}

std::string last_error() {
  const git_error* error = git_error_last();
  return error != nullptr && error->message != nullptr ? error->message : "no reason given";
}

std::string hex(const git_oid& oid) {
  std::string text(GIT_OID_HEXSZ, '0');
  git_oid_fmt(text.data(), &oid);
  return text;
}

int find_commit(git_repository* repository, const std::string& revision, Commit& out) {
  git_object* raw = nullptr;
  if (const int code = git_revparse_single(&raw, repository, revision.c_str()); code != 0) return code;
  const Object object(raw);
  git_object* peeled = nullptr;
  if (const int code = git_object_peel(&peeled, object.get(), GIT_OBJECT_COMMIT); code != 0) return code;
  git_commit* commit = nullptr;
  const int code = git_commit_lookup(&commit, repository, git_object_id(peeled));
  git_object_free(peeled);
  out.reset(commit);
  return code;
}

Result<Repository> open(const std::string& path, bool search) {
  start();
  git_repository* raw = nullptr;
  const unsigned flags = search ? 0U : unsigned{GIT_REPOSITORY_OPEN_NO_SEARCH};
  const int code = git_repository_open_ext(&raw, path.c_str(), flags, nullptr);
  if (code == 0) return Repository(raw);
  const std::string why = last_error();
  // libgit2 1.5 says "config value 'safe.directory' was not found" where it means GIT_EOWNER.
  constexpr int owner = -36;
  if (code == owner || why.find("safe.directory") != std::string::npos) {
    return fail(Code::usage, "the repository at " + path +
                                 " belongs to another user, so it is not read; allow it by \"git config "
                                 "--global --add safe.directory " +
                                 path + "\" (in a container: by the user that nightgate runs as)");
  }
  if (code == GIT_ENOTFOUND) {
    return fail(Code::not_found, "there is no git repository at " + path +
                                     "; set \"repository\" in the config to a checkout, "
                                     "a bare repository or a url");
  }
  return fail(Code::io, "could not open the repository at " + path + ": " + why);
}

namespace {

Status write_blob(const git_blob* blob, const fs::path& path, bool executable) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, executable ? 0755 : 0644));
  if (!file) return fail(Code::io, "could not write " + path.string() + ": " + errno_text(errno));
  const char* data = static_cast<const char*>(git_blob_rawcontent(blob));
  auto left = static_cast<std::size_t>(git_blob_rawsize(blob));
  while (left > 0) {
    const ssize_t written = ::write(file.get(), data, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail(Code::io, "could not write " + path.string() + ": " + errno_text(errno));
    data += written;
    left -= static_cast<std::size_t>(written);
  }
  return {};
}

Status write_link(const git_blob* blob, const fs::path& path) {
  const std::string target(static_cast<const char*>(git_blob_rawcontent(blob)),
                           static_cast<std::size_t>(git_blob_rawsize(blob)));
  std::error_code error;
  fs::create_symlink(target, path, error);
  if (error) return fail(Code::io, "could not write " + path.string() + ": " + error.message());
  return {};
}

// Names like ".." cannot be made by git, but a repository is data from outside.
bool is_safe(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

Status write_entries(git_repository* repository, const git_tree* tree, const fs::path& into) {
  for (std::size_t i = 0; i < git_tree_entrycount(tree); ++i) {
    const git_tree_entry* entry = git_tree_entry_byindex(tree, i);
    const std::string name = git_tree_entry_name(entry);
    if (!is_safe(name))
      return fail(Code::bad_data, "the commit has a file called \"" + name + "\"; it is not checked out");
    const fs::path path = into / name;
    const auto mode = git_tree_entry_filemode(entry);
    if (mode == GIT_FILEMODE_TREE || mode == GIT_FILEMODE_COMMIT) {
      NG_CHECK(make_directories(path));
      if (mode == GIT_FILEMODE_COMMIT) continue;
      git_tree* below = nullptr;
      if (git_tree_lookup(&below, repository, git_tree_entry_id(entry)) != 0)
        return failure(Code::io, "reading " + path.string());
      const Tree owned(below);
      NG_CHECK(write_entries(repository, below, path));
      continue;
    }
    git_blob* raw = nullptr;
    if (git_blob_lookup(&raw, repository, git_tree_entry_id(entry)) != 0)
      return failure(Code::io, "reading " + path.string());
    const Blob blob(raw);
    NG_CHECK(mode == GIT_FILEMODE_LINK ? write_link(raw, path)
                                       : write_blob(raw, path, mode == GIT_FILEMODE_BLOB_EXECUTABLE));
  }
  return {};
}

}  // namespace

Status write_tree(git_repository* repository, git_commit* commit, const std::string& into) {
  git_tree* raw = nullptr;
  if (git_commit_tree(&raw, commit) != 0)
    return failure(Code::io, "reading the files of " + hex(*git_commit_id(commit)));
  const Tree tree(raw);
  return write_entries(repository, raw, into);
}

}  // namespace nightgate::targets::git
