// Where the private cluster lives and who runs it.
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/base/log.hpp"
#include "store/cluster.hpp"

namespace nightgate::store {
namespace {

const fs::path clusters_of_root = "/var/lib/nightgate-clusters";

unsigned owner_of(const ClusterUser& user) { return user.ids ? user.ids->first : ::geteuid(); }

// A directory that only `user` (and root) can enter; refused when it is there and somebody else's.
Status private_directory(const fs::path& path, const ClusterUser& user) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    if (user.ids && ::chown(path.c_str(), user.ids->first, user.ids->second) != 0) {
      return fail(Code::io,
                  fmt::format("{} can't be given to user {}: {}", path.string(), user.name, errno_text(errno)));
    }
    return {};
  }
  if (errno != EEXIST) return fail(Code::io, fmt::format("{} can't be made: {}", path.string(), errno_text(errno)));
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != owner_of(user) ||
      (found.st_mode & 0077U) != 0) {
    return fail(Code::io, fmt::format("{} is not a private directory of user {}: remove it, or choose another state "
                                      "directory",
                                      path.string(), user.name));
  }
  return {};
}

bool gone_from_temporary(const fs::path& state) {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  const auto below = [&](const fs::path& root) {
    return !root.empty() && state.string().starts_with(root.string() + "/");
  };
  return (below(temporary) || below("/tmp") || below("/var/tmp")) && !fs::exists(state, error) && !error;
}

// Clusters of temporary state directories that were deleted since. Others' data is never touched.
void remove_orphans() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(clusters_of_root, error)) {
    const auto state = read_file(entry.path() / "state", 4096);
    if (!state || !gone_from_temporary(*state) || fs::exists(entry.path() / "data" / "postmaster.pid", error)) continue;
    log::debug("removing the cluster of a deleted temporary state directory: " + *state);
    fs::remove_all(entry.path(), error);
  }
}

// <state>/postgres as a link to a directory of the server's user.
Result<fs::path> base_for_root(const fs::path& state, const ClusterUser& user) {
  const fs::path link = state / "postgres";
  std::error_code error;
  if (fs::is_symlink(link, error)) return fs::read_symlink(link, error);
  if (::mkdir(clusters_of_root.c_str(), 0711) != 0 && errno != EEXIST) {
    return fail(Code::io, fmt::format("{} can't be made: {}", clusters_of_root.string(), errno_text(errno)));
  }
  remove_orphans();
  const fs::path base = clusters_of_root / make_uuid().substr(0, 13);
  NG_CHECK(private_directory(base, user));
  NG_CHECK(write_file(base / "state", state.string(), 0600));
  fs::create_directory_symlink(base, link, error);
  if (error) return fail(Code::io, fmt::format("{} can't be made: {}", link.string(), error.message()));
  return base;
}

}  // namespace

ClusterUser cluster_user() {
  if (::geteuid() != 0) {
    const passwd* self = ::getpwuid(::geteuid());
    return {self != nullptr ? self->pw_name : std::to_string(::geteuid()), std::nullopt};
  }
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* user = ::getpwnam(name)) return {name, std::pair{user->pw_uid, user->pw_gid}};
  }
  return {"nobody", std::pair{65534U, 65534U}};
}

Result<Place> prepare_place(const fs::path& state) {
  std::error_code error;
  const fs::path absolute = fs::absolute(state, error).lexically_normal();
  NG_CHECK(make_directories(absolute, /*is_private=*/true));
  Place place;
  place.user = cluster_user();
  if (place.user.ids) {
    NG_TRY(place.base, base_for_root(absolute, place.user));
  } else {
    place.base = absolute / "postgres";
  }
  NG_CHECK(private_directory(place.base, place.user));
  place.data = place.base / "data";
  place.socket = place.base / "socket";
  if (place.socket.string().size() > longest_socket_directory) {
    place.socket = fmt::format("/tmp/nightgate-{}-{}", ::geteuid(), sha256_hex(place.base.string()).substr(0, 16));
  }
  NG_CHECK(private_directory(place.socket, place.user));
  return place;
}

}  // namespace nightgate::store
