#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client.hpp"
#include "handlers.hpp"
#include "http.hpp"
#include "store.hpp"

namespace {

struct Arguments {
  broker::ServerOptions server;
  std::string forward;
  std::string data;
};

int usage() {
  std::fputs(
      "usage: broker [--port N] [--host ADDRESS] [--threads N] [--forward http://ADDRESS:PORT] [--data DIR]\n"
      "An HTTP store of entities: POST, GET and DELETE /entities, GET, PATCH and DELETE /entities/ID,\n"
      "POST /batch, GET /count, /version and /metrics. In memory, unless --data names a directory.\n",
      stderr);
  return 2;
}

bool read_arguments(int argc, char** argv, Arguments& arguments) {
  if (argc % 2 == 0) return false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--port") {
      arguments.server.port = std::atoi(value);
    } else if (name == "--host") {
      arguments.server.host = value;
    } else if (name == "--threads") {
      arguments.server.threads = std::atoi(value);
    } else if (name == "--forward") {
      arguments.forward = value;
    } else if (name == "--data") {
      arguments.data = value;
    } else {
      return false;
    }
  }
  const broker::ServerOptions& server = arguments.server;
  return server.port >= 0 && server.port < 65536 && server.threads >= 1 && server.threads <= 256;
}

int run(const Arguments& arguments) {
  std::string error;
  broker::Store store;
  if (!arguments.data.empty() && !store.open(arguments.data, error)) {
    std::fprintf(stderr, "broker: %s\n", error.c_str());
    return 1;
  }
  std::unique_ptr<broker::Next> next;
  if (!arguments.forward.empty()) {
    next = broker::Next::make(arguments.forward, error);
    if (next == nullptr) {
      std::fprintf(stderr, "broker: %s\n", error.c_str());
      return 2;
    }
  }
  const auto handlers = broker::make_handlers(store, next.get());
  return broker::serve(arguments.server, *handlers);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  return read_arguments(argc, argv, arguments) ? run(arguments) : usage();
}
