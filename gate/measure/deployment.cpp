#include "gate/measure/deployment.hpp"

#include <algorithm>

#include "gate/measure/readiness.hpp"

namespace nightgate::measure {

RunningDeployment::RunningDeployment(const Surroundings& around, const targets::Target& target,
                                     const config::Deployment& deployment, RunRecord record)
    : around_(around),
      target_(target),
      deployment_(deployment),
      http_(make_http_client()),
      record_(std::move(record)),
      names_(names_of(around.config, deployment, target, around.placement, record_.directory())) {}

RunningDeployment::~RunningDeployment() { stop_all(); }

Result<std::unique_ptr<RunningDeployment>> RunningDeployment::start(const Surroundings& around,
                                                                    const targets::Target& target,
                                                                    const config::Deployment& deployment) {
  NG_TRY(auto record, RunRecord::make(around.config.state));
  std::unique_ptr<RunningDeployment> out(new RunningDeployment(around, target, deployment, std::move(record)));
  NG_CHECK(out->start_all());
  return out;
}

Status RunningDeployment::start_all() {
  if (around_.engine != nullptr) NG_CHECK(check_label(*around_.engine, target_));
  for (const auto& service : deployment_.services) NG_CHECK(start_one(service, Role::service));
  for (auto broker = deployment_.brokers.rbegin(); broker != deployment_.brokers.rend(); ++broker) {
    NG_CHECK(start_one(*broker, Role::broker));
  }
  return set_up();
}

Status RunningDeployment::start_one(const config::Node& node, Role role) {
  const NodeContext context{around_.config, around_.engine, target_, names_, record_};
  NG_TRY(auto started, RunningNode::start(node, role, around_.placement.of(node), context));
  nodes_.push_back(std::move(started));
  NG_CHECK(wait_ready(nodes_.back(), *http_, names_, around_.clock, around_.stop));
  if (role == Role::broker && node.image.empty()) return check_identity(node, *http_, names_, target_);
  return {};
}

Status RunningDeployment::set_up() {
  for (const auto* nodes : {&deployment_.services, &deployment_.brokers}) {
    for (const auto& node : *nodes) {
      for (const auto& call : node.setup) {
        if (auto done = expect_call(*http_, call, names_, options_for(node)); !done) {
          return with_context(std::move(done).error(), "setting up '" + node.name + "'");
        }
      }
    }
  }
  return {};
}

void RunningDeployment::stop_all() {
  while (!nodes_.empty()) {  // those started last first
    nodes_.back().stop();
    nodes_.pop_back();
  }
}

const config::Node* RunningDeployment::first_broker() const {
  return deployment_.brokers.empty() ? nullptr : &deployment_.brokers.front();
}

CallOptions RunningDeployment::call_options() const {
  const auto* broker = first_broker();
  return broker == nullptr ? CallOptions{} : options_for(*broker);
}

Status RunningDeployment::alive() {
  for (auto& node : nodes_) {
    NG_CHECK(node.alive());
    NG_CHECK(node.still_listens());
  }
  return {};
}

Status RunningDeployment::seems_alive() {
  for (auto& node : nodes_) {
    if (!node.looks_alive()) NG_CHECK(node.alive());
  }
  return {};
}

const RunningNode* RunningDeployment::first_broker_node() const {
  const auto* broker = first_broker();
  const auto it = std::ranges::find_if(nodes_, [&](const RunningNode& node) { return &node.node() == broker; });
  return it == nodes_.end() ? nullptr : &*it;
}

bool RunningDeployment::has_reset() const {
  return std::ranges::any_of(deployment_.services, [](const config::Node& node) { return !node.reset.empty(); });
}

Status RunningDeployment::empty_store() {
  if (!has_reset()) {
    stop_all();
    http_ = make_http_client();  // its connections belong to the processes that are gone
    return start_all();
  }
  for (auto& node : nodes_) NG_CHECK(node.reset(names_, around_.config.directory));
  return {};
}

std::string RunningDeployment::log_tail() const { return nodes_.empty() ? std::string() : nodes_.back().log_tail(); }

}  // namespace nightgate::measure
