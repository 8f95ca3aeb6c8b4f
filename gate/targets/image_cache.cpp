#include "gate/targets/image_cache.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "gate/base/json.hpp"
#include "gate/base/log.hpp"

namespace nightgate::targets {
namespace {

struct Entry {
  std::string reference, id;
  std::int64_t size = 0;
};

// Longest unused first. A list that can't be read is an empty one: then nothing of it is removed.
std::vector<Entry> read_list(const fs::path& file) {
  std::vector<Entry> entries;
  const auto text = read_file(file);
  const auto json = text ? parse_json(*text) : Result<nlohmann::json>(fail(Code::not_found, ""));
  if (!json || !json->is_array()) return entries;
  for (const auto& element : JsonReader(*json, file.string()).elements()) {
    const auto reference = element.string("reference");
    const auto id = element.string("id");
    const auto size = element.integer("size", 0, INT64_MAX);
    if (reference && id && size) entries.push_back({*reference, *id, *size});
  }
  return entries;
}

Status write_list(const fs::path& file, const std::vector<Entry>& entries) {
  auto json = nlohmann::json::array();
  for (const Entry& entry : entries)
    json.push_back({{"reference", entry.reference}, {"id", entry.id}, {"size", entry.size}});
  NG_CHECK(make_directories(file.parent_path(), true));
  return write_file(file, dump_json(json, 1) + "\n");
}

}  // namespace

Status ImageCache::used(const std::string& reference, const ImageInfo& info, bool pulled) {
  NG_CHECK(make_directories(file_.parent_path(), true));
  NG_TRY(const auto lock, FileLock::take(file_.string() + ".lock", "the list of images", std::chrono::seconds(60)));
  auto entries = read_list(file_);
  const auto known = std::ranges::find(entries, reference, &Entry::reference);
  const bool ours = pulled || known != entries.end();
  if (known != entries.end()) entries.erase(known);
  if (ours) entries.push_back({reference, info.id, info.size_bytes});
  std::int64_t total = 0;
  for (const Entry& entry : entries) total += entry.size;
  const auto limit = static_cast<std::int64_t>(limit_gb_ * 1e9);
  while (total > limit && entries.size() > kept_) {
    const Entry oldest = entries.front();
    if (const auto removed = engine_.remove_image(oldest.reference); !removed) {
      log::warning("an old image stays: " + removed.error().text());
      break;
    }
    log::info("removed the old image " + oldest.reference);
    entries.erase(entries.begin());
    total -= oldest.size;
  }
  return write_list(file_, entries);
}

}  // namespace nightgate::targets
