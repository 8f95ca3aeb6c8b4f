// One libpq connection: typed parameters only, results that free themselves, transactions that are run again once when
// the server went away under them. Inside the room; the rest of the program sees store.hpp.
#pragma once

#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/base/result.hpp"
#include "store/open.hpp"

namespace nightgate::store {

// The parameters of one statement, in the order $1, $2 ... Texts are made valid UTF-8 (outside text may be anything).
class Params {
 public:
  Params& text(std::string_view value);
  Params& integer(std::int64_t value);  // bigint
  Params& integer_or_null(const std::optional<std::int64_t>& value);
  Params& number(double value);  // double precision; NULL when not finite
  Params& boolean(bool value);
  Params& time(Instant value);
  Params& time_or_null(const std::optional<Instant>& value);
  Params& json(std::string_view document);  // jsonb; NULL when empty
  Params& texts(const std::vector<std::string>& values);
  Params& integers(const std::vector<std::int64_t>& values);
  Params& numbers(const std::vector<double>& values);  // NULL elements where not finite
  Params& booleans(const std::vector<bool>& values);

  [[nodiscard]] int size() const { return static_cast<int>(values_.size()); }
  [[nodiscard]] const std::vector<Oid>& types() const { return types_; }
  [[nodiscard]] std::vector<const char*> pointers() const;

 private:
  Params& add(Oid type, std::optional<std::string> value);
  std::vector<Oid> types_;
  std::vector<std::optional<std::string>> values_;
};

// Rows of an answer. Columns are asked for by number; a value of another type than asked for reads as zero or empty,
// which only a wrong statement of ours can cause.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, &PQclear) {}
  [[nodiscard]] int size() const { return PQntuples(result_.get()); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  [[nodiscard]] std::string text(int row, int column) const;  // NULL: empty
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] int small(int row, int column) const { return static_cast<int>(integer(row, column)); }
  [[nodiscard]] double number(int row, int column) const;  // NULL: NaN
  [[nodiscard]] bool boolean(int row, int column) const;
  [[nodiscard]] Instant time(int row, int column) const;  // selected through micros(...)
  [[nodiscard]] std::optional<Instant> time_or_null(int row, int column) const;
  [[nodiscard]] std::optional<std::int64_t> integer_or_null(int row, int column) const;
  [[nodiscard]] std::int64_t affected() const;  // rows changed

 private:
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

// SQL text that selects a timestamptz as microseconds since 1970.
[[nodiscard]] std::string micros(std::string_view column);

class Connection {
 public:
  // Connects, sets time-outs and the schema's search path. Errors as in open().
  // `before` is called before every connecting (the private cluster is started again when it was killed).
  [[nodiscard]] static Result<std::unique_ptr<Connection>> connect(const OpenOptions& options,
                                                                   std::function<Status()> before = {});

  [[nodiscard]] Result<Rows> run(const std::string& sql, const Params& params = {});
  // Several statements without parameters (a migration).
  [[nodiscard]] Status script(const std::string& sql);
  // BEGIN, `work`, COMMIT. When the connection breaks anywhere in it, connects again and runs `work` once more: all
  // work of this room is idempotent, so a commit whose answer was lost does no harm.
  [[nodiscard]] Status transaction(const std::function<Status()>& work);
  // The same for work that gives a value.
  template <class Work>
  [[nodiscard]] auto in_transaction(Work work) -> decltype(work()) {
    decltype(work()) out = fail(Code::internal, "no transaction was run");
    Status done = transaction([&]() -> Status {
      out = work();
      if (!out) return tl::unexpected(out.error());
      return {};
    });
    if (!done) return tl::unexpected(std::move(done).error());
    return out;
  }
  [[nodiscard]] bool broken() const { return PQstatus(handle_.get()) != CONNECTION_OK; }
  [[nodiscard]] PGconn* handle() { return handle_.get(); }
  [[nodiscard]] const OpenOptions& options() const { return options_; }

 private:
  explicit Connection(OpenOptions options) : options_(std::move(options)), handle_(nullptr, &PQfinish) {}
  [[nodiscard]] Status open();
  [[nodiscard]] Status open_once();
  [[nodiscard]] Status once(const std::function<Status()>& work);
  [[nodiscard]] Result<Rows> check(PGresult* result, std::string_view what);
  OpenOptions options_;
  std::function<Status()> before_;
  std::unique_ptr<PGconn, void (*)(PGconn*)> handle_;
  bool in_transaction_ = false;
};

// The kind of an error by its SQLSTATE (five characters, or empty when there is none).
[[nodiscard]] Code code_of_sqlstate(std::string_view sqlstate);
// Valid UTF-8 without NUL: every other byte becomes U+FFFD.
[[nodiscard]] std::string clean_utf8(std::string_view text);

}  // namespace nightgate::store
