// The next broker of a chain, spoken to over kept-alive connections.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "http.hpp"

namespace broker {

class Next {
 public:
  // `url` is http://ADDRESS:PORT with an IPv4 address. `error` says what is wrong with another one.
  static std::unique_ptr<Next> make(std::string_view url, std::string& error);
  virtual ~Next() = default;
  // The same request, sent on; its answer, or status 502 with a message. Blocks. From any thread.
  virtual Response pass_on(const Request& request) = 0;
};

}  // namespace broker
