#include "gate/measure/postgres.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <cstdlib>

#include "gate/base/log.hpp"
#include "gate/measure/cost.hpp"

namespace nightgate::measure {
namespace {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using Answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

std::string trimmed(const char* text) {
  std::string out = text == nullptr ? "" : text;
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

Result<Connection> connect(const std::string& connection) {
  // Later keywords win, so ours stand behind the config's string.
  const char* const keys[] = {"dbname", "connect_timeout", "application_name", "options", nullptr};
  const char* const values[] = {connection.c_str(), "5", "nightgate", "-c statement_timeout=60000", nullptr};
  Connection out(PQconnectdbParams(keys, values, 1), &PQfinish);
  if (PQstatus(out.get()) != CONNECTION_OK) {
    return fail(Code::away, "the PostgreSQL service does not answer: " + trimmed(PQerrorMessage(out.get())));
  }
  return out;
}

double number(const PGresult* result, int column) {
  return PQgetisnull(result, 0, column) != 0 ? 0 : std::strtod(PQgetvalue(result, 0, column), nullptr);
}

config::MetricInfo lower(std::string unit) { return {std::move(unit), config::Better::lower, false}; }

}  // namespace

Result<StatementCounts> read_statements(const std::string& connection) {
  NG_TRY(const auto server, connect(connection));
  const Answer answer(PQexec(server.get(),
                             "SELECT sum(calls)::float8, sum(total_plan_time + total_exec_time)::float8, "
                             "sum(shared_blks_hit)::float8, sum(shared_blks_read)::float8, sum(wal_bytes)::float8 "
                             "FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'"),
                      &PQclear);
  if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK) {
    return fail(Code::measure,
                "pg_stat_statements can't be read (it needs shared_preload_libraries and CREATE "
                "EXTENSION): " +
                    trimmed(PQresultErrorMessage(answer.get())));
  }
  return StatementCounts{number(answer.get(), 0), number(answer.get(), 1), number(answer.get(), 2),
                         number(answer.get(), 3), number(answer.get(), 4)};
}

Status checkpoint(const std::string& connection) {
  NG_TRY(const auto server, connect(connection));
  const Answer answer(PQexec(server.get(), "CHECKPOINT"), &PQclear);
  if (PQresultStatus(answer.get()) == PGRES_COMMAND_OK) return {};
  return fail(Code::measure, "CHECKPOINT was refused: " + trimmed(PQresultErrorMessage(answer.get())));
}

std::optional<StatementCounts> PostgresMeter::read(const config::Node& service) {
  const auto connection = deployment_.names().expand(service.postgres);
  auto counts = connection ? read_statements(*connection) : Result<StatementCounts>(tl::unexpect, connection.error());
  if (counts) return *counts;
  if (!said_) log::warning(fmt::format("no statement metrics of '{}': {}", service.name, counts.error().text()));
  said_ = true;
  return std::nullopt;
}

void PostgresMeter::begin() {
  before_.clear();
  for (const auto& service : deployment_.config().services) {
    auto& counts = before_.emplace_back();
    if (service.postgres.empty()) continue;
    if (const auto connection = deployment_.names().expand(service.postgres)) {
      if (auto done = checkpoint(*connection); !done) log::debug(done.error().text());
    }
    counts = read(service);
  }
}

void PostgresMeter::end(std::uint64_t requests, RepeatResult& into) {
  const auto& services = deployment_.config().services;
  for (std::size_t i = 0; i < services.size() && i < before_.size(); ++i) {
    if (!before_[i] || requests == 0) continue;
    const auto now = read(services[i]);
    if (!now) continue;
    const auto& name = services[i].name;
    const auto per_request = [&](double StatementCounts::*field) {
      return (*now.*field - *before_[i].*field) / static_cast<double>(requests);
    };
    add_sample(into, name + "_calls", per_request(&StatementCounts::calls), lower("1/request"));
    add_sample(into, name + "_ms", per_request(&StatementCounts::milliseconds), lower("ms/request"));
    add_sample(into, name + "_buffers_hit", per_request(&StatementCounts::buffers_hit), lower("1/request"));
    add_sample(into, name + "_buffers_read", per_request(&StatementCounts::buffers_read), lower("1/request"));
    add_sample(into, name + "_wal_bytes", per_request(&StatementCounts::wal_bytes), lower("bytes/request"));
  }
}

}  // namespace nightgate::measure
