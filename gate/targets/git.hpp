// Handles of libgit2 and its errors as ours (private to gate/targets).
#pragma once

#include <git2.h>

#include <memory>
#include <string>
#include <string_view>

#include "gate/base/result.hpp"

namespace nightgate::targets::git {

template <class T, void (*free)(T*)>
struct Free {
  void operator()(T* handle) const { free(handle); }
};
template <class T, void (*free)(T*)>
using Handle = std::unique_ptr<T, Free<T, free>>;

using Repository = Handle<git_repository, git_repository_free>;
using Object = Handle<git_object, git_object_free>;
using Commit = Handle<git_commit, git_commit_free>;
using Tree = Handle<git_tree, git_tree_free>;
using Blob = Handle<git_blob, git_blob_free>;
using Reference = Handle<git_reference, git_reference_free>;
using Revwalk = Handle<git_revwalk, git_revwalk_free>;
using Diff = Handle<git_diff, git_diff_free>;
using Remote = Handle<git_remote, git_remote_free>;
using Branches = Handle<git_branch_iterator, git_branch_iterator_free>;

// Once in the program's life, before any other call.
void start();
// Text of the last failure in this thread. Ask right after the call that failed.
[[nodiscard]] std::string last_error();
[[nodiscard]] inline tl::unexpected<Error> failure(Code code, std::string_view doing) {
  return fail(code, std::string(doing) + ": " + last_error());
}
[[nodiscard]] std::string hex(const git_oid& oid);

// The commit that a revision names ("v1.0", "5d2f01c", "HEAD~2"), or the code of git_revparse_single with a null
// handle.
[[nodiscard]] int find_commit(git_repository* repository, const std::string& revision, Commit& out);

// Opens the repository at or above `path` (exactly there when `search` is false). Code::usage with the way out when it
// belongs to another user; Code::not_found when there is none.
[[nodiscard]] Result<Repository> open(const std::string& path, bool search);
// Makes `path` a bare copy of `url`, or brings it up to date; runs in a child process, because libgit2 knows no
// time-outs. `token` may be empty. Code::denied when the server refuses it, Code::away otherwise.
[[nodiscard]] Status fetch_bare(const std::string& path, const std::string& url, const std::string& token);
// Writes the tree of a commit into an existing directory: files, executable bits and symbolic links, no filters;
// submodules stay empty directories.
[[nodiscard]] Status write_tree(git_repository* repository, git_commit* commit, const std::string& into);

}  // namespace nightgate::targets::git
