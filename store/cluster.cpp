#include "store/cluster.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sys/file.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <thread>

#include "gate/base/log.hpp"

namespace nightgate::store {
namespace {

using namespace std::chrono_literals;

Result<Fd> open_lock_file(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(Code::io, fmt::format("{} can't be opened: {}", path.string(), errno_text(errno)));
  return fd;
}

// Whoever starts or stops the server holds this, so that the two never cross.
Result<Fd> lock_changes(const Place& place) {
  NG_TRY(Fd fd, open_lock_file(place.base / "change.lock"));
  const auto give_up = std::chrono::steady_clock::now() + 120s;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(Code::io,
                  fmt::format("{} can't be locked: {}", (place.base / "change.lock").string(), errno_text(errno)));
    }
    if (std::chrono::steady_clock::now() > give_up) {
      return fail(Code::busy, fmt::format("another process has been starting or stopping the private PostgreSQL in {} "
                                          "for two minutes",
                                          place.base.string()));
    }
    std::this_thread::sleep_for(20ms);
  }
  return fd;
}

// pid in the first line of postmaster.pid; 0 when there is none.
pid_t postmaster_pid(const fs::path& data) {
  const auto text = read_file(data / "postmaster.pid", 4096);
  pid_t pid = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), pid);
  return pid;
}

// Is this process a PostgreSQL that works in that data directory? (Every server process has it as working directory.)
bool serves(const fs::path& process, const fs::path& data) {
  std::error_code error;
  const fs::path where = fs::read_symlink(process / "cwd", error);
  if (error || where != data) return false;
  const fs::path program = fs::read_symlink(process / "exe", error);
  return !error && program.filename().string().starts_with("postgres");
}

bool any_server_process(const fs::path& data) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    if (std::isdigit(static_cast<unsigned char>(entry.path().filename().string().front())) == 0) continue;
    if (serves(entry.path(), data)) return true;
  }
  return false;
}

// A pid file left by a killed server whose number belongs to another program now would keep PostgreSQL from starting.
// (That the old number is free, PostgreSQL finds out by itself, together with left-over shared memory.)
void remove_misleading_pid_file(const fs::path& data) {
  const pid_t pid = postmaster_pid(data);
  if (pid <= 0 || ::kill(pid, 0) != 0 || any_server_process(data)) return;
  log::debug("postmaster.pid names a process that isn't PostgreSQL's; removing it");
  std::error_code error;
  fs::remove(data / "postmaster.pid", error);
}

std::string conf_quote(const std::string& value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') out += c;
    out += c;
  }
  return out + "'";
}

}  // namespace

std::string quote_word(std::string_view value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string Cluster::connection_string(std::string_view database) const {
  return fmt::format("host={} port=5432 user=nightgate dbname={}", quote_word(place_.socket.string()),
                     quote_word(database));
}

Command Cluster::program(const std::string& name, std::vector<std::string> arguments) const {
  Command command;
  command.argv = std::move(arguments);
  command.argv.insert(command.argv.begin(), (programs_.bin / name).string());
  command.environment = {{"LC_ALL", "C"}, {"PGDATA", ""}};
  command.directory = place_.base;  // so that relative names do, however odd the way to them is spelled
  command.user = place_.user.ids;
  return command;
}

Status Cluster::settings() const {
  // Small, durable, and quiet between the CHECKPOINTs that a measurement asks for.
  const std::string text = fmt::format(
      "listen_addresses = ''\nport = 5432\nunix_socket_directories = {}\nunix_socket_permissions = 0700\n"
      "cluster_name = 'nightgate'\nmax_connections = 40\nshared_buffers = '32MB'\nhuge_pages = off\njit = off\n"
      "max_parallel_workers_per_gather = 0\nwal_level = minimal\nmax_wal_senders = 0\nmax_wal_size = '512MB'\n"
      "min_wal_size = '64MB'\ncheckpoint_timeout = '30min'\nsynchronous_commit = on\nfsync = on\nautovacuum = on\n"
      "autovacuum_naptime = '5min'\nlogging_collector = off\nlog_min_messages = warning\nlog_timezone = 'UTC'\n"
      "timezone = 'UTC'\npassword_encryption = 'scram-sha-256'\n",
      conf_quote(place_.socket.string()));
  return write_file(place_.data / "nightgate.conf", text, 0644);
}

Status Cluster::initialise() {
  std::error_code error;
  if (fs::exists(place_.data / "PG_VERSION", error)) return {};
  log::notice("making the private PostgreSQL cluster in " + place_.base.string());
  fs::remove_all(place_.base / "data.new", error);  // left by an initdb that was killed
  const auto made = run(program("initdb", {"-D", "data.new", "-U", "nightgate", "-A", "trust", "-E", "UTF8",
                                           "--no-locale", "--data-checksums"}),
                        300s);
  if (!made) return tl::unexpected(made.error());
  if (!made->ok()) {
    return fail(Code::measure, fmt::format("initdb could not make the private cluster in {}: {}: {}",
                                           place_.base.string(), ending_text(made->ending), made->err));
  }
  const fs::path fresh = place_.base / "data.new";
  NG_TRY(const std::string conf, read_file(fresh / "postgresql.conf"));
  NG_CHECK(write_file(fresh / "postgresql.conf", conf + "\ninclude 'nightgate.conf'\n", 0644));
  fs::rename(fresh, place_.data, error);
  if (error) return fail(Code::io, fmt::format("{} can't be renamed: {}", fresh.string(), error.message()));
  return {};
}

bool Cluster::answers() const {
  const std::string where = connection_string("postgres");
  const char* keys[] = {"dbname", "connect_timeout", nullptr};
  const char* values[] = {where.c_str(), "5", nullptr};
  return PQpingParams(keys, values, 1) == PQPING_OK;
}

Status Cluster::wait_until_up(std::chrono::seconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!answers()) {
    if (std::chrono::steady_clock::now() > give_up) {
      return fail(Code::away, fmt::format("the private PostgreSQL in {} does not answer; its log ends with: {}",
                                          place_.base.string(), tail_of(place_.base / "log", 5)));
    }
    if (!any_server_process(place_.data)) return fail(Code::away, "it is not running");
    std::this_thread::sleep_for(50ms);
  }
  return {};
}

Status Cluster::start() {
  if (answers()) return {};
  // Up but not answering: starting, recovering or being shut down by somebody.
  if (any_server_process(place_.data) && wait_until_up(300s)) return {};
  NG_CHECK(settings());
  std::string said;
  for (int attempt = 0; attempt < 5; ++attempt) {
    remove_misleading_pid_file(place_.data);
    std::error_code error;
    if (fs::file_size(place_.base / "log", error) > (1U << 20U) && !error) fs::remove(place_.base / "log", error);
    const auto started = run(program("pg_ctl", {"-D", "data", "-l", "log", "-w", "-t", "300", "start"}), 310s);
    if (!started) return tl::unexpected(started.error());
    if (started->ok() || answers()) return {};
    said = tail_of(place_.base / "log", 5);
    std::this_thread::sleep_for(500ms);  // children of a killed server may still be ending
  }
  return fail(Code::away, fmt::format("the private PostgreSQL in {} does not start; its log ends with: {}",
                                      place_.base.string(), said));
}

Status Cluster::ensure_running() {
  if (answers()) return {};
  NG_TRY(const Fd changing, lock_changes(place_));
  static_cast<void>(changing);
  return start();
}

void Cluster::stop() {
  if (!any_server_process(place_.data)) return;  // killed by somebody
  const auto stopped = run(program("pg_ctl", {"-D", "data", "-m", "fast", "-w", "-t", "180", "stop"}), 190s);
  if (!stopped || !stopped->ok()) {
    const std::string why = !stopped ? stopped.error().message : ending_text(stopped->ending) + ": " + stopped->err;
    log::warning("the private PostgreSQL in " + place_.base.string() + " could not be stopped; the next run uses it (" +
                 why + ")");
  }
}

Result<std::shared_ptr<Cluster>> Cluster::use(const fs::path& state) {
  NG_TRY(Place place, prepare_place(state));
  int major = 0;
  if (const auto version = read_file(place.data / "PG_VERSION", 64)) {
    std::from_chars(version->data(), version->data() + version->size(), major);
  }
  NG_TRY(Programs programs, find_server(major));
  std::shared_ptr<Cluster> cluster(new Cluster(std::move(place), std::move(programs)));
  NG_TRY(const Fd changing, lock_changes(cluster->place_));
  static_cast<void>(changing);
  NG_TRY(Fd users, open_lock_file(cluster->place_.base / "users.lock"));
  if (::flock(users.get(), LOCK_SH) != 0) return fail(Code::io, "users.lock: " + errno_text(errno));
  cluster->users_ = std::move(users);
  NG_CHECK(cluster->initialise());
  NG_CHECK(cluster->start());
  return cluster;
}

Cluster::~Cluster() {
  if (!users_) return;
  const auto changing = lock_changes(place_);
  // Ours and alone: nobody else holds it shared.
  if (changing && ::flock(users_.get(), LOCK_EX | LOCK_NB) == 0) stop();
}

}  // namespace nightgate::store
