// Value or error, the one error policy of nightgate.
//
// Three tiers: leaf functions return Result<T>; callers in the middle add context ("while ..."); only the verb turns an
// error into text and an exit code. A message says what was tried, what came back and what to do next, and never holds
// a secret. tl::expected stays behind this alias so that std::expected can replace it.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace nightgate {

// What kind of failure it is; decides the exit code at the top (see exit_code()).
enum class Code {
  usage,       // wrong command line, config, or an impossible request (exit 2)
  measure,     // could not measure: engine, machine, broker, load (exit 3)
  no_verdict,  // not enough evidence, or the history could not be read (exit 4)
  busy,        // somebody else holds the lock; trying later may work (exit 3)
  not_found,   // the thing asked for does not exist; callers often expect it (exit 2)
  away,        // a service did not answer or answered that it can't; retrying may help (exit 3)
  denied,      // credentials missing or refused; retrying does not help (exit 3)
  io,          // file system and operating system (exit 3)
  bad_data,    // data from outside is not what its format says (exit 2)
  internal,    // a bug of ours (exit 5)
};

struct Error {
  Code code = Code::internal;
  std::string message;
  std::vector<std::string> context;  // innermost first

  // "message (while reading x, while starting y)".
  [[nodiscard]] std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}});
}
// The same error, with what was being done added.
[[nodiscard]] tl::unexpected<Error> with_context(Error error, std::string doing);

// The exit code that an error of this kind ends the program with (table in the README).
[[nodiscard]] int exit_code(Code code);

// "strerror text (ENOENT)"-like sentence for an errno value.
[[nodiscard]] std::string errno_text(int error_number);

}  // namespace nightgate

#define NG_CONCAT_INNER(a, b) a##b
#define NG_CONCAT(a, b) NG_CONCAT_INNER(a, b)

// NG_TRY(auto x, expression): x is the value, or the enclosing function returns the error.
#define NG_TRY(declaration, ...) NG_TRY_IMPL(NG_CONCAT(ng_result_, __LINE__), declaration, __VA_ARGS__)
#define NG_TRY_IMPL(name, declaration, ...)                                      \
  auto name = (__VA_ARGS__);                                                     \
  if (!name) return tl::unexpected<::nightgate::Error>(std::move(name).error()); \
  declaration = std::move(*name)

// NG_CHECK(expression): for Status, and for a Result whose value does not matter.
#define NG_CHECK(...)                                                                        \
  do {                                                                                       \
    auto ng_status = (__VA_ARGS__);                                                          \
    if (!ng_status) return tl::unexpected<::nightgate::Error>(std::move(ng_status).error()); \
  } while (false)
