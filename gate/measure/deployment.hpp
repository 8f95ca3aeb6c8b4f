// A deployment while it runs: services and brokers started fresh, ready, checked and set up.
#pragma once

#include <memory>
#include <vector>

#include "gate/base/clock.hpp"
#include "gate/base/http.hpp"
#include "gate/measure/calls.hpp"
#include "gate/measure/left_overs.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/measure/names.hpp"
#include "gate/measure/node.hpp"
#include "gate/measure/placement.hpp"

namespace nightgate::measure {

// Borrowed by everything that runs during a start; must outlive it.
struct Surroundings {
  const config::Config& config;
  Clock& clock;
  targets::Engine* engine = nullptr;  // null: plain processes
  const Placement& placement;
  const StopFlag& stop;
  [[nodiscard]] bool stopped() const { return stop && stop(); }
};

// Destroying it stops everything, brokers first. Not thread-safe.
class RunningDeployment {
 public:
  // Services in order, then brokers from the last to the first (the first one may talk to those behind it), then the
  // set-up calls of all in the config's order. Errors are Code::measure with the log's last lines.
  [[nodiscard]] static Result<std::unique_ptr<RunningDeployment>> start(const Surroundings& around,
                                                                        const targets::Target& target,
                                                                        const config::Deployment& deployment);
  RunningDeployment(const RunningDeployment&) = delete;
  RunningDeployment& operator=(const RunningDeployment&) = delete;
  ~RunningDeployment();

  [[nodiscard]] const config::Deployment& config() const { return deployment_; }
  [[nodiscard]] const Names& names() const { return names_; }
  [[nodiscard]] HttpClient& http() { return *http_; }
  [[nodiscard]] const fs::path& directory() const { return record_.directory(); }  // of this start
  [[nodiscard]] RunRecord& record() { return record_; }
  [[nodiscard]] std::vector<RunningNode>& nodes() { return nodes_; }
  // The one that gets the load; null in command-only projects.
  [[nodiscard]] const config::Node* first_broker() const;
  // Its node; null when it does not run.
  [[nodiscard]] const RunningNode* first_broker_node() const;
  // Options of requests to the first broker.
  [[nodiscard]] CallOptions call_options() const;

  // Everybody still runs and listens, on the same sockets as when it was found ready.
  [[nodiscard]] Status alive();
  // The same, cheap enough for several times a second.
  [[nodiscard]] Status seems_alive();
  // Empties the store: the services' reset commands where there are any, else everything is stopped and started again.
  [[nodiscard]] Status empty_store();
  // The reset commands leave the processes running, so that a warm-up before them lasts.
  [[nodiscard]] bool has_reset() const;
  [[nodiscard]] std::string log_tail() const;  // the first broker's, else the last service's

 private:
  RunningDeployment(const Surroundings& around, const targets::Target& target, const config::Deployment& deployment,
                    RunRecord record);
  [[nodiscard]] Status start_all();
  [[nodiscard]] Status start_one(const config::Node& node, Role role);
  [[nodiscard]] Status set_up();
  void stop_all();

  Surroundings around_;
  const targets::Target& target_;
  const config::Deployment& deployment_;
  std::unique_ptr<HttpClient> http_;
  RunRecord record_;  // outlives the nodes: they write their logs into its directory
  Names names_;
  std::vector<RunningNode> nodes_;  // in the order of starting
};

}  // namespace nightgate::measure
