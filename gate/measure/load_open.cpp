#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "gate/measure/calls.hpp"
#include "gate/measure/load.hpp"
#include "gate/measure/open_loop.hpp"

namespace nightgate::measure {
namespace {

constexpr double late_limit_us = 1000;  // own lateness, 99 % of requests: beyond it latencies tell about us

// "127.0.0.1", 1026, "/path" of a URL; only what a load on this machine needs.
struct Address {
  std::string host, path;
  int port = 80;
};
Result<Address> split_url(const std::string& url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme)) {
    return fail(Code::usage,
                fmt::format("the open load speaks plain HTTP only, and was given {}; use \"wrk\" for TLS", url));
  }
  Address out;
  const auto slash = std::min(url.find('/', scheme.size()), url.size());
  out.host = url.substr(scheme.size(), slash - scheme.size());
  out.path = slash == url.size() ? "/" : url.substr(slash);
  if (const auto colon = out.host.find(':'); colon != std::string::npos) {
    out.port = std::atoi(out.host.c_str() + colon + 1);
    out.host.resize(colon);
  }
  if (out.host == "localhost") out.host = "127.0.0.1";
  return out;
}

Result<OpenPlan> plan_of(const config::OpenLoad& load, RunningDeployment& deployment, double seconds, bool shared) {
  const auto& call = load.request;
  NG_TRY(auto url, deployment.names().expand(call.url));
  if (url.find("://") == std::string::npos)
    url = deployment.call_options().base_url + (url.starts_with('/') ? "" : "/") + url;
  NG_TRY(const auto address, split_url(url));
  NG_TRY(const auto body, deployment.names().expand(call.body));
  OpenPlan plan;
  plan.address = address.host;
  plan.port = address.port;
  plan.is_head = call.method == "HEAD";
  plan.rate = load.rate;
  plan.connections = load.connections;
  plan.seconds = seconds;
  if (shared) plan.spin_seconds = 0;
  plan.request =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}:{}\r\n", call.method, address.path, address.host, address.port);
  for (const auto& [name, value] : call.headers) {
    NG_TRY(const auto expanded, deployment.names().expand(value));
    plan.request += fmt::format("{}: {}\r\n", name, expanded);
  }
  if (!body.empty() || call.method == "POST" || call.method == "PUT" || call.method == "PATCH") {
    plan.request += fmt::format("Content-Length: {}\r\n", body.size());
  }
  plan.request += "\r\n" + body;
  return plan;
}

void pin_this_thread(const CpuSet& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (!cpus.empty()) ::sched_setaffinity(0, sizeof set, &set);
}

// The loop in a thread of its own, watched from here.
Result<OpenOutcome> run_in_thread(const OpenPlan& plan, const CpuSet& cpus, const Tick& tick) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> answered{0};
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<Result<OpenOutcome>> outcome;
  std::thread worker([&] {
    pin_this_thread(cpus);
    auto result = run_open_loop(plan, stop, answered);
    const std::lock_guard lock(mutex);
    outcome = std::move(result);
    ended.notify_one();
  });
  Status fine;
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, std::chrono::milliseconds(250), [&] { return outcome.has_value(); })) {
    lock.unlock();
    fine = tick(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), answered.load());
    if (!fine) stop = true;
    lock.lock();
    if (!fine) break;
  }
  lock.unlock();
  worker.join();
  if (!fine) return tl::unexpected<Error>(std::move(fine).error());
  return *std::move(outcome);
}

std::string statuses_text(const std::map<int, std::uint64_t>& statuses) {
  std::string out;
  for (const auto& [status, count] : statuses) out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", count, status);
  return out;
}

// Why this is no measurement of a rate or a latency; empty when it is one.
std::string complaint(const OpenOutcome& outcome, const std::vector<int>& expect) {
  std::uint64_t unexpected = 0;
  for (const auto& [status, count] : outcome.statuses) unexpected += is_expected(status, expect) ? 0 : count;
  if (unexpected > 0) {
    return fmt::format("{} answers had an unexpected status ({}; expected {}); a rate over errors is not a rate",
                       unexpected, statuses_text(outcome.statuses), expected_text(expect));
  }
  if (outcome.connection_errors > 0) {
    return fmt::format("{} requests failed with their connection", outcome.connection_errors);
  }
  if (outcome.latency_us10.empty()) return "not one request was answered";
  if (outcome.unanswered > 0) return fmt::format("{} requests were never answered", outcome.unanswered);
  return {};
}

class OpenRunner : public Load {
 public:
  OpenRunner(config::OpenLoad load, std::vector<int> expect) : load_(std::move(load)), expect_(std::move(expect)) {}
  std::string tool() const override { return "nightgate open 1"; }
  double seconds() const override { return load_.seconds; }

  Result<LoadResult> run(RunningDeployment& deployment, const CpuSet& cpus, double seconds, Purpose,
                         const Tick& tick) override {
    const auto* broker = deployment.first_broker_node();
    const bool shared = broker != nullptr && std::ranges::any_of(cpus, [&](int cpu) {
                          return std::ranges::find(broker->cpus(), cpu) != broker->cpus().end();
                        });
    NG_TRY(const auto plan, plan_of(load_, deployment, seconds, shared));
    NG_TRY(auto outcome, run_in_thread(plan, cpus, tick));
    if (const auto why = complaint(outcome, expect_); !why.empty()) return fail(Code::measure, why);
    return result_of(outcome);
  }

 private:
  static LoadResult result_of(OpenOutcome& outcome) {
    LoadResult out;
    out.requests = outcome.latency_us10.size();
    out.seconds = outcome.seconds;
    out.cpu_seconds = outcome.cpu_seconds;
    out.inside_this_process = true;
    const auto add = [&](const char* name, double value, const char* unit, config::Better better, bool gated) {
      out.samples.push_back({name, value});
      out.metrics[name] = {unit, better, gated};
    };
    using config::Better;
    add("rate", static_cast<double>(out.requests) / outcome.seconds, "requests/s", Better::higher, true);
    for (const auto& [name, percent] : {std::pair("p50", 50.0), {"p95", 95.0}, {"p99", 99.0}, {"max", 100.0}}) {
      const double value = std::max(0.1, exact_percentile(outcome.latency_us10, percent) / 10);
      add(name, value, "us", Better::lower, percent < 100);
    }
    const double late = exact_percentile(outcome.late_us10, 99) / 10;
    add("late_p99", std::max(0.1, late), "us", Better::lower, false);
    if (late > late_limit_us) {
      out.void_reason =
          fmt::format("the load generator itself was late: 1 % of the requests by more than {:.0f} us", late);
    }
    return out;
  }

  config::OpenLoad load_;
  std::vector<int> expect_;
};

}  // namespace

Result<std::unique_ptr<Load>> make_open_load(const config::OpenLoad& load, std::vector<int> expect) {
  return std::make_unique<OpenRunner>(load, std::move(expect));
}

}  // namespace nightgate::measure
