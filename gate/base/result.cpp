#include "gate/base/result.hpp"

#include <system_error>

namespace nightgate {

std::string Error::text() const {
  std::string out = message;
  if (context.empty()) return out;
  out += " (";
  for (std::size_t i = 0; i < context.size(); ++i) {
    if (i != 0) out += ", ";
    out += "while " + context[i];
  }
  return out + ")";
}

tl::unexpected<Error> with_context(Error error, std::string doing) {
  error.context.push_back(std::move(doing));
  return tl::unexpected<Error>(std::move(error));
}

int exit_code(Code code) {
  switch (code) {
    case Code::usage:
    case Code::not_found:
    case Code::bad_data:
      return 2;
    case Code::measure:
    case Code::busy:
    case Code::away:
    case Code::denied:
    case Code::io:
      return 3;
    case Code::no_verdict:
      return 4;
    case Code::internal:
      return 5;
  }
  return 5;
}

std::string errno_text(int error_number) { return std::generic_category().message(error_number); }

}  // namespace nightgate
