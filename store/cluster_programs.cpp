// Finding PostgreSQL's server programs.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "store/cluster.hpp"

namespace nightgate::store {
namespace {

bool has_server(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / "initdb", error) && fs::exists(directory / "pg_ctl", error) &&
         fs::exists(directory / "postgres", error);
}

// "postgres (PostgreSQL) 15.20 (Debian ...)" -> 15; 0 when it doesn't say.
int major_of(const fs::path& bin) {
  Command command;
  command.argv = {(bin / "postgres").string(), "--version"};
  const auto output = run(command, std::chrono::seconds(10));
  if (!output || !output->ok()) return 0;
  const auto at = output->out.find(") ");
  if (at == std::string::npos) return 0;
  int major = 0;
  std::from_chars(output->out.data() + at + 2, output->out.data() + output->out.size(), major);
  return major;
}

std::vector<fs::path> candidates() {
  std::vector<fs::path> out;
  if (const char* path = std::getenv("PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const auto colon = rest.find(':');
      if (const auto one = rest.substr(0, colon); !one.empty()) out.emplace_back(one);
      rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
    }
  }
  Command ask;
  ask.argv = {"pg_config", "--bindir"};
  if (const auto output = run(ask, std::chrono::seconds(10)); output && output->ok()) {
    out.emplace_back(output->out.substr(0, output->out.find('\n')));
  }
  std::error_code error;
  for (const char* root : {"/usr/lib/postgresql", "/usr/local/lib/postgresql"}) {
    for (const auto& entry : fs::directory_iterator(root, error)) out.push_back(entry.path() / "bin");
  }
  out.emplace_back("/usr/local/pgsql/bin");
  return out;
}

}  // namespace

std::vector<Programs> installed_servers() {
  std::vector<Programs> out;
  for (const fs::path& directory : candidates()) {
    if (!has_server(directory)) continue;
    std::error_code error;
    // Links in a PATH directory lead to the installation, which has the other programs too.
    const fs::path real = fs::canonical(directory / "postgres", error).parent_path();
    if (error || !has_server(real) ||
        std::any_of(out.begin(), out.end(), [&](const Programs& p) { return p.bin == real; }))
      continue;
    if (const int major = major_of(real); major > 0) out.push_back({real, major});
  }
  std::stable_sort(out.begin(), out.end(), [](const Programs& a, const Programs& b) { return a.major > b.major; });
  return out;
}

Result<Programs> find_server(int major) {
  const auto all = installed_servers();
  for (const Programs& one : all) {
    if (major == 0 ? one.major >= 14 : one.major == major) return one;
  }
  if (major == 0) {
    return fail(Code::measure,
                all.empty() ? "PostgreSQL's server programs (initdb, pg_ctl) are not installed: install the package "
                              "\"postgresql\" (apt-get install postgresql), or name a server in \"store\""
                            : "the PostgreSQL that is installed is older than 14: install the package \"postgresql\" "
                              "of a newer release, or name a server in \"store\"");
  }
  std::string found;
  for (const Programs& one : all) found += (found.empty() ? "" : ", ") + std::to_string(one.major);
  return fail(Code::usage,
              fmt::format("the private cluster was made by PostgreSQL {}, installed is {}: install the package "
                          "\"postgresql-{}\" and run `nightgate store backup FILE`, move the state directory's "
                          "\"postgres\" aside, then run `nightgate store restore FILE` with the new PostgreSQL",
                          major, found.empty() ? "none" : found, major));
}

}  // namespace nightgate::store
