// A real PostgreSQL for the store's tests: one private cluster for the whole program, a database per test.
#pragma once

#include <memory>
#include <string>

#include "store/cluster.hpp"
#include "store/open.hpp"
#include "store/postgres_connection.hpp"

namespace nightgate::test {

class TestCluster {
 public:
  // Started at the first call, stopped and removed when the program ends.
  static TestCluster& shared();
  // A new database with the newest schema (copied from a template), or an empty one.
  std::string fresh_database();
  std::string empty_database();
  // How to open a database of it.
  store::OpenOptions options(const std::string& database) const;
  // A connection that sees everything.
  std::unique_ptr<store::Connection> connect(const std::string& database) const;
  store::Cluster& cluster() { return *cluster_; }

 private:
  TestCluster();
  TempDir state_;
  std::shared_ptr<store::Cluster> cluster_;
  int databases_ = 0;
};

// A store on a fresh database. Fails the test when it can't be opened.
std::unique_ptr<store::Store> fresh_store(std::string* database = nullptr);
// The first column of the first row, as text; fails the test on an error.
std::string ask(const std::string& database, const std::string& sql);

// A run, and a measurement of it with two repeats (values 100 + start, 110 + start) and a voided one.
store::Run some_run(const std::string& uuid, store::RunKind kind = store::RunKind::night);
store::Measurement some_measurement(const std::string& run, int start, store::Role role = store::Role::target);
inline constexpr const char* metric_a = "plain.create.rate";
inline constexpr const char* metric_b = "plain.create.p99";
// A night's input with both metrics.
judge::NightInput some_input(double a, double b);
// Both metrics described.
std::vector<store::MetricInfo> some_metrics();
// Begins, measures and reads a night in; its run's uuid.
std::string stored_night(store::Store& store, double a, double b, const std::string& machine = "bench1");
// And judges it.
std::string judged_night(store::Store& store, double a, double b, const std::string& machine = "bench1");

}  // namespace nightgate::test
