// The private PostgreSQL cluster of a state directory: made when needed, started on demand, shared by every nightgate
// process that uses the state directory, stopped by the last one. Unix socket only, in a directory that nobody else
// can enter; no password is needed inside it. Inside the room.
//
// Where it lives: <state>/postgres. PostgreSQL refuses to run as root, and its user could not enter root's private
// state directory; so for root that name is a link to a directory of PostgreSQL's user under
// /var/lib/nightgate-clusters.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/base/files.hpp"
#include "gate/base/process.hpp"
#include "gate/base/result.hpp"

namespace nightgate::store {

struct Programs {  // one installed PostgreSQL server
  fs::path bin;
  int major = 0;
};
// Every server installation found (PATH, pg_config, the usual directories), newest first.
[[nodiscard]] std::vector<Programs> installed_servers();
// The installation of that major version, or the newest for 0. Code::measure naming the package when there is none.
[[nodiscard]] Result<Programs> find_server(int major = 0);

// Who runs the server: nobody special (ourselves) unless we are root.
struct ClusterUser {
  std::string name;
  std::optional<std::pair<unsigned, unsigned>> ids;  // uid, gid to change to
};
[[nodiscard]] ClusterUser cluster_user();

struct Place {
  fs::path base;    // holds the rest; owned by the server's user
  fs::path data;    // PGDATA
  fs::path socket;  // directory of the socket
  ClusterUser user;
};
// Finds or makes the directories. Code::io when one of them belongs to somebody else.
[[nodiscard]] Result<Place> prepare_place(const fs::path& state);
// Longest directory whose socket still fits into a sockaddr_un.
inline constexpr std::size_t longest_socket_directory = 107 - sizeof("/.s.PGSQL.5432") + 1;

class Cluster {
 public:
  // The cluster of a state directory, running. Errors as in open().
  [[nodiscard]] static Result<std::shared_ptr<Cluster>> use(const fs::path& state);
  // Stops the server when nobody else uses it.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Starts it again when it was killed; waits while it recovers.
  [[nodiscard]] Status ensure_running();
  // Connection string to one of its databases.
  [[nodiscard]] std::string connection_string(std::string_view database = "nightgate") const;
  // A command line of one of its programs, run as its user.
  [[nodiscard]] Command program(const std::string& name, std::vector<std::string> arguments) const;
  [[nodiscard]] const Place& place() const { return place_; }

 private:
  Cluster(Place place, Programs programs) : place_(std::move(place)), programs_(std::move(programs)) {}
  [[nodiscard]] Status initialise();
  [[nodiscard]] Status start();
  [[nodiscard]] Status settings() const;
  [[nodiscard]] Status wait_until_up(std::chrono::seconds patience);
  [[nodiscard]] bool answers() const;
  void stop();

  Place place_;
  Programs programs_;
  Fd users_;  // shared flock while in use
};

// A value for a libpq connection string, quoted.
[[nodiscard]] std::string quote_word(std::string_view value);

}  // namespace nightgate::store
