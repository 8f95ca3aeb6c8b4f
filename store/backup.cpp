#include "store/backup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/base/log.hpp"
#include "store/migrate.hpp"
#include "store/opening.hpp"

namespace nightgate::store {
namespace {

using Tables = std::map<std::string, TableSum>;
constexpr std::chrono::hours patience{4};

// Rows and checksum of every table of the schema, as this transaction sees them.
Result<Tables> sums(Connection& db) {
  Tables out;
  NG_TRY(auto names, db.run("SELECT table_name FROM information_schema.tables WHERE table_schema = 'nightgate' AND "
                            "table_type = 'BASE TABLE' ORDER BY 1"));
  for (int row = 0; row < names.size(); ++row) {
    const std::string name = names.text(row, 0);  // from our own migrations
    NG_TRY(auto sum, db.run("SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text FROM "
                            "nightgate.\"" +
                            name + "\" t"));
    out[name] = {sum.integer(0, 0), sum.text(0, 1)};
  }
  return out;
}

std::string difference(const Tables& wanted, const Tables& found) {
  std::string out;
  for (const auto& [name, sum] : wanted) {
    const auto there = found.find(name);
    if (there != found.end() && there->second == sum) continue;
    out += fmt::format("{}{}: {} rows wanted, {} found", out.empty() ? "" : "; ", name, sum.rows,
                       there == found.end() ? 0 : there->second.rows);
  }
  return out;
}

// A program of PostgreSQL against the opened store. For the private cluster it runs as that one's user.
Result<Command> program_for(const Opened& opened, const OpenOptions& options, const std::string& name,
                            std::vector<std::string> arguments) {
  if (opened.cluster) {
    arguments.push_back("--dbname=" + opened.cluster->connection_string());
    return opened.cluster->program(name, std::move(arguments));
  }
  Command command;
  if (const auto servers = installed_servers(); !servers.empty() && fs::exists(servers.front().bin / name)) {
    command.argv = {(servers.front().bin / name).string()};
  } else if (const auto found = find_program(name)) {
    command.argv = {found->string()};
  } else {
    return fail(Code::measure, name + " is not installed: install the package \"postgresql-client\"");
  }
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.argv.push_back("--dbname=" + options.where);
  if (!options.password.empty()) command.environment["PGPASSWORD"] = options.password;
  return command;
}

Status run_program(const Command& command, const std::string& doing) {
  NG_TRY(const Output output, run(command, patience));
  if (output.ok()) return {};
  return fail(Code::away, fmt::format("{} failed: {}: {}", doing, ending_text(output.ending), log::redact(output.err)));
}

// Where the program may write and read: for the private cluster its own directory, as its user may enter no other.
fs::path work_file(const Opened& opened, const fs::path& file) {
  return opened.cluster ? opened.cluster->place().base / ("transfer-" + make_uuid())
                        : fs::path(fs::absolute(file).string() + ".part");
}

Result<Tables> dump(const Opened& opened, const OpenOptions& options, const fs::path& into) {
  Connection& db = *opened.connection;
  return db.in_transaction([&]() -> Result<Tables> {
    // One snapshot for the figures and the dump; nightgate may go on writing meanwhile.
    NG_CHECK(
        db.script("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL statement_timeout = 0; "
                  "SET LOCAL idle_in_transaction_session_timeout = 0"));
    NG_TRY(auto snapshot, db.run("SELECT pg_export_snapshot()"));
    NG_TRY(const Command command, program_for(opened, options, "pg_dump",
                                              {"--format=custom", "--schema=nightgate", "--no-owner", "--no-privileges",
                                               "--snapshot=" + snapshot.text(0, 0), "--file=" + into.string()}));
    NG_CHECK(run_program(command, "pg_dump"));
    return sums(db);
  });
}

Result<Tables> load(const Opened& opened, const OpenOptions& options, const fs::path& from) {
  NG_TRY(const Command command,
         program_for(opened, options, "pg_restore",
                     {"--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"}));
  Command with_file = command;
  with_file.argv.push_back(from.string());
  NG_CHECK(run_program(with_file, "pg_restore"));
  NG_CHECK(opened.connection->script("SET statement_timeout = 0"));
  return sums(*opened.connection);
}

Status copy_file(const fs::path& from, const fs::path& to, const ClusterUser* owner) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error)
    return fail(Code::io, fmt::format("{} can't be copied to {}: {}", from.string(), to.string(), error.message()));
  if (owner != nullptr && owner->ids && ::chown(to.c_str(), owner->ids->first, owner->ids->second) != 0) {
    return fail(Code::io, fmt::format("{} can't be given to {}: {}", to.string(), owner->name, errno_text(errno)));
  }
  return {};
}

Result<Tables> restore_into(const OpenOptions& options, const fs::path& file) {
  NG_TRY(const Opened opened, open_connection(options));
  NG_TRY(const int version, schema_version(*opened.connection));
  if (version != 0) {
    return fail(Code::usage,
                "the store is not empty; a backup is restored into an empty one only: move the state "
                "directory's \"postgres\" aside, or name an empty database in \"store\"");
  }
  if (!opened.cluster) return load(opened, options, fs::absolute(file));
  const fs::path inside = work_file(opened, file);
  const Defer removed([&] {
    std::error_code error;
    fs::remove(inside, error);
  });
  NG_CHECK(copy_file(file, inside, &opened.cluster->place().user));
  return load(opened, options, inside);
}

Status verify(BackupReport& report, const fs::path& file) {
  if (const auto server = find_server(); !server) {
    report.note = "not verified: " + server.error().message;
    return {};
  }
  NG_TRY(const TempDir scratch, TempDir::make("nightgate-verify"));
  OpenOptions fresh;
  fresh.state = scratch.path();
  auto restored = restore_into(fresh, file);
  std::error_code error;
  fs::remove_all(fs::weakly_canonical(scratch.path() / "postgres", error), error);
  if (!restored) return with_context(std::move(restored).error(), "restoring the backup to verify it");
  if (const std::string differs = difference(report.tables, *restored); !differs.empty()) {
    return fail(Code::bad_data, "the backup does not restore to what was backed up: " + differs);
  }
  report.verified = true;
  return {};
}

Status write_sums(const BackupReport& report, int schema) {
  nlohmann::json tables = nlohmann::json::object();
  for (const auto& [name, sum] : report.tables) tables[name] = {{"rows", sum.rows}, {"checksum", sum.checksum}};
  const nlohmann::json document = {{"schema", "nightgate-backup/1"}, {"store_schema", schema}, {"tables", tables}};
  return write_file(report.file.string() + ".json", dump_json(document, 2) + "\n", 0600);
}

Result<Tables> read_sums(const fs::path& file) {
  NG_TRY(const std::string text, read_file(file.string() + ".json"));
  NG_TRY(const nlohmann::json document, parse_json(text));
  NG_TRY(const JsonReader tables, JsonReader(document, "$").child("tables"));
  Tables out;
  for (const auto& [name, table] : tables.members()) {
    TableSum& sum = out[name];
    NG_TRY(sum.rows, table.integer("rows", 0, std::numeric_limits<std::int64_t>::max()));
    NG_TRY(sum.checksum, table.string("checksum"));
  }
  return out;
}

}  // namespace

Result<BackupReport> backup(const OpenOptions& options, const fs::path& file) {
  std::error_code error;
  if (fs::exists(file, error)) return fail(Code::usage, file.string() + " exists; a backup overwrites nothing");
  BackupReport report;
  report.file = file;
  NG_TRY(const Opened opened, open_connection(options));
  NG_TRY(const int schema, schema_version(*opened.connection));
  if (schema == 0) return fail(Code::usage, "the store is empty: there is nothing to back up");
  const fs::path part = work_file(opened, file);
  const Defer removed([&] {
    std::error_code ignored;
    fs::remove(part, ignored);
  });
  NG_TRY(report.tables, dump(opened, options, part));
  NG_CHECK(verify(report, part));
  if (opened.cluster) {
    NG_CHECK(copy_file(part, file, nullptr));
  } else {
    fs::rename(part, file, error);
    if (error) return fail(Code::io, fmt::format("{} can't be renamed: {}", part.string(), error.message()));
  }
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, error);
  report.bytes = fs::file_size(file, error);
  NG_CHECK(write_sums(report, schema));
  return report;
}

Result<BackupReport> restore(const OpenOptions& options, const fs::path& file) {
  BackupReport report;
  report.file = file;
  std::error_code error;
  report.bytes = fs::file_size(file, error);
  if (error) return fail(Code::not_found, fmt::format("{} can't be read: {}", file.string(), error.message()));
  NG_TRY(report.tables, restore_into(options, file));
  const auto wanted = read_sums(file);
  if (!wanted) {
    report.note = "not compared: " + wanted.error().message;
    return report;
  }
  if (const std::string differs = difference(*wanted, report.tables); !differs.empty()) {
    return fail(Code::bad_data, "what was restored is not what was backed up: " + differs);
  }
  report.verified = true;
  return report;
}

}  // namespace nightgate::store
