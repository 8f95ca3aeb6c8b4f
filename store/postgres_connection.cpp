#include "store/postgres_connection.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "gate/base/log.hpp"

namespace nightgate::store {
namespace {

std::string trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string(": ") : std::string(1, c);
  return out;
}

void notice_to_log(void*, const char* message) { log::debug("postgresql: " + trimmed(message)); }

struct ConnectionWords {  // of the connection string, what decides how we connect
  bool several_hosts = false;
  bool session_attrs = false;
  bool password = false;
};

Result<ConnectionWords> parse_where(const std::string& where) {
  char* problem = nullptr;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> words(PQconninfoParse(where.c_str(), &problem),
                                                                             &PQconninfoFree);
  if (!words) {
    const std::string why = problem != nullptr ? trimmed(problem) : "out of memory";
    PQfreemem(problem);
    // libpq may quote the string, which may hold a password that should not be there.
    return fail(Code::usage, "the connection string of \"store\" can't be read: " + log::redact(why) +
                                 "; write it as \"host=.. dbname=.. user=..\" or \"postgresql://user@host/db\"");
  }
  ConnectionWords out;
  for (const PQconninfoOption* word = words.get(); word->keyword != nullptr; ++word) {
    if (word->val == nullptr) continue;
    const std::string_view key = word->keyword;
    const std::string_view value = word->val;
    if (key == "host" || key == "hostaddr") out.several_hosts |= value.find(',') != std::string_view::npos;
    if (key == "target_session_attrs") out.session_attrs = true;
    if (key == "password") out.password = true;
  }
  return out;
}

Code code_of_refusal(PGconn* handle, std::string_view message) {
  if (PQconnectionNeedsPassword(handle) != 0) return Code::denied;
  for (const std::string_view word : {"authentication failed", "no pg_hba.conf entry", "permission denied"}) {
    if (message.find(word) != std::string_view::npos) return Code::denied;
  }
  return message.find("does not exist") != std::string_view::npos ? Code::denied : Code::away;
}

// The server is there and says it will be ready soon (libpq gives no SQLSTATE for a refused connection).
bool is_passing(const Error& error) {
  for (const std::string_view word : {"is starting up", "in recovery mode", "is shutting down"}) {
    if (error.message.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Code code_of_sqlstate(std::string_view sqlstate) {
  const std::string_view kind = sqlstate.substr(0, 2);
  if (sqlstate.empty() || kind == "08" || kind == "53" || kind == "57" || kind == "58" || kind == "40") {
    return Code::away;
  }
  if (sqlstate == "25006" || sqlstate == "55P03" || sqlstate == "55000" || kind == "XX") return Code::away;
  if (kind == "28" || sqlstate == "42501") return Code::denied;
  if (sqlstate == "23503") return Code::not_found;
  if (kind == "22" || kind == "23") return Code::bad_data;
  if (sqlstate == "42P01" || sqlstate == "3F000" || sqlstate == "42703") return Code::usage;
  return Code::internal;
}

Result<std::unique_ptr<Connection>> Connection::connect(const OpenOptions& options, std::function<Status()> before) {
  std::unique_ptr<Connection> out(new Connection(options));
  out->before_ = std::move(before);
  if (!options.password.empty()) log::hide(options.password);
  NG_CHECK(out->open());
  return out;
}

Status Connection::open() {
  if (before_) NG_CHECK(before_());
  // Our own server recovers for as long as it takes; another one's is waited for as long as for an answer.
  const auto patience = before_ ? std::chrono::seconds(300) : options_.connect_timeout;
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (true) {
    Status opened = open_once();
    if (opened || !is_passing(opened.error()) || std::chrono::steady_clock::now() > give_up) return opened;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Status Connection::open_once() {
  NG_TRY(const ConnectionWords words, parse_where(options_.where));
  if (words.password) {
    return fail(Code::usage,
                "the connection string of \"store\" holds a password; take it out and name the variable that holds it "
                "in \"store_password_env\"");
  }
  const std::string timeout = std::to_string(options_.connect_timeout.count());
  std::vector<const char*> keys = {"dbname",          "client_encoding", "fallback_application_name",
                                   "connect_timeout", "keepalives_idle", "keepalives_interval",
                                   "keepalives_count"};
  std::vector<const char*> values = {options_.where.c_str(), "UTF8", "nightgate", timeout.c_str(), "30", "10", "3"};
  const auto add = [&](const char* key, const char* value) {
    keys.push_back(key);
    values.push_back(value);
  };
  if (!options_.password.empty()) add("password", options_.password.c_str());
  if (words.several_hosts && !words.session_attrs) add("target_session_attrs", "read-write");
  add(nullptr, nullptr);

  handle_.reset(PQconnectdbParams(keys.data(), values.data(), /*expand_dbname=*/1));
  in_transaction_ = false;
  if (!handle_) return fail(Code::away, "out of memory while connecting to PostgreSQL");
  PQsetNoticeProcessor(handle_.get(), &notice_to_log, nullptr);
  if (PQstatus(handle_.get()) != CONNECTION_OK) {
    const std::string why = trimmed(PQerrorMessage(handle_.get()));
    return fail(code_of_refusal(handle_.get(), why), "PostgreSQL can't be reached: " + log::redact(why) +
                                                         "; check \"store\" in the config and that the server is up");
  }
  Params params;
  params.text(std::to_string(options_.statement_timeout.count())).text(std::to_string(options_.lock_timeout.count()));
  auto set =
      run("SELECT set_config('search_path', 'nightgate', false), set_config('statement_timeout', $1, false), "
          "set_config('lock_timeout', $2, false), set_config('TimeZone', 'UTC', false), "
          "set_config('client_min_messages', 'warning', false), "
          "set_config('idle_in_transaction_session_timeout', '600000', false)",
          params);
  if (!set) return tl::unexpected(std::move(set).error());
  return {};
}

Result<Rows> Connection::check(PGresult* result, std::string_view what) {
  Rows rows(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) return rows;
  const char* field = result != nullptr ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  const std::string sqlstate = field != nullptr ? field : "";
  const char* primary = result != nullptr ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  std::string why = primary != nullptr ? trimmed(primary) : trimmed(PQerrorMessage(handle_.get()));
  Code code = broken() ? Code::away : code_of_sqlstate(sqlstate);
  std::string next;
  if (code == Code::usage) next = "; the schema isn't what this nightgate knows: run `nightgate store migrate`";
  if (code == Code::away) next = "; trying again later may help";
  if (!sqlstate.empty()) why += " (" + sqlstate + ")";
  return fail(code, fmt::format("PostgreSQL refused {}: {}{}", what, log::redact(why), next));
}

Result<Rows> Connection::run(const std::string& sql, const Params& params) {
  const auto values = params.pointers();
  PGresult* result = PQexecParams(handle_.get(), sql.c_str(), params.size(), params.types().data(), values.data(),
                                  nullptr, nullptr, /*resultFormat=*/0);
  return check(result, "\"" + sql.substr(0, 60) + "\"");
}

Status Connection::script(const std::string& sql) {
  auto done = check(PQexec(handle_.get(), sql.c_str()), "a script");
  if (!done) return tl::unexpected(std::move(done).error());
  return {};
}

Status Connection::once(const std::function<Status()>& work) {
  NG_CHECK(run("BEGIN"));
  in_transaction_ = true;
  Status done = work();
  in_transaction_ = false;
  if (done) {
    auto committed = run("COMMIT");
    if (committed) return {};
    done = tl::unexpected(std::move(committed).error());
  }
  if (!broken()) static_cast<void>(run("ROLLBACK"));
  return done;
}

Status Connection::transaction(const std::function<Status()>& work) {
  if (in_transaction_) return work();  // part of the one that is open
  if (!broken()) {
    Status done = once(work);
    if (done || !broken()) return done;
    log::debug("connection to PostgreSQL broke (" + done.error().message + "); connecting again");
  }
  NG_CHECK(open());
  return once(work);
}

}  // namespace nightgate::store
