// The numbered SQL files of store/migrations, in order, inside the program.
#pragma once

#include <string_view>
#include <vector>

namespace nightgate::store {

struct Migration {
  int number;
  std::string_view name;  // "0001_nights"
  std::string_view sql;
};
[[nodiscard]] const std::vector<Migration>& migrations();

}  // namespace nightgate::store
