#include "gate/targets/history_refs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "gate/base/json.hpp"

namespace nightgate::targets::history {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

git::Commit lookup(git_repository* repository, const git_oid& id) {
  git_commit* raw = nullptr;
  if (git_commit_lookup(&raw, repository, &id) != 0) return nullptr;
  return git::Commit(raw);
}

git::Commit first_parent(const git_commit* commit) {
  git_commit* raw = nullptr;
  if (git_commit_parentcount(commit) == 0 || git_commit_parent(&raw, commit, 0) != 0) return nullptr;
  return git::Commit(raw);
}

std::vector<std::string> tag_names(git_repository* repository) {
  git_strarray raw{};
  std::vector<std::string> names;
  if (git_tag_list(&raw, repository) != 0) return names;
  for (std::size_t i = 0; i < raw.count; ++i) names.emplace_back(raw.strings[i]);
  git_strarray_dispose(&raw);
  return names;
}

std::vector<std::string> branch_names(git_repository* repository) {
  git_branch_iterator* raw = nullptr;
  std::vector<std::string> names;
  if (git_branch_iterator_new(&raw, repository, GIT_BRANCH_ALL) != 0) return names;
  const git::Branches branches(raw);
  git_reference* reference = nullptr;
  git_branch_t type{};
  while (git_branch_next(&reference, &type, raw) == 0) {
    const git::Reference owned(reference);
    const char* name = nullptr;
    if (git_branch_name(&name, reference) == 0) names.emplace_back(name);
  }
  return names;
}

}  // namespace

Result<git::Commit> branch_tip(git_repository* repository, const std::string& branch) {
  git::Commit commit;
  for (const char* where : {"refs/heads/", "refs/remotes/origin/"}) {
    if (git::find_commit(repository, where + branch, commit) == 0) return commit;
  }
  const auto names = branch_names(repository);
  if (names.empty()) {
    return fail(
        Code::usage,
        fmt::format("the repository at {} has no branch yet: commit something, or name another by repository.path",
                    git_repository_path(repository)));
  }
  const std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 8)));
  return fail(Code::usage,
              fmt::format("the repository at {} has no branch \"{}\" (it has {}{}); set \"repository.branch\"",
                          git_repository_path(repository), branch, fmt::join(shown, ", "),
                          names.size() > shown.size() ? ", ..." : ""));
}

std::optional<Instant> read_date(std::string_view text) {
  const auto shaped = [](std::string_view day) {
    return day.size() == 10 && day[4] == '-' && day[7] == '-' && std::ranges::count_if(day, is_digit) == 8;
  };
  if (!shaped(text.substr(0, 10))) return std::nullopt;
  const std::string full = text.size() == 10 ? std::string(text) + "T23:59:59.999999Z" : std::string(text);
  const auto instant = parse_rfc3339(full);
  if (!instant) return std::nullopt;
  return *instant;
}

std::vector<std::string> near_references(git_repository* repository, const std::string& branch,
                                         const std::string& text) {
  auto candidates = tag_names(repository);
  std::ranges::copy(branch_names(repository), std::back_inserter(candidates));
  const bool like_sha = text.size() >= 4 && text.size() <= 40 && std::ranges::all_of(text, is_hex);
  if (like_sha) {
    constexpr int enough = 2000;
    auto commit = branch_tip(repository, branch).value_or(git::Commit());
    for (int i = 0; commit && i < enough; ++i, commit = first_parent(commit.get())) {
      candidates.push_back(git::hex(*git_commit_id(commit.get())).substr(0, std::max<std::size_t>(text.size(), 8)));
    }
  }
  return near_matches(text, candidates);
}

Status files_of(git_repository* repository, git_commit* commit, std::vector<std::string>& files) {
  git_tree* raw_new = nullptr;
  if (git_commit_tree(&raw_new, commit) != 0) return git::failure(Code::io, "reading a commit's files");
  const git::Tree after(raw_new);
  git::Tree before;
  if (const auto parent = first_parent(commit)) {
    git_tree* raw_old = nullptr;
    if (git_commit_tree(&raw_old, parent.get()) != 0) return git::failure(Code::io, "reading a commit's files");
    before.reset(raw_old);
  }
  git_diff* raw = nullptr;
  if (git_diff_tree_to_tree(&raw, repository, before.get(), after.get(), nullptr) != 0) {
    return git::failure(Code::io, "comparing a commit with its parent");
  }
  const git::Diff diff(raw);
  files.clear();
  for (std::size_t i = 0; i < git_diff_num_deltas(raw); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(raw, i);
    files.emplace_back(delta->status == GIT_DELTA_DELETED ? delta->old_file.path : delta->new_file.path);
  }
  return {};
}

std::optional<Version> read_version(std::string_view tag) {
  // An optional word before it ("server-", "v"), then at least two numbers with dots between.
  auto at = tag.find_first_of("0123456789");
  if (at == std::string_view::npos) return std::nullopt;
  const auto head = tag.substr(0, at);
  if (!head.empty() && head.back() != 'v' && head.back() != 'V' && head.back() != '-' && head.back() != '_' &&
      head.back() != '/') {
    return std::nullopt;
  }
  Version version;
  while (at < tag.size() && is_digit(tag[at])) {
    long number = 0;
    const auto [end, error] = std::from_chars(tag.data() + at, tag.data() + tag.size(), number);
    if (error != std::errc{}) return std::nullopt;
    version.numbers.push_back(number);
    at = static_cast<std::size_t>(end - tag.data());
    if (at + 1 >= tag.size() || tag[at] != '.' || !is_digit(tag[at + 1])) break;
    ++at;
  }
  if (version.numbers.size() < 2) return std::nullopt;
  version.pre = at < tag.size() && tag[at] != '+';
  return version;
}

Result<std::string> last_release(git_repository* repository, const git_oid& commit) {
  // The best version on each commit, plain ones before pre-releases.
  const auto key = [](const Version& version) { return std::pair(!version.pre, version.numbers); };
  std::map<std::string, std::pair<Version, std::string>> releases;
  for (const std::string& tag : tag_names(repository)) {
    const auto version = read_version(tag);
    git::Commit tagged;
    if (!version || git::find_commit(repository, "refs/tags/" + tag, tagged) != 0) continue;
    auto& best = releases[git::hex(*git_commit_id(tagged.get()))];
    if (best.second.empty() || key(best.first) < key(*version)) best = {*version, tag};
  }
  git_revwalk* raw = nullptr;
  if (git_revwalk_new(&raw, repository) != 0) return git::failure(Code::io, "walking the history");
  const git::Revwalk walk(raw);
  git_revwalk_sorting(raw, unsigned{GIT_SORT_TOPOLOGICAL});
  git_revwalk_push(raw, &commit);
  std::string pre_release;
  git_oid id;
  while (git_revwalk_next(&id, raw) == 0) {
    const auto found = git_oid_equal(&id, &commit) != 0 ? releases.end() : releases.find(git::hex(id));
    if (found == releases.end()) continue;
    if (!found->second.first.pre) return found->second.second;
    if (pre_release.empty()) pre_release = found->second.second;
  }
  if (!pre_release.empty()) return pre_release;
  return fail(Code::not_found,
              fmt::format("no tag below {} looks like a version (\"v1.2\", \"1.2.3\"); were the tags fetched "
                          "(\"git fetch --tags\")?",
                          git::hex(commit).substr(0, 8)));
}

std::string first_with(git_repository* repository, const git_oid& tip, const git_oid& good) {
  std::string oldest = git::hex(tip);
  for (auto commit = lookup(repository, tip); commit; commit = first_parent(commit.get())) {
    const git_oid* id = git_commit_id(commit.get());
    if (git_graph_descendant_of(repository, id, &good) != 1) break;
    oldest = git::hex(*id);
  }
  return oldest;
}

}  // namespace nightgate::targets::history
