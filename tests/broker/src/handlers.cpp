#include "handlers.hpp"

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "client.hpp"
#include "entity.hpp"
#include "store.hpp"
#include "version.hpp"

namespace broker {
namespace {

constexpr std::string_view kEntities = "/entities";
constexpr std::size_t kDefaultLimit = 20;

void fail(Response& response, int status, std::string_view text) {
  response.status = status;
  response.body = entity::error_text(text);
}

std::size_t number(std::string_view text, std::size_t otherwise) {
  return text.empty() ? otherwise : std::strtoul(std::string(text).c_str(), nullptr, 10);
}

class Handlers final : public Handler {
 public:
  Handlers(Store& store, Next* next) : store_(store), next_(next) {}

  void answer(const Request& request, Response& response) override {
    requests_.fetch_add(1, std::memory_order_relaxed);
    route(request, response);
    if (next_ != nullptr) pass_on(request, response);
  }

 private:
  void route(const Request& request, Response& response) {
    const std::string_view path = request.path;
    if (path == kEntities) return collection(request, response);
    if (path.substr(0, kEntities.size()) == kEntities && path.size() > kEntities.size() + 1 &&
        path[kEntities.size()] == '/') {
      return single(request, std::string(path.substr(kEntities.size() + 1)), response);
    }
    if (path == "/batch" && request.method == "POST") return batch(request, response);
    if (path == "/count" && request.method == "GET") return count(response);
    if (path == "/version" && request.method == "GET") return version(response);
    if (path == "/metrics" && request.method == "GET") return metrics(response);
    fail(response, 404, "no such path");
  }

  void collection(const Request& request, Response& response) {
    if (request.method == "POST") return create(request, response);
    if (request.method == "GET") return query(request, response);
    if (request.method == "DELETE") return clear(response);
    fail(response, 405, "use GET, POST or DELETE");
  }

  void single(const Request& request, const std::string& id, Response& response) {
    if (request.method == "GET") return retrieve(id, response);
    if (request.method == "PATCH") return patch(request, id, response);
    if (request.method == "DELETE") return erase(id, response);
    fail(response, 405, "use GET, PATCH or DELETE");
  }

  void create(const Request& request, Response& response) {
    entity::Checked made = entity::check(request.body);
    if (!made.error.empty()) return fail(response, 400, made.error);
    if (!store_.insert(made.id, made.type, std::move(made.text))) return fail(response, 409, "the id exists");
    response.status = 201;
  }

  bool retrieve_text(const std::string& id, std::string& text) const {
    std::string stored;
    if (!store_.find(id, stored)) return false;
    text = entity::represent(stored);
    return true;
  }

  void retrieve(const std::string& id, Response& response) const {
    if (!retrieve_text(id, response.body)) fail(response, 404, "no such entity");
  }

  void query(const Request& request, Response& response) const {
    const std::size_t limit = number(query_value(request.query, "limit"), kDefaultLimit);
    const std::vector<std::string> found = store_.query(0, limit, {});
    response.body = "[";
    for (const std::string& stored : found) {
      if (response.body.size() > 1) response.body += ',';
      response.body += entity::represent(stored);
    }
    response.body += ']';
    response.headers = "X-Total-Count: " + std::to_string(store_.count()) + "\r\n";
  }

  void patch(const Request& request, const std::string& id, Response& response) {
    std::string stored;
    if (!store_.find(id, stored)) return fail(response, 404, "no such entity");
    entity::Checked made = entity::patched(stored, request.body);
    if (!made.error.empty()) return fail(response, 400, made.error);
    store_.replace(id, std::move(made.text));
    response.status = 204;
  }

  void erase(const std::string& id, Response& response) {
    if (!store_.erase(id)) return fail(response, 404, "no such entity");
    response.status = 204;
  }

  void clear(Response& response) {
    store_.clear();
    response.status = 204;
  }

  void batch(const Request& request, Response& response) {
    std::vector<entity::Checked> all = entity::check_batch(request.body);
    for (const entity::Checked& made : all) {
      if (!made.error.empty()) return fail(response, 400, made.error);
    }
    std::size_t created = 0;
    for (entity::Checked& made : all) {
      if (store_.insert(made.id, made.type, std::move(made.text))) ++created;
    }
    if (created < all.size()) return fail(response, 409, "some ids exist; the others were created");
    response.status = 201;
    response.body = "{\"created\":" + std::to_string(created) + "}";
  }

  void count(Response& response) const { response.body = "{\"count\":" + std::to_string(store_.count()) + "}"; }

  void version(Response& response) const {
    response.body = std::string("{\"build\":\"") + kBuild + "\",\"commit\":\"" + kCommit + "\"}";
  }

  void metrics(Response& response) const {
    response.content_type = "text/plain; version=0.0.4";
    response.body = "# TYPE broker_requests_total counter\nbroker_requests_total " + std::to_string(requests_.load()) +
                    "\n# TYPE broker_entities gauge\nbroker_entities " + std::to_string(store_.count()) + "\n";
  }

  // In a chain every change goes on to the next broker, and what is not found here is asked for there.
  void pass_on(const Request& request, Response& response) {
    const bool is_read = request.method == "GET" || request.method == "HEAD";
    if (is_read ? response.status != 404 : response.status >= 300) return;
    Response further = next_->pass_on(request);
    if (is_read || further.status >= 300) response = std::move(further);
  }

  Store& store_;
  Next* next_;
  std::atomic<unsigned long> requests_{0};
};

}  // namespace

std::unique_ptr<Handler> make_handlers(Store& store, Next* next) { return std::make_unique<Handlers>(store, next); }

}  // namespace broker
