// What the names in config strings ("{broker.url}", "{sha}") stand for once a deployment is placed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "gate/base/result.hpp"
#include "gate/measure/placement.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::measure {

// Grammar and escapes are those of config/names.hpp. An unknown name is Code::usage, with near matches.
class Names {
 public:
  void set(std::string name, std::string value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  [[nodiscard]] Result<std::string> expand(std::string_view text) const;
  [[nodiscard]] Result<std::vector<std::string>> expand(const std::vector<std::string>& texts) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

// "http://127.0.0.1:1026"; empty for a node that listens on nothing.
[[nodiscard]] std::string url_of(const config::Node& node);

// sha, short (where the target has a commit), target (where it is a directory), cpus, load_cpus, state, out (`scratch`,
// a directory of this start), and url, host, port, cpus of every node.
[[nodiscard]] Names names_of(const config::Config& config, const config::Deployment& deployment,
                             const targets::Target& target, const Placement& placement, const fs::path& scratch);

}  // namespace nightgate::measure
