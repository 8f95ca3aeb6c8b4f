#include "store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace broker {
namespace {

// Tab-separated and one line each: ids and types hold no control characters, and texts are JSON without line ends.
std::string line_of(char what, std::string_view id, std::string_view type, std::string_view text) {
  std::string line;
  line.reserve(id.size() + type.size() + text.size() + 8);
  line += what;
  for (const std::string_view part : {id, type, text}) {
    line += '\t';
    line += part;
  }
  line += '\n';
  return line;
}

std::string next_field(std::string_view& line) {
  const std::size_t end = std::min(line.find('\t'), line.size());
  std::string field(line.substr(0, end));
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

}  // namespace

Store::~Store() {
  if (journal_ >= 0) ::close(journal_);
}

bool Store::open(const std::string& directory, std::string& error) {
  ::mkdir(directory.c_str(), 0700);
  const std::string path = directory + "/journal";
  if (!replay(path)) {
    error = "cannot read " + path + ": " + std::strerror(errno);
    return false;
  }
  journal_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (journal_ < 0) error = "cannot write " + path + ": " + std::strerror(errno);
  return journal_ >= 0;
}

bool Store::replay(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return errno == ENOENT;
  char* buffer = nullptr;
  std::size_t size = 0;
  for (ssize_t n = 0; (n = ::getline(&buffer, &size, file)) > 0;) {
    if (buffer[n - 1] != '\n') break;  // the last line of a broker that was killed while writing it
    std::string_view line(buffer, static_cast<std::size_t>(n - 1));
    const std::string what = next_field(line);
    const std::string id = next_field(line);
    const std::string type = next_field(line);
    if (what == "+") insert(id, type, std::string(line));
    if (what == "=") replace(id, std::string(line));
    if (what == "-") erase(id);
    if (what == "0") clear();
  }
  std::free(buffer);
  std::fclose(file);
  return true;
}

void Store::note(char what, std::string_view id, std::string_view type, std::string_view text) {
  if (journal_ < 0) return;
  const std::string line = line_of(what, id, type, text);
  if (::write(journal_, line.data(), line.size()) < 0) std::perror("broker: journal");
}

bool Store::insert(const std::string& id, const std::string& type, std::string text) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = by_id_.try_emplace(id);
  if (!is_new) return false;
  note('+', id, type, text);
  rows_.push_back({id, type, std::move(text)});
  place->second = std::prev(rows_.end());
  return true;
}

bool Store::find(const std::string& id, std::string& text) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  text = found->second->text;
  return true;
}

bool Store::replace(const std::string& id, std::string text) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  note('=', id, found->second->type, text);
  found->second->text = std::move(text);
  return true;
}

bool Store::erase(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  note('-', id, "", "");
  rows_.erase(found->second);
  by_id_.erase(found);
  return true;
}

void Store::clear() {
  const std::lock_guard lock(mutex_);
  note('0', "", "", "");
  rows_.clear();
  by_id_.clear();
}

std::size_t Store::count() const {
  const std::lock_guard lock(mutex_);
  return by_id_.size();
}

std::string Store::newest_id() const {
  const std::lock_guard lock(mutex_);
  return rows_.empty() ? std::string() : rows_.back().id;
}

std::vector<std::string> Store::query(std::size_t offset, std::size_t limit, std::string_view type) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (const Row& row : rows_) {
    if (found.size() == limit) break;
    if (!type.empty() && row.type != type) continue;
    if (offset > 0) {
      --offset;
    } else {
      found.push_back(row.text);
    }
  }
  return found;
}

}  // namespace broker
