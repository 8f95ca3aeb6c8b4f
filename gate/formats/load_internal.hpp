// Inside of load.hpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gate/formats/load.hpp"

namespace nightgate::formats {

// The whole output as JSON, else its last line that begins with '{' or '['.
[[nodiscard]] Result<nlohmann::json> json_of_output(std::string_view output, std::string_view program);

// Readings under one name each; repeated values of a name become their median. Order of first appearance.
class MedianOf {
 public:
  void add(const std::string& name, double value, const std::string& unit, Better better);
  [[nodiscard]] std::vector<Reading> take() const;
  [[nodiscard]] bool empty() const { return order_.empty(); }

 private:
  struct Entry {
    Reading reading;
    std::vector<double> values;
  };
  std::map<std::string, std::size_t> index_;
  std::vector<Entry> order_;
};

[[nodiscard]] tl::unexpected<Error> no_result(std::string_view program, std::string_view output);

}  // namespace nightgate::formats
