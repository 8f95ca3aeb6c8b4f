// What the tests of gate/measure share: the real test broker, a server that misbehaves, and a config around them.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "gate/base/files.hpp"
#include "gate/measure/measurement.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::test {

inline constexpr const char* broker_commit = "5d2f01c05d2f01c05d2f01c05d2f01c05d2f01c0";

// The directory with the test broker's binary (commit `broker_commit`), built once per build directory.
[[nodiscard]] fs::path broker_directory();
// A port of the loopback interface that nobody listens on now.
[[nodiscard]] int free_port();
[[nodiscard]] std::string source_file(const std::string& path);  // below the source directory
// Path of measure_server.py, to be started with python3.
[[nodiscard]] std::string misbehaving_server();

// A config with one deployment ("memory": the test broker on a free port) and one scenario ("retrieve": wrk for a
// second, one repeat, no warm-up), a state directory of its own, and room to change everything.
struct Bench {
  Bench();
  TempDir directory;
  config::Config config;
  targets::Target target;
  measure::Progress progress;
  bool stop = false;

  [[nodiscard]] config::Deployment& deployment() { return config.deployments.front(); }
  [[nodiscard]] config::Node& broker() { return deployment().brokers.front(); }
  [[nodiscard]] config::Scenario& scenario() { return config.scenarios.front(); }
  // The broker becomes the misbehaving server with these options.
  void misbehave(const std::vector<std::string>& options);
  [[nodiscard]] std::unique_ptr<measure::Measurer> measurer();
  [[nodiscard]] Result<measure::Measurement> measure();
  // Nothing of ours is left: no process on the broker's port, no directory below <state>/run.
  [[nodiscard]] bool is_clean() const;
};

}  // namespace nightgate::test
