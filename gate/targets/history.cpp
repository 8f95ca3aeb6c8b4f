// Merges read by libgit2: the first-parent line, and everything that a person may call a commit.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "gate/base/log.hpp"
#include "gate/formats/git_title.hpp"
#include "gate/targets/git.hpp"
#include "gate/targets/history_refs.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::targets {
namespace {

Instant time_of(const git_commit* commit) { return Instant(std::chrono::seconds(git_commit_time(commit))); }

std::string short_sha(std::string_view sha) { return std::string(sha.substr(0, 8)); }

// A name only: what follows an '@' would make it an address.
std::string author_of(const git_commit* commit) {
  const git_signature* author = git_commit_author(commit);
  const std::string name = author != nullptr && author->name != nullptr ? author->name : "";
  return name.substr(0, name.find('@'));
}

git::Commit parent_of(const git_commit* commit, unsigned number = 0) {
  git_commit* raw = nullptr;
  if (git_commit_parentcount(commit) <= number || git_commit_parent(&raw, commit, number) != 0) return nullptr;
  return git::Commit(raw);
}

formats::GitTitle title_of(const git_commit* commit) {
  const char* message = git_commit_message(commit);
  return formats::parse_git_title(message != nullptr ? message : "");
}

Merge merge_from(const git_commit* commit) {
  formats::GitTitle title = title_of(commit);
  Merge merge;
  merge.commit = git::hex(*git_commit_id(commit));
  merge.time = time_of(commit);
  merge.author = author_of(commit);
  if (const auto topic = parent_of(commit, 1)) {  // a merge commit is made by whoever pressed the button
    merge.author = author_of(topic.get());
    if (title.reverted_commit.empty()) title.reverted_commit = title_of(topic.get()).reverted_commit;
  }
  merge.title = std::move(title.title);
  if (title.number) merge.pr = static_cast<int>(*title.number);
  merge.reverts = std::move(title.reverted_commit);
  return merge;
}

class GitHistory final : public History {
 public:
  GitHistory(git::Repository repository, config::Repository settings, fs::path clone, std::string token)
      : repository_(std::move(repository)),
        settings_(std::move(settings)),
        clone_(std::move(clone)),
        token_(std::move(token)) {}

  Result<std::string> resolve(std::string_view reference) override {
    NG_TRY(const auto commit, find(reference));
    return git::hex(*git_commit_id(commit.get()));
  }

  Result<std::vector<Merge>> newest(int limit) override {
    NG_CHECK(whole());
    NG_TRY(auto commit, tip());
    std::vector<Merge> merges;
    for (; commit && static_cast<int>(merges.size()) < limit; commit = parent_of(commit.get())) {
      merges.push_back(merge_from(commit.get()));
    }
    return merges;
  }

  Result<std::vector<Merge>> range(std::string_view good, std::string_view bad) override {
    NG_CHECK(whole());
    NG_TRY(const auto first, find(good));
    NG_TRY(auto commit, find(bad));
    const git_oid* end = git_commit_id(first.get());
    if (git_oid_equal(end, git_commit_id(commit.get())) != 0) {
      return fail(Code::usage, fmt::format("the range is empty: good ({}) and bad ({}) are the same commit {}", good,
                                           bad, short_sha(git::hex(*end))));
    }
    const git_oid last = *git_commit_id(commit.get());
    std::vector<Merge> merges;
    bool met = false;
    for (; commit; commit = parent_of(commit.get())) {
      merges.push_back(merge_from(commit.get()));
      met = git_oid_equal(end, git_commit_id(commit.get())) != 0;
      if (met) break;
    }
    if (!met) return not_on_line(*end, last, good, bad);
    std::ranges::reverse(merges);
    for (std::size_t i = 0; i < merges.size(); ++i) merges[i].number = static_cast<int>(i);
    return merges;
  }

  Result<Merge> merge(std::string_view reference) override {
    NG_TRY(const auto commit, find(reference));
    return merge_from(commit.get());
  }

  Status fill_files(Merge& merge) override {
    NG_TRY(const auto commit, find(merge.commit));
    return history::files_of(repository_.get(), commit.get(), merge.files);
  }

  Result<std::string> merge_base(std::string_view a, std::string_view b) override {
    NG_CHECK(whole());
    NG_TRY(const auto left, find(a));
    NG_TRY(const auto right, find(b));
    git_oid base;
    const int code = git_merge_base(&base, repository_.get(), git_commit_id(left.get()), git_commit_id(right.get()));
    if (code == GIT_ENOTFOUND) return fail(Code::usage, fmt::format("{} and {} have no common ancestor", a, b));
    if (code != 0) return git::failure(Code::io, "looking for the merge base");
    return git::hex(base);
  }

  Result<std::string> last_release(std::string_view reference) override {
    NG_CHECK(whole());
    NG_TRY(const auto commit, find(reference));
    return history::last_release(repository_.get(), *git_commit_id(commit.get()));
  }

  Result<int> place(std::string_view reference) override {
    NG_CHECK(whole());
    NG_TRY(auto commit, find(reference));
    std::vector<std::string> line;  // walked down to the first commit whose place is known
    int known = 0;
    for (; commit; commit = parent_of(commit.get())) {
      const std::string sha = git::hex(*git_commit_id(commit.get()));
      if (const auto found = places_.find(sha); found != places_.end()) {
        known = found->second;
        break;
      }
      line.push_back(sha);
    }
    for (auto sha = line.rbegin(); sha != line.rend(); ++sha) places_[*sha] = ++known;
    return known;
  }

  Result<std::string> tree_id(std::string_view reference) override {
    NG_TRY(const auto commit, find(reference));
    return git::hex(*git_commit_tree_id(commit.get()));
  }

  Status checkout(std::string_view reference, const fs::path& into) override {
    NG_TRY(const auto commit, find(reference));
    return git::write_tree(repository_.get(), commit.get(), into.string());
  }

  Status fetch() override {
    if (settings_.url.empty()) return {};
    NG_TRY(const auto lock,
           FileLock::take(clone_.string() + ".lock", "fetching " + settings_.url, std::chrono::minutes(15)));
    return git::fetch_bare(clone_.string(), settings_.url, token_);
  }

 private:
  // A shallow clone gives zero commits or the wrong ones, without a word.
  Status whole() {
    if (git_repository_is_shallow(repository_.get()) != 1) return {};
    return fail(Code::usage,
                fmt::format("the repository at {} is a shallow clone, its history is cut off: set \"fetch-depth: 0\" "
                            "in actions/checkout, or run \"git fetch --unshallow\" in it",
                            git_repository_path(repository_.get())));
  }

  Result<git::Commit> tip() { return history::branch_tip(repository_.get(), settings_.branch); }

  Result<git::Commit> find(std::string_view reference) {
    const std::string text(reference);
    if (const auto until = history::read_date(text)) return at_date(*until, text);
    git::Commit commit;
    const int code = git::find_commit(repository_.get(), text, commit);
    if (code == 0) return commit;
    if (code == GIT_EAMBIGUOUS) {
      return fail(Code::usage, fmt::format("\"{}\" is the beginning of several commits; give more digits", text));
    }
    if (git::find_commit(repository_.get(), "refs/remotes/origin/" + text, commit) == 0) return commit;
    return unknown(text);
  }

  Result<git::Commit> at_date(Instant until, const std::string& text) {
    NG_CHECK(whole());
    NG_TRY(auto commit, tip());
    for (; commit; commit = parent_of(commit.get())) {
      if (time_of(commit.get()) <= until) return commit;
    }
    return fail(Code::not_found, fmt::format("no merge of {} is as old as {}", settings_.branch, text));
  }

  tl::unexpected<Error> unknown(const std::string& text) {
    const auto near = history::near_references(repository_.get(), settings_.branch, text);
    const std::string hint = near.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(near, ", "));
    const bool shallow = git_repository_is_shallow(repository_.get()) == 1;
    return fail(Code::not_found, fmt::format("no commit, tag, branch or date is called \"{}\" in {}{}{}", text,
                                             git_repository_path(repository_.get()), hint,
                                             shallow ? " (it is a shallow clone: use \"fetch-depth: 0\")" : ""));
  }

  // Walking down from bad did not meet good: which of the possible mistakes is it?
  tl::unexpected<Error> not_on_line(const git_oid& good, const git_oid& bad, std::string_view good_name,
                                    std::string_view bad_name) {
    if (git_graph_descendant_of(repository_.get(), &good, &bad) == 1) {
      return fail(Code::usage, fmt::format("good ({}) is newer than bad ({}); swap them", good_name, bad_name));
    }
    if (git_graph_descendant_of(repository_.get(), &bad, &good) != 1) {
      git_oid base;
      const bool common = git_merge_base(&base, repository_.get(), &good, &bad) == 0;
      return fail(Code::usage, fmt::format("good ({}) is not an ancestor of bad ({}): they are on different branches; "
                                           "their common ancestor is {}",
                                           good_name, bad_name, common ? short_sha(git::hex(base)) : "none"));
    }
    const auto merged = short_sha(history::first_with(repository_.get(), bad, good));
    return fail(Code::usage, fmt::format("good ({}) is not on the first-parent line of bad ({}): it came in with the "
                                         "merge {}; use that merge or the one before it ({}^) as good",
                                         good_name, bad_name, merged, merged));
  }

  git::Repository repository_;
  config::Repository settings_;
  fs::path clone_;
  std::string token_;
  std::unordered_map<std::string, int> places_;
};

// A clone that was cut short, or refused, has no branch yet and is fetched again.
Result<git::Repository> open_or_clone(const fs::path& path, const config::Repository& settings,
                                      const std::string& token) {
  auto repository = git::open(path.string(), false);
  if (!repository && repository.error().code != Code::not_found) return repository;
  if (repository && history::branch_tip(repository->get(), settings.branch)) return repository;
  log::info("cloning " + settings.url);
  NG_TRY(const auto lock, FileLock::take(path.string() + ".lock", "cloning", std::chrono::minutes(15)));
  NG_CHECK(git::fetch_bare(path.string(), settings.url, token));
  return git::open(path.string(), false);
}

Result<std::unique_ptr<History>> open_clone(const config::Config& config) {
  std::string token;
  if (!config.repository.token_env.empty()) {
    NG_TRY(token, config::secret_from_environment(config.repository.token_env));
  }
  const fs::path path = config.state / ("repository-" + sha256_hex(config.repository.url).substr(0, 12));
  NG_CHECK(make_directories(config.state, true));
  NG_TRY(auto repository, open_or_clone(path, config.repository, token));
  return std::make_unique<GitHistory>(std::move(repository), config.repository, path, std::move(token));
}

}  // namespace

Result<std::unique_ptr<History>> open_history(const config::Config& config) {
  git::start();
  if (!config.repository.url.empty()) return open_clone(config);
  if (config.repository.path.empty()) {
    return fail(Code::usage,
                "this needs the project's history, and the config names no \"repository\"; add {\"path\": \".\"}");
  }
  NG_TRY(auto repository, git::open(config.repository.path.string(), true));
  return std::make_unique<GitHistory>(std::move(repository), config.repository, fs::path(), std::string());
}

}  // namespace nightgate::targets
