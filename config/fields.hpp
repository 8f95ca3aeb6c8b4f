// Decoding one object of the config, field by field (private to config/). A field that is absent leaves the variable as
// it is, so defaults are written once, in config.hpp. The first error stays; later calls do nothing.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "gate/base/json.hpp"
#include "gate/base/result.hpp"

namespace nightgate::config {

class Fields {
 public:
  // `object` names the list of allowed keys (keys.hpp). The reader's JSON must outlive this.
  Fields(const JsonReader& reader, std::string_view object);

  [[nodiscard]] bool has(std::string_view key) const { return reader_.has(key); }
  [[nodiscard]] const JsonReader& reader() const { return reader_; }
  [[nodiscard]] std::string path_of(std::string_view key) const { return reader_.path() + "." + std::string(key); }

  void text(std::string_view key, std::string& out);  // not empty
  void integer(std::string_view key, int& out, int min, int max);
  void integer(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max);
  void number(std::string_view key, double& out, double min, double max);
  void flag(std::string_view key, bool& out);
  void texts(std::string_view key, std::vector<std::string>& out);
  // Array of strings, or one string that a shell runs.
  void command(std::string_view key, std::vector<std::string>& out);
  // Path relative to `directory`, made absolute. A name without '/' stays one file name.
  void file(std::string_view key, fs::path& out, const fs::path& directory);
  void file(std::string_view key, std::string& out, const fs::path& directory);
  // Name of an environment variable; what was found is not repeated, it may be the secret itself.
  void variable(std::string_view key, std::string& out);
  void text_map(std::string_view key, std::map<std::string, std::string>& out);
  void cpus(std::string_view key, std::string& out);           // "0-3,8"
  void statuses(std::string_view key, std::vector<int>& out);  // one HTTP status or an array of them
  template <class Enum>
  void choice(std::string_view key, Enum& out, std::initializer_list<std::pair<std::string_view, Enum>> allowed) {
    std::string found;
    text(key, found);
    std::string names;
    for (const auto& [name, value] : allowed) {
      if (found == name) out = value;
      if (found == name || found.empty()) return;
      names += (names.empty() ? "\"" : ", \"") + std::string(name) + "\"";
    }
    wrong(key, "one of " + names);
  }
  // Any other shape: `decode` gets the field when it is present.
  void with(std::string_view key, const std::function<Status(const JsonReader&)>& decode);
  // Each member of an object (its name checked) or element of an array, when the field is present.
  void each_member(std::string_view key, const std::function<Status(const std::string&, const JsonReader&)>& decode);
  void each_element(std::string_view key, const std::function<Status(const JsonReader&)>& decode);

  void require(std::string_view key, std::string_view expected);  // error when absent
  void wrong(std::string_view key, std::string_view expected);    // "found X, expected Y"
  void refuse(std::string message);                               // "PATH: message"
  void refuse(std::string_view key, std::string_view message);    // "PATH.key: message", without what was found
  [[nodiscard]] bool ok() const { return status_.has_value(); }
  [[nodiscard]] Status status() const { return status_; }

 private:
  void take(Status status);
  template <class T, class U>
  void store(Result<T> found, U& out);
  const JsonReader reader_;
  Status status_;
};

// "name" of a project, deployment, scenario or node: letters, digits, '_', '-', at most 64.
[[nodiscard]] bool is_plain_name(std::string_view name);

// The parts of the file; each fills its part of the config and checks what can be checked by itself.
[[nodiscard]] Status load_repository(const JsonReader& reader, Config& config);
[[nodiscard]] Status load_targets(const JsonReader& reader, Config& config);
[[nodiscard]] Status load_machine(const JsonReader& reader, Config& config);
[[nodiscard]] Status load_call(const JsonReader& reader, HttpCall& call);  // "/path" or an object
[[nodiscard]] Status load_deployment(const JsonReader& reader, Deployment& deployment, const fs::path& directory);
[[nodiscard]] Status load_scenario(const JsonReader& reader, Scenario& scenario, const fs::path& directory);
[[nodiscard]] Status load_rules(const JsonReader& root, Config& config);  // night, gate, bisect, compare
[[nodiscard]] Status load_report(const JsonReader& reader, Config& config);
[[nodiscard]] Status load_store(const JsonReader& root, Config& config);
// The keys of a request inside an object that has others too ("open", "equivalence").
void call_fields(Fields& fields, HttpCall& call);
// What needs the whole config: names, references between parts, ports. Paths in errors begin with `root`.
[[nodiscard]] Status check_references(const Config& config, const std::string& root);

}  // namespace nightgate::config
