// The entities, in memory, in the order they came; with a directory also in a journal that is read at the start.
#pragma once
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace broker {

// From any thread. Texts are copied out, so nothing of the store is seen while it changes.
class Store {
 public:
  Store() = default;
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Keeps a journal in `directory` and reads what is there. False with a sentence when that fails.
  bool open(const std::string& directory, std::string& error);

  bool insert(const std::string& id, const std::string& type, std::string text);  // false: the id exists
  bool find(const std::string& id, std::string& text) const;
  bool replace(const std::string& id, std::string text);
  bool erase(const std::string& id);
  void clear();
  std::size_t count() const;
  std::string newest_id() const;  // empty when there is none
  // The oldest `limit` after the first `offset`, of one type or (empty) of all.
  std::vector<std::string> query(std::size_t offset, std::size_t limit, std::string_view type) const;

 private:
  struct Row {
    std::string id;
    std::string type;
    std::string text;
  };
  using Rows = std::list<Row>;
  void note(char what, std::string_view id, std::string_view type, std::string_view text);
  bool replay(const std::string& path);

  mutable std::mutex mutex_;
  Rows rows_;
  std::unordered_map<std::string, Rows::iterator> by_id_;
  int journal_ = -1;
};

}  // namespace broker
